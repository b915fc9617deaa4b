"""What of a cluster can be timed, measured the same way in a recording and in a simulated run of it.

A quantity is a list of samples in seconds. Each has a resolution: what is told by whole seconds is only known to the
second.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from simcluster.calibration.record.clocks import parse_time
from simcluster.calibration.recording import Change

#: What each quantity is, and the figures of a profile that move it.
QUANTITIES: dict[str, str] = {
    "scheduling": "from a pod's making to its binding",
    "sandbox": "from the binding to the first container's image being there or asked for",
    "create": "from the image to the container's making",
    "start": "from the container's making to its start",
    "pull": "of an image, as the kubelet says",
    "bandwidth": "bytes a second of a pull, as the kubelet says",
    "readiness": "from the last container's start to the pod's readiness",
    "endpoints": "from the pod's readiness to its EndpointSlice",
    "backoff.first": "a container's first back-off, as the kubelet says",
    "backoff.longest": "longest wait between an end of a container and its next start",
    "termination": "from the wish to delete a pod that obeys to its end",
    "detection": "from a node's last sign of life to NotReady",
    "eviction": "from NotReady to the first eviction from the node",
}
#: Of what is told by whole seconds, in seconds; of arrivals.
WHOLE, ARRIVAL = 1.0, 0.002
#: The controller manager looks at nodes, and nodes give a sign of life, this often by their defaults, in seconds.
LOOKS, SIGNS = 5.0, 10.0
_PULLED = re.compile(r"Successfully pulled image .* in (\S+) \(.*\)(?:\. Image size: (\d+) bytes)?")
_NAMED = re.compile(r"\.([0-9a-f]{16})$")
#: An Event's own time further than this from its arrival is another clock's.
_APART_NS = 60_000_000_000
_BACKOFF = re.compile(r"back-off (\S+) restarting failed container")
_PARTS = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s|us|µs)")
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}


@dataclass
class Samples:
    """Samples of one quantity.

    Attributes:
        values: in seconds (bandwidth: bytes a second).
        resolution: how finely they are told, in seconds.
        censored: lower bounds: what had not happened when the recording ended.
    """

    values: list[float] = field(default_factory=list)
    resolution: float = ARRIVAL
    censored: list[float] = field(default_factory=list)


class Measure:
    """Takes changes of objects in order of arrival and times them.

    Each kind of object comes on a watch of its own, so that an Event may arrive before the change of the pod that it is
    about: what is told of a pod is put together at the end.

    Args:
        namespaces: of the pods that count; empty: all.
        stops: where no Lease was recorded, when each node's kubelet was stopped: its last sign of life.
    """

    def __init__(self, namespaces: Iterable[str] = (), stops: Mapping[str, int] | None = None) -> None:
        self._stops = stops
        self.found = {name: Samples() for name in QUANTITIES}
        self.found["backoff.longest"].resolution = WHOLE
        self.found["detection"].resolution = 2 * (LOOKS if stops is None else LOOKS + SIGNS)
        self._only = frozenset(namespaces)
        self._pods: dict[str, dict[str, Any]] = {}
        self._recorded: dict[str, int] = {}  # by a pod's name, when its making was told
        self._renewed: dict[str, int] = {}
        self._ready_nodes: dict[str, str] = {}
        self._lost: dict[str, int] = {}
        self._exits: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        self.last_ns = 0

    def take(self, change: Change) -> None:
        """The next change."""
        self.last_ns = max(self.last_ns, change.t_ns)
        namespace = change.object["metadata"].get("namespace", "")
        if self._only and namespace and namespace not in self._only and change.resource not in _EVERYWHERE:
            return
        reader = _READERS.get(change.resource)
        if reader is not None:
            reader(self, change)

    def end(self) -> dict[str, Samples]:
        """All samples; what has not happened yet is censored."""
        for pod in self._pods.values():
            self._timed(pod)
        for node, seen in self._renewed.items():
            if self._ready_nodes.get(node) == "True" and self.last_ns - seen > 15_000_000_000:
                self.found["detection"].censored.append((self.last_ns - seen) / 1e9)
        for pod in self._pods.values():
            if "deleting" in pod and "gone" not in pod:
                self.found["termination"].censored.append((self.last_ns - pod["deleting"]) / 1e9)
        if not self.found["scheduling"].values:  # no Events were seen
            for pod in self._pods.values():
                if "bound" in pod:
                    self._add("scheduling", pod["made"], pod["bound"])
        waits = [(after[0] - before[1]) / 1e9 for runs in self._exits.values() for before, after in pairwise(runs)]
        if waits:
            self.found["backoff.longest"].values.append(max(waits))
        return self.found

    def _add(self, name: str, since_ns: int | None, until_ns: int) -> None:
        if since_ns is not None and until_ns >= since_ns:
            self.found[name].values.append((until_ns - since_ns) / 1e9)

    def _pod(self, change: Change) -> None:
        uid = change.object["metadata"]["uid"]
        pod = self._pods.setdefault(uid, {})
        status, spec = change.object.get("status") or {}, change.object["spec"]
        if change.kind == "ADDED" and "nodeName" not in spec:
            pod["made"] = change.t_ns
            pod["name"] = change.object["metadata"]["name"]
        if spec.get("nodeName") and "bound" not in pod:
            pod["node"] = spec["nodeName"]
            if "made" in pod:
                pod["bound"] = change.t_ns
        self._runs(uid, status)
        ready = any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions") or ())
        if ready and "ready" not in pod and "bound" in pod:
            pod["ready"] = change.t_ns
        if change.object["metadata"].get("deletionTimestamp") and "deleting" not in pod and change.kind != "LISTED":
            pod["deleting"] = change.t_ns
            self._evicted(pod, change)
        if change.kind == "DELETED" and "deleting" in pod and pod.get("node") not in self._lost:
            pod["gone"] = change.t_ns
            grace = change.object["metadata"].get("deletionGracePeriodSeconds")
            took_s = (change.t_ns - pod["deleting"]) / 1e9
            if pod.get("ready") and took_s < (spec.get("terminationGracePeriodSeconds") or grace or 30):
                self._add("termination", pod["deleting"], change.t_ns)

    def _runs(self, uid: str, status: dict[str, Any]) -> None:
        """Runs of containers that failed: when each began and ended, as the kubelet says."""
        for container in status.get("containerStatuses") or ():
            runs = self._exits.setdefault((uid, container["name"]), [])
            state, last = container.get("state") or {}, container.get("lastState") or {}
            for ended in (last.get("terminated"), state.get("terminated")):
                begin_ns = parse_time((ended or {}).get("startedAt"))
                end_ns = parse_time((ended or {}).get("finishedAt"))
                if begin_ns is None or end_ns is None or (runs and begin_ns <= runs[-1][0]):
                    continue
                runs.append((begin_ns, end_ns))
            waited = _BACKOFF.match(str((state.get("waiting") or {}).get("message", "")))
            if waited is not None and (uid, container["name"], "waits") not in self._exits:
                self._exits[uid, container["name"], "waits"] = []
                self.found["backoff.first"].values.append(_seconds(waited[1]))

    def _evicted(self, pod: dict[str, Any], change: Change) -> None:
        lost_ns = self._lost.get(pod.get("node", ""))
        if lost_ns is not None and (pod["node"], "evicted") not in self._exits:
            self._exits[pod["node"], "evicted"] = []
            self._add("eviction", lost_ns, change.t_ns)

    def _event(self, change: Change) -> None:
        about = change.object.get("involvedObject") or change.object.get("regarding") or {}
        reason, said = change.object.get("reason"), str(change.object.get("message") or change.object.get("note") or "")
        at_ns = _stamp(change)
        if reason == "SuccessfulCreate" and change.kind == "ADDED":
            self._recorded.setdefault(said.rpartition(" ")[2], at_ns)
        if change.kind == "LISTED" or about.get("kind", "Pod") != "Pod":
            return
        pod = self._pods.setdefault(str(about.get("uid")), {})
        for name in _TELLS.get(str(reason), ()):
            pod[name] = min(at_ns, pod.get(name, at_ns))
        if reason == "Started":
            pod.setdefault("running", change.t_ns)
        if reason == "Pulled":
            pod.setdefault("pulls", []).append(said)

    def _timed(self, pod: dict[str, Any]) -> None:
        """What there is to time of a pod that was made while one looked."""
        if "recorded" not in pod and "name" in pod:
            pod["recorded"] = self._recorded.get(pod["name"])
        if "chosen" in pod:
            self._add("scheduling", pod.get("recorded"), pod["chosen"])
        if "bound" not in pod:
            return
        for name, since, until in (("sandbox", "chosen", "image"), ("create", "pulled", "created"),
                                   ("start", "created", "started"), ("readiness", "running", "ready")):  # fmt: skip
            if until in pod:
                begin = pod.get(since, pod["bound"] if since == "chosen" else None)
                self._add(name, begin, pod[until])
        if "served" in pod and "ready" in pod:
            self._add("endpoints", pod["ready"], max(pod["ready"], pod["served"]))
        for said in pod.get("pulls", ()):
            self._pull(said)

    def _pull(self, said: str) -> None:
        match = _PULLED.match(said)
        if match is not None:
            took_s = _seconds(match[1])
            self.found["pull"].values.append(took_s)
            if match[2] and took_s > 0:
                self.found["bandwidth"].values.append(int(match[2]) / took_s)

    def _slice(self, change: Change) -> None:
        for endpoint in change.object.get("endpoints") or ():
            uid = (endpoint.get("targetRef") or {}).get("uid", "")
            if uid and (endpoint.get("conditions") or {}).get("ready"):
                self._pods.setdefault(uid, {}).setdefault("served", change.t_ns)

    def _lease(self, change: Change) -> None:
        if self._stops is not None:
            return
        if change.object["metadata"].get("namespace") == "kube-node-lease" and change.kind != "DELETED":
            self._renewed[change.object["metadata"]["name"]] = change.t_ns

    def _node(self, change: Change) -> None:
        name = change.object["metadata"]["name"]
        conditions = (change.object.get("status") or {}).get("conditions") or ()
        ready = next((c["status"] for c in conditions if c["type"] == "Ready"), "")
        if ready == "Unknown" and self._ready_nodes.get(name) == "True":
            self._lost[name] = change.t_ns
            self._add("detection", (self._renewed if self._stops is None else self._stops).get(name), change.t_ns)
        elif ready == "True":
            self._lost.pop(name, None)
        self._ready_nodes[name] = ready


def _seconds(text: str) -> float:
    """Of a Go duration."""
    return sum(float(number) * _UNITS[unit] for number, unit in _PARTS.findall(text))


def _stamp(change: Change) -> int:
    """When an Event was made: its name carries the nanoseconds; its arrival, if it does not, or another clock's."""
    found = _NAMED.search(change.object["metadata"]["name"])
    at_ns = int(found[1], 16) if found and change.kind == "ADDED" else change.t_ns
    return at_ns if abs(at_ns - change.t_ns) < _APART_NS else change.t_ns


#: What an Event of a reason is the first sign of.
_TELLS = {"Scheduled": ("chosen",), "Pulling": ("image",), "Pulled": ("image", "pulled"), "Created": ("created",),
          "Started": ("started",)}  # fmt: skip
_EVERYWHERE = ("nodes", "leases.coordination.k8s.io")
_READERS: dict[str, Callable[[Measure, Change], None]] = {
    "pods": Measure._pod,
    "events": Measure._event,
    "endpointslices.discovery.k8s.io": Measure._slice,
    "leases.coordination.k8s.io": Measure._lease,
    "nodes": Measure._node,
}
WATCHED = tuple(_READERS)


def measured(
    changes: Iterable[Change], namespaces: Iterable[str] = (), stops: Mapping[str, int] | None = None
) -> dict[str, Samples]:
    """The samples of every quantity in changes that come in order of arrival."""
    measure = Measure(namespaces, stops)
    for change in changes:
        measure.take(change)
    return measure.end()
