"""The ways between nodes and pods as facts: disciplines at the way out (`qdisc`), and ways to others (`ways`).

Parts of a Node, and of the workload of a pod with the pod's name in the path: a pod that is replaced has ways of its
own. Reading changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from simcluster.faults.devices import NoKnob, Values
from simcluster.faults.facts import Place, segments
from simcluster.faults.stores import place_of
from simcluster.faults.target import FaultTarget
from simcluster.models.machine.links.links import Links
from simcluster.models.machine.links.shaping import Shaping
from simcluster.models.machine.machine import Machine

QDISC, WAYS = "qdisc", "ways"
PARTS = (QDISC, WAYS)
#: A place, and what of a path tells which of its ends it is.
End = tuple[Place, str]


def links_of(target: FaultTarget) -> Links | None:
    """The links of a cluster; None of one that has no machines."""
    machine = next((one for one in target.machines.values() if isinstance(one, Machine)), None)
    return None if machine is None else machine.network.links


def ends_of(target: FaultTarget) -> dict[str, End]:
    """Name of a node, or address of a pod -> whose it is."""
    found: dict[str, End] = {}
    for node, machine in sorted(target.machines.items()):
        if not isinstance(machine, Machine):
            continue
        found[node] = Place("Node", "", node), "eth0"
        for sandbox in machine.runtime.sandboxes.values():
            if not sandbox.host_network:
                found[sandbox.address] = place_of(target, sandbox, ""), sandbox.pod_name
    return found


def facts_of(target: FaultTarget) -> dict[Place, Values]:
    """What is not as new: place -> path -> value."""
    links, found = links_of(target), dict[Place, Values]()
    if links is None or not (links.shapes or links.partitions):
        return found
    ends = ends_of(target)
    for address, shaping in links.shapes.items():
        if address in ends:
            place, name = ends[address]
            values = found.setdefault(replace(place, part=QDISC), {})
            values |= {f"[{name}].{key}": value for key, value in _said(shaping).items()}
    for what, parted in links.partitions.items():
        for address in parted.side_a:
            if address in ends:
                place, name = ends[address]
                shaped = {} if parted.shaping is None else _said(parted.shaping)
                found.setdefault(replace(place, part=WAYS), {})[f"[{name}].to[{what}]"] = shaped or (
                    "cut for what it opens" if parted.one_way else "cut"
                )
    return found


def put(target: FaultTarget, place: Place, values: Mapping[str, Any]) -> None:
    """Take disciplines and cuts away. Raises NoKnob: anything else is done by faults only."""
    links = links_of(target)
    if links is None or any(value for value in values.values()):
        raise NoKnob(f"the ways of {place.kind}/{place.name} are made worse by faults only")
    addresses = {(end.kind, end.name, name): address for address, (end, name) in ends_of(target).items()}
    for path in values:
        name, *rest = segments(path)
        if place.part == WAYS:
            links.heal(rest[1])
        else:
            links.unshape(addresses.get((place.kind, place.name, name), ""))


def _said(shaping: Shaping) -> Values:
    found = {
        "delay_ns": shaping.delay_ns,
        "jitter_ns": shaping.jitter_ns,
        "loss": shaping.loss,
        "rate_bps": shaping.rate_bps,
    }
    return {key: value for key, value in found.items() if value}
