"""Why something that differs is of no account: it was made in the place of another, or only lets more come in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simcluster.api.objects import ApiObject, labels_of, namespace_of
from simcluster.control.labelselector import selector_matches
from simcluster.faults.facts import essence, leaves
from simcluster.faults.survey import Key, Survey

if TYPE_CHECKING:
    from simcluster.world import World

#: Who shares so much of what was decided about an object that is gone was made in its place.
_ALIKE = 0.6
_POLICIES = "networkpolicies.networking.k8s.io"


def successors(theirs: Survey, ours: Survey) -> dict[Key, Key]:
    """Objects that were made under another name in the place of one that is gone, each with that one."""
    gone = [key for key in sorted(theirs.objects) if key not in ours.objects]
    new = [key for key in sorted(ours.objects) if key not in theirs.objects]
    found: dict[Key, Key] = {}
    for old in gone:
        for key in new:
            alike = key[:2] == old[:2] and _alike(theirs.objects[old], ours.objects[key]) >= _ALIKE
            if alike and key not in found:
                found[key] = old
                break
    return found


def _alike(old: ApiObject, new: ApiObject) -> float:
    """The share of what was decided about an object that another one has, too."""
    one, other = ({(path, str(value)) for path, value in leaves(essence(each))} for each in (old, new))
    return len(one & other) / max(1, len(one))


def only_adds(policy: ApiObject, twin: World) -> bool:
    """Whether all pods that a new NetworkPolicy is about are isolated in the twin already: then it only lets more in.

    Of pods that nobody isolated it forbids what it does not allow (Kubernetes, "Network Policies").
    """
    namespace, spec = namespace_of(policy), policy.get("spec") or {}
    pods = [pod for pod in twin.api.store.objects("pods", namespace) if _about(spec, pod)]
    others = [one.get("spec") or {} for one in twin.api.store.objects(_POLICIES, namespace)]
    return bool(pods) and all(
        any(kind in _kinds(other) and _about(other, pod) for other in others) for kind in _kinds(spec) for pod in pods
    )


def _about(spec: Mapping[str, Any], pod: ApiObject) -> bool:
    return selector_matches(spec.get("podSelector") or {}, labels_of(pod))


def _kinds(spec: Mapping[str, Any]) -> list[str]:
    given = spec.get("policyTypes")
    return [str(one) for one in given] if isinstance(given, (list, tuple)) else ["Ingress"]
