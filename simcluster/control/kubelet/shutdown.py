"""Graceful node shutdown: pods end before the machine does, the important ones last.

With `shutdownGracePeriod` (or `shutdownGracePeriodByPodPriority`) in its configuration a kubelet
delays the machine's shutdown: the node is NotReady at once, new pods are refused, and group by
group, lowest priority first, pods fail with the reason Terminated. Without it (kubeadm's default)
a machine goes down under its pods.
Source: pkg/kubelet/nodeshutdown/nodeshutdown_manager_linux.go of 1.32. Left out: a shutdown that
is cancelled, the wait for volumes to be unmounted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from simcluster.control.kubelet.admission import Rejection
from simcluster.control.kubelet.host import Host
from simcluster.control.kubelet.podworker import PodWorker
from simcluster.engine import SECOND, parse_duration

REASON = "Terminated"
MESSAGE = "Pod was terminated in response to imminent node shutdown."
REFUSED = Rejection("NodeShutdown", "Pod was rejected as the node is shutting down.")
NOT_READY = "node is shutting down"
#: SystemCriticalPriority: from here on `shutdownGracePeriodCriticalPods` counts.
CRITICAL_PRIORITY = 2_000_000_000

#: (lowest priority, seconds) of each group, the lowest first.
Groups = tuple[tuple[int, int], ...]


def shutdown_groups(text: str) -> Groups:
    """The groups of a KubeletConfiguration file; none if graceful shutdown is off.

    >>> shutdown_groups("shutdownGracePeriod: 30s\\nshutdownGracePeriodCriticalPods: 10s\\n")
    ((0, 20), (2000000000, 10))
    """
    given = _read(text)
    listed = given.get("shutdownGracePeriodByPodPriority")
    if listed:
        return tuple(sorted((int(e["priority"]), int(e["shutdownGracePeriodSeconds"])) for e in listed))
    whole = parse_duration(str(given.get("shutdownGracePeriod") or "0s")) // SECOND
    critical = parse_duration(str(given.get("shutdownGracePeriodCriticalPods") or "0s")) // SECOND
    return ((0, whole - critical), (CRITICAL_PRIORITY, critical)) if whole else ()


@functools.lru_cache(maxsize=16)
def _read(text: str) -> Mapping[str, Any]:
    if "shutdownGracePeriod" not in text:
        return {}
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError:
        return {}
    return found if isinstance(found, dict) else {}


class ShutdownManager:
    """Ends the pods of one node when its machine is about to go down (an inhibitor of its shutdown).

    Args:
        workers: of the node's pods, by uid.
        report: sends the node's status.

    Attributes:
        groups: who gets how long; empty if graceful shutdown is off.
        active: whether the machine is going down.
    """

    def __init__(self, host: Host, workers: dict[str, PodWorker], report: Callable[[], None]) -> None:
        self.host = host
        self.workers = workers
        self.report = report
        self.groups: Groups = ()
        self.active = False
        self._left: list[tuple[int, int]] = []
        self._ending: dict[str, PodWorker] = {}
        self._until_ns = 0

    def start(self, config: str) -> None:
        """The kubelet starts with a configuration file: take the inhibitor lock if there is reason to."""
        self.groups = shutdown_groups(config)
        self.active = False
        self._left, self._ending = [], {}
        self.host.machine.power.inhibitor = self if self.groups else None

    def stop(self) -> None:
        """The kubelet is gone, and its lock with it."""
        self.host.machine.power.inhibitor = None

    def prepare(self) -> int:
        """The machine is about to go down: begin; at most how long it takes, in nanoseconds."""
        where = "nodeshutdown_manager_linux.go:265"
        self.host.klog.info(where, "Shutdown manager detected new shutdown event, isNodeShuttingDownNow", event="true")
        self.host.klog.info("nodeshutdown_manager_linux.go:323", "Shutdown manager processing shutdown event")
        self.active = True
        self._left = list(self.groups)
        self.report()
        self._next()
        return sum(seconds for _, seconds in self.groups) * SECOND  # integers

    def is_done(self) -> bool:
        """Whether all groups have had their time, or have ended."""
        return not self._left and not self._ending

    def _next(self) -> None:
        """End the pods of the next group."""
        floor, seconds = self._left.pop(0)
        ceiling = self._left[0][0] if self._left else None
        for worker in list(self.workers.values()):
            priority = int(worker.pod["spec"].get("priority") or 0)
            # A pod below the lowest group belongs to it (groupByPriority).
            low = priority < floor and (floor, seconds) == self.groups[0]
            if worker.state != "syncing" or not (
                low or (priority >= floor and (ceiling is None or priority < ceiling))
            ):
                continue
            text = "Shutdown manager killing pod with gracePeriod"
            where = "nodeshutdown_manager_linux.go:375"
            self.host.klog.info(where, text, pod=worker.reference, gracePeriod=seconds)
            self._ending[worker.uid] = worker
            worker.end_early(REASON, MESSAGE, seconds)
        self._until_ns = self.host.sim.now + seconds * SECOND
        self._watch()

    def _watch(self) -> None:
        if not self.host.running:
            return
        self._ending = {uid: worker for uid, worker in self._ending.items() if worker.state != "terminated"}
        if self._ending and self.host.sim.now < self._until_ns:
            self.host.sim.after(SECOND // 2, self._watch)
            return
        for worker in self._ending.values():
            text = "Shutdown manager pod killing time out"
            self.host.klog.info("nodeshutdown_manager_linux.go:395", text, pod=worker.reference)
        self._ending = {}
        if self._left:
            self._next()
        else:
            text = "Shutdown manager completed processing shutdown event, node will shutdown shortly"
            self.host.klog.info("nodeshutdown_manager_linux.go:330", text)
