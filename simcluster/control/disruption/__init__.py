"""The disruption controller: how many pods of a budget may be evicted now."""

from simcluster.control.disruption.controller import DisruptionController

__all__ = ["DisruptionController"]
