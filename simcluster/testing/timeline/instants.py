"""Finds the instants in a stream of changes, named so that those of two runs can be matched.

A name says what happened to whom by role, never by a generated name: pods of a Deployment's
n-th ReplicaSet share the role `NAME#n`, and the k-th of them to do something is the k-th.
Only changes count: a repeated state is no instant. Heartbeats of nodes are left out, because
they follow the node's age and its images, not the operations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from simcluster.testing.timeline.recording import Line

_COUNTS = ("observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
#: Conditions of a pod that say something its containers' states do not.
_POD_CONDITIONS = ("Ready", "DisruptionTarget")
_MESSAGE_LENGTH = 44


class Instant(NamedTuple):
    """The name of an instant.

    Attributes:
        watched: pod, event, node, deploy or eps.
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


def instants_of(lines: Iterable[Line]) -> dict[Instant, float]:
    """When each instant was, in seconds."""
    seen = list(lines)
    finder = _Finder()
    for line in seen:
        if line["w"] == "pod":
            finder.meet(line["name"])
    for line in seen:
        finder.read(line)
    return finder.found


class _Finder:
    def __init__(self) -> None:
        self.found: dict[Instant, float] = {}
        self._revisions: dict[str, list[str]] = {}  # Deployment -> its ReplicaSets in order of appearance
        self._pods: dict[str, dict[str, None]] = {}  # role -> all its pods
        self._before: dict[str, dict[str, Any]] = {}
        self._times: dict[tuple[str, str, str], int] = {}

    def meet(self, pod: str) -> None:
        """Learn of a pod: pods of a role with one only can be told apart by their events' counts."""
        self._pods.setdefault(self._role(pod), {})[pod] = None

    def read(self, line: Line) -> None:
        """Note the instants that the line shows."""
        watched = line["w"]
        if watched == "event":
            self._event(line)
            return
        reader = {"pod": _pod_facts, "node": _node_facts, "deploy": _deployment_facts, "eps": _slice_facts}[watched]
        key = f"{watched}/{line['name']}"
        before, now = self._before.get(key, {}), dict(reader(line))
        self._before[key] = now
        role = self._role(line["name"]) if watched == "pod" else line["name"].rpartition("-")[0] or line["name"]
        if watched in ("node", "deploy"):
            role = line["name"]
        if line["type"] in ("ADDED", "DELETED"):
            self._note(watched, role, line["type"].lower(), line["t"])
        for subject, value in now.items():
            if before.get(subject) != value and (before or watched == "pod"):
                self._note(watched, role, _fact(before.get(subject), value), line["t"])
        for subject in before:
            if subject not in now and watched == "node":
                self._note(watched, role, f"no {subject}", line["t"])

    def _event(self, line: Line) -> None:
        kind, _, name = line["obj"].partition("/")
        role = {"Pod": self._role, "ReplicaSet": self._revision}.get(kind, str)(name)
        fact = f"{line['reason']} {self._plain(line['msg'], keep_digits=kind == 'Deployment')}"
        lone = kind == "Pod" and len(self._pods.get(role, ())) < 2
        if lone and line["count"]:
            self.found.setdefault(Instant("event", role, fact, line["count"]), line["t"])
        else:
            self._note("event", role, fact, line["t"])

    def _note(self, watched: str, role: str, fact: str, t: float) -> None:
        number = self._times.get((watched, role, fact), 0) + 1
        self._times[watched, role, fact] = number
        self.found[Instant(watched, role, fact, number)] = t

    def _role(self, pod: str) -> str:
        return self._revision(pod.rpartition("-")[0])

    def _revision(self, replica_set: str) -> str:
        deployment = replica_set.rpartition("-")[0]
        known = self._revisions.setdefault(deployment, [])
        if replica_set not in known:
            known.append(replica_set)
        return f"{deployment}#{known.index(replica_set) + 1}"

    def _plain(self, message: str, *, keep_digits: bool) -> str:
        """The message without generated names, durations and addresses."""
        for deployment, replica_sets in self._revisions.items():
            for number, replica_set in enumerate(replica_sets):
                message = re.sub(rf"{replica_set}(-\w{{5}})?\b", f"{deployment}#{number + 1}", message)
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
    for status in line["cs"]:
        for state, details in status["state"].items():
            yield "state", f"r{status['restarts']} {state} {details.get('reason') or ''}".rstrip()


def _node_facts(line: Line) -> Iterator[tuple[str, Any]]:
    for taint in line["taints"]:
        yield taint, f"taint {taint}"
    for status, reason in line["ready"]:
        yield "Ready", f"Ready={status} {reason}"


def _deployment_facts(line: Line) -> Iterator[tuple[str, Any]]:
    status = line["status"]
    for field in _COUNTS:
        yield field, (field, int(status.get(field, 0)))
    for condition in status.get("conditions") or ():
        yield condition["type"], f"{condition['type']}={condition['status']} {condition.get('reason')}"


def _slice_facts(line: Line) -> Iterator[tuple[str, Any]]:
    conditions = [conditions for _, conditions in line["eps"]]
    yield "endpoints", ("endpoints", len(conditions))
    for field in ("ready", "terminating"):
        yield field, (field, sum(bool(c.get(field)) for c in conditions))
