"""The TTL-after-finished controller: deletes Jobs some time after they have ended."""

from simcluster.control.ttlafterfinished.controller import TtlAfterFinishedController

__all__ = ["TtlAfterFinishedController"]
