"""Finds the instants in a stream of changes, named so that those of two runs can be matched.

A name says what happened to whom by role (`roles`), and the k-th of several pods of a role to do
something is the k-th. Only changes count: a repeated state is no instant. Heartbeats of nodes are
left out, because they follow the node's age and its images, not the operations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from simcluster.testing.timeline.recording import Line
from simcluster.testing.timeline.roles import Roles

_COUNTS = ("observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
#: Counts in the status of the other kinds.
_MORE_COUNTS = (
    "currentReplicas",
    "desiredReplicas",
    "currentNumberScheduled",
    "desiredNumberScheduled",
    "numberAvailable",
    "numberReady",
    "updatedNumberScheduled",
    "active",
    "failed",
    "succeeded",
    "ready",
    "currentHealthy",
    "disruptionsAllowed",
)
#: Conditions of a pod that say something its containers' states do not.
_POD_CONDITIONS = ("Ready", "DisruptionTarget")
_MESSAGE_LENGTH = 44
#: What releases after 1.32 say of a container that they have made or started, and what 1.32 does.
_NEWER = ("Container created", "Container started")
_OLDER = re.compile(r"(Created|Started) container:? \S+$")


class Instant(NamedTuple):
    """The name of an instant.

    Attributes:
        watched: pod, event, node, deploy, eps or another kind that was watched.
        role: whose: `web#2`, a Deployment's or a node's name.
        fact: what became true: `bound`, `r3 running`, `readyReplicas rises to 2`.
        number: the how many-th time.
    """

    watched: str
    role: str
    fact: str
    number: int

    def __str__(self) -> str:
        return f"{self.watched} {self.role}: {self.fact} (#{self.number})"


def speaks_newer(lines: Iterable[Line]) -> bool:
    """Whether the kubelets of a recording use the words of a release after 1.32."""
    return any(line["w"] == "event" and line.get("msg") in _NEWER for line in lines)


def instants_of(lines: Iterable[Line], *, newer: bool = False, nodes: tuple[str, ...] = ()) -> dict[Instant, float]:
    """When each instant was, in seconds.

    Args:
        newer: word the messages as releases after 1.32 do.
        nodes: names of nodes, which messages are read without.
    """
    seen = list(lines)
    finder = _Finder(Roles(nodes), newer)
    for line in seen:
        if line["w"] == "pod":
            finder.roles.meet(line["name"])
    for line in seen:
        finder.read(line)
    return finder.found


class _Finder:
    def __init__(self, roles: Roles, newer: bool) -> None:
        self.found: dict[Instant, float] = {}
        self.roles = roles
        self._newer = newer
        self._before: dict[str, dict[str, Any]] = {}
        self._times: dict[tuple[str, str, str], int] = {}

    def read(self, line: Line) -> None:
        """Note the instants that the line shows."""
        watched = line["w"]
        if watched == "event":
            self._event(line)
            return
        key = f"{watched}/{line['name']}"
        before, now = self._before.get(key, {}), dict(_READERS.get(watched, _other_facts)(line))
        self._before[key] = now
        role = self._role(watched, line["name"])
        if line["type"] in ("ADDED", "DELETED"):
            self._note(watched, role, line["type"].lower(), line["t"])
        for subject, value in now.items():
            if before.get(subject) != value and (before or watched == "pod"):
                self._note(watched, role, _fact(before.get(subject), value), line["t"])
        for subject in before:
            if subject not in now and watched == "node":
                self._note(watched, role, f"no {subject}", line["t"])

    def _role(self, watched: str, name: str) -> str:
        match watched:
            case "pod":
                return self.roles.pod(name)
            case "rs" | "replicaset":
                return self.roles.replica_set(name)
            case "job":
                return self.roles.job(name)
            case "eps":
                return name.rpartition("-")[0] or name
            case "node" | "deploy":
                return name
        return self.roles.plain(name)

    def _event(self, line: Line) -> None:
        kind, _, name = line["obj"].partition("/")
        role = self.roles.of(kind, name)
        fact = f"{line['reason']} {self._plain(line['msg'], keep_digits=kind == 'Deployment')}"
        lone = kind == "Pod" and len(self.roles.members(role)) < 2
        if lone and line["count"]:
            self.found.setdefault(Instant("event", role, fact, line["count"]), line["t"])
        else:
            self._note("event", role, fact, line["t"])

    def _note(self, watched: str, role: str, fact: str, t: float) -> None:
        number = self._times.get((watched, role, fact), 0) + 1
        self._times[watched, role, fact] = number
        self.found[Instant(watched, role, fact, number)] = t

    def _plain(self, message: str, *, keep_digits: bool) -> str:
        """The message without generated names, durations and addresses."""
        if self._newer and (older := _OLDER.match(message)):
            message = f"Container {older[1].lower()}"
        message = self.roles.plain(message)
        if not keep_digits:
            message = re.sub(r" in \d.*", "", message)
        return message[:_MESSAGE_LENGTH]


def _fact(before: Any, now: Any) -> str:
    """What became true; of a number also whether it rose, because 5 on the way up is another instant."""
    if not isinstance(now, tuple):
        return str(now)
    field, value = now
    way = "rises to" if before is None or value > before[1] else "falls to"
    return f"{field} {way} {value}"


def _pod_facts(line: Line) -> Iterator[tuple[str, Any]]:
    if line["node"]:
        yield "node", "bound"
    yield "phase", line["phase"]
    if line["del_"]:
        yield "deletion", "deletion asked for"
    if line["reason"]:
        yield "reason", line["reason"]
    for kind in _POD_CONDITIONS:
        if kind in line["conds"]:
            yield kind, f"{kind}={line['conds'][kind][0]}"
    several = len(line["cs"]) > 1
    for status in line["cs"]:
        whose = f"{status['name']} " if several else ""
        for state, details in status["state"].items():
            said = f"{whose}r{status['restarts']} {state} {details.get('reason') or ''}".rstrip()
            yield f"state {status['name']}", said


def _node_facts(line: Line) -> Iterator[tuple[str, Any]]:
    for taint in line["taints"]:
        yield taint, f"taint {taint}"
    for status, reason in line["ready"]:
        yield "Ready", f"Ready={status} {reason}"


def _deployment_facts(line: Line) -> Iterator[tuple[str, Any]]:
    yield from _counts(line["status"], _COUNTS)
    yield from _conditions(line["status"])


def _counts(status: dict[str, Any], fields: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for field in fields:
        value = status.get(field, 0)
        yield field, (field, len(value) if isinstance(value, list) else int(value or 0))


def _conditions(status: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for condition in status.get("conditions") or ():
        yield condition["type"], f"{condition['type']}={condition['status']} {condition.get('reason')}"


def _slice_facts(line: Line) -> Iterator[tuple[str, Any]]:
    conditions = [conditions for _, conditions in line["eps"]]
    yield "endpoints", ("endpoints", len(conditions))
    for field in ("ready", "terminating"):
        yield field, (field, sum(bool(c.get(field)) for c in conditions))


def _other_facts(line: Line) -> Iterator[tuple[str, Any]]:
    """Of any other kind: the counts, the phase and the conditions of its status, as far as the line has them."""
    status = line.get("status") or {}
    yield from _counts(status, (*_COUNTS, *_MORE_COUNTS))
    yield from _conditions(status)
    phase = line.get("phase") or status.get("phase")
    if phase:
        yield "phase", phase
    if line.get("del_"):
        yield "deletion", "deletion asked for"


_READERS = {"pod": _pod_facts, "node": _node_facts, "deploy": _deployment_facts, "eps": _slice_facts}
