"""The garbage collector: what nobody owns any more goes too."""

from simcluster.control.garbagecollector.controller import GarbageCollector

__all__ = ["GarbageCollector"]
