"""What happens when nodes fall silent: node lifecycle, taint eviction, pod garbage collection."""

from simcluster.control.nodelifecycle.controller import NodeLifecycleController
from simcluster.control.nodelifecycle.podgc import PodGarbageCollector
from simcluster.control.nodelifecycle.tainteviction import TaintEvictionController

__all__ = ["NodeLifecycleController", "PodGarbageCollector", "TaintEvictionController"]
