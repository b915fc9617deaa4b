"""Topology hints: which zone should use which endpoint.

`service.kubernetes.io/topology-mode: Auto` gives every zone endpoints in proportion to its
CPUs, and none to anybody if that would overload some; `trafficDistribution: PreferClose` gives
every endpoint to its own zone.
Source: kubernetes staging/src/k8s.io/endpointslice/topologycache and trafficdist, 1.32.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from simcluster.api.objects import ApiObject, Json, condition, labels_of
from simcluster.api.quantity import to_millicores

ZONE = "topology.kubernetes.io/zone"
MODES = ("service.kubernetes.io/topology-mode", "service.kubernetes.io/topology-aware-hints")
#: OverloadThreshold: what a zone's endpoints may get beyond their share.
OVERLOAD = Fraction(1, 5)
NO_NODE_INFO = "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes"
ONE_ZONE = "Nodes only ready in one zone"
FEW_ENDPOINTS = "Insufficient number of endpoints"
OVERLOADED = "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold"
NO_ZONE = "One or more endpoints do not have a zone specified"
_NO_WORKERS = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")


class Hinted(NamedTuple):
    """What became of the endpoints' hints: the zone of each ready one by its address, or why there are none."""

    zones: dict[str, str]
    problem: str = ""


def is_auto(service: ApiObject) -> bool:
    """Whether the Service asks for proportional hints."""
    annotations = service["metadata"].get("annotations") or {}
    return any(annotations.get(key) in ("Auto", "auto") for key in MODES)


def is_close(service: ApiObject) -> bool:
    """Whether the Service asks to stay in the zone."""
    return bool(service["spec"].get("trafficDistribution") == "PreferClose")


def close_hints(endpoints: Iterable[Json]) -> Hinted:
    """Every endpoint for its own zone; none at all if one has no zone."""
    ready = [entry for entry in endpoints if entry["conditions"].get("ready")]
    if any(not entry.get("zone") for entry in ready):
        return Hinted({})
    return Hinted({entry["addresses"][0]: entry["zone"] for entry in ready})


def shares_of(nodes: Iterable[Mapping[str, Any]]) -> dict[str, Fraction] | None:
    """The share of each zone in the CPUs of all ready nodes; None if that cannot be said."""
    millis: dict[str, int] = {}
    for node in nodes:
        labels = labels_of(node)
        ready = condition(node, "Ready")
        if any(key in labels for key in _NO_WORKERS) or ready is None or ready.get("status") != "True":
            continue
        cpu = ((node.get("status") or {}).get("allocatable") or {}).get("cpu")
        if not cpu or not labels.get(ZONE):
            return None
        millis[labels[ZONE]] = millis.get(labels[ZONE], 0) + to_millicores(cpu)
    whole = sum(millis.values())  # integers
    return {zone: Fraction(part, whole) for zone, part in sorted(millis.items())} if whole else None


def concern(node: Mapping[str, Any]) -> tuple[object, ...]:
    """What of a node counts for the share of its zone."""
    ready = condition(node, "Ready")
    cpu = ((node.get("status") or {}).get("allocatable") or {}).get("cpu")
    return (labels_of(node).get(ZONE), cpu, ready is not None and ready["status"])


def proportional_hints(endpoints: Iterable[Json], shares: Mapping[str, Fraction] | None) -> Hinted:
    """Endpoints for zones in proportion to their CPUs; those of the own zone first."""
    ready = [entry for entry in endpoints if entry["conditions"].get("ready")]
    total = len(ready)
    if shares is None:
        return Hinted({}, NO_NODE_INFO)
    if len(shares) < 2:
        return Hinted({}, ONE_ZONE)
    size = f" ({total} endpoints, {len(shares)} zones)"
    if len(shares) > total:
        return Hinted({}, FEW_ENDPOINTS + size)
    least = {zone: math.ceil(share * total / (1 + OVERLOAD)) for zone, share in shares.items()}
    spare = total - sum(least.values())  # integers
    if spare < 0:
        return Hinted({}, OVERLOADED + size)
    if any(not entry.get("zone") for entry in ready):
        return Hinted({}, NO_ZONE)
    hinted = {entry["addresses"][0]: str(entry["zone"]) for entry in ready}
    desired = {zone: max(share * total, Fraction(least[zone])) for zone, share in shares.items()}
    _redistribute(hinted, desired, least, spare)
    return Hinted(hinted)


def _redistribute(
    hinted: dict[str, str], desired: Mapping[str, Fraction], least: Mapping[str, int], spare: int
) -> None:
    """Take from zones with more than they may have, give to those with less than they need."""
    counts: dict[str, int] = dict.fromkeys(desired, 0)
    for zone in hinted.values():
        counts[zone] = counts.get(zone, 0) + 1
    for _ in range(2 * len(hinted)):
        giving = [zone for zone in counts if counts[zone] > least.get(zone, 0) + spare or zone not in desired]
        giving = [zone for zone in giving if counts[zone]]
        receiving = [zone for zone in desired if counts[zone] < least[zone]]
        if not giving and not receiving:
            return
        giver = max(
            giving or [z for z in desired if counts[z] > least[z]], key=lambda z: (counts[z] - desired.get(z, 0), z)
        )
        taker = max(receiving or [z for z in desired if z != giver], key=lambda z: (desired[z] - counts[z], z))
        address = next(address for address, zone in hinted.items() if zone == giver)
        hinted[address] = taker
        counts[giver] -= 1
        counts[taker] += 1
