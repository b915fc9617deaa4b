"""A rolling update of a DaemonSet: which old pods go, and where new ones surge, this time.

Source: kubernetes pkg/controller/daemon/update.go (rollingUpdate).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from simcluster.api.objects import ApiObject, is_terminating
from simcluster.control.daemonset.placement import is_updated
from simcluster.control.intorpercent import scaled_value
from simcluster.control.pods.status import is_available


class Replacement(NamedTuple):
    """Pods to delete and nodes that get a further pod."""

    pods: list[ApiObject]
    nodes: list[str]


def _rolling(daemon_set: Mapping[str, Any]) -> Mapping[str, Any]:
    return (daemon_set["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}


def max_surge(daemon_set: Mapping[str, Any], desired: int) -> int:
    """Nodes that may have two pods, rounded up."""
    return scaled_value(_rolling(daemon_set).get("maxSurge", 0), desired, round_up=True)


def allows_surge(daemon_set: Mapping[str, Any]) -> bool:
    """Whether new pods start before old ones stop."""
    return max_surge(daemon_set, 1) > 0


def max_unavailable(daemon_set: Mapping[str, Any], desired: int) -> int:
    """Nodes that may be without an available pod, rounded up; 1 if neither limit allows anything."""
    allowed = scaled_value(_rolling(daemon_set).get("maxUnavailable", 1), desired, round_up=True)
    return 1 if desired and not allowed and not max_surge(daemon_set, desired) else allowed


def new_and_old(
    daemon_set: Mapping[str, Any], pods: Sequence[ApiObject], digest: str
) -> tuple[ApiObject | None, ApiObject | None] | None:
    """The updated and the outdated pod of a node; None if there is more than one of a sort."""
    new: ApiObject | None = None
    old: ApiObject | None = None
    for pod in pods:
        if is_terminating(pod):
            continue
        if is_updated(pod, daemon_set, digest):
            if new is not None:
                return None
            new = pod
        else:
            if old is not None:
                return None
            old = pod
    return new, old


def replace_in_place(
    daemon_set: Mapping[str, Any], nodes: Mapping[str, Sequence[ApiObject]], digest: str, desired: int, now_ns: int
) -> Replacement:
    """Old pods to delete while no more than `maxUnavailable` nodes lack an available pod.

    Args:
        nodes: pods by node, with an entry for every node that should have one.
    """
    seconds = daemon_set["spec"].get("minReadySeconds", 0)
    limit = max_unavailable(daemon_set, desired)
    unavailable = 0
    broken: list[ApiObject] = []
    candidates: list[ApiObject] = []
    for pods in nodes.values():
        pair = new_and_old(daemon_set, pods, digest)
        if pair is None or (pair[0] is None) == (pair[1] is None):
            unavailable += 1
            continue
        new, old = pair
        if new is not None:
            unavailable += not is_available(new, seconds, now_ns)
        elif old is not None and not is_available(old, seconds, now_ns):
            broken.append(old)
        elif old is not None and unavailable < limit:
            candidates.append(old)
    return Replacement([*broken, *candidates[: max(0, limit - unavailable)]], [])


def replace_by_surge(
    daemon_set: Mapping[str, Any],
    nodes: Mapping[str, Sequence[ApiObject]],
    digest: str,
    desired: int,
    now_ns: int,
    suitable: Mapping[str, Any],
) -> Replacement:
    """Nodes that get a new pod beside the old one, and old pods whose successor is available.

    Args:
        suitable: names of the nodes where pods should run.
    """
    seconds = daemon_set["spec"].get("minReadySeconds", 0)
    surging = 0
    finished: list[ApiObject] = []
    urgent: list[str] = []
    candidates: list[str] = []
    for node, pods in nodes.items():
        pair = new_and_old(daemon_set, pods, digest)
        if pair is None:
            surging += 1
            continue
        new, old = pair
        if old is None:
            continue
        if new is None:
            if not is_available(old, seconds, now_ns):
                urgent.append(node)
            elif node in suitable:
                candidates.append(node)
            else:
                finished.append(old)
        elif is_available(new, seconds, now_ns):
            finished.append(old)
        else:
            surging += 1
    room = max(0, max_surge(daemon_set, desired) - surging)
    return Replacement(finished, [*urgent, *candidates[:room]])
