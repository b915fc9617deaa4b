"""Which nodes learn the routes to each other's pods: the node mesh, peers, route reflectors.

Two nodes with a session learn each other's routes; a route reflector (a node with a cluster ID) passes on what its
peers tell it. Source: Calico 3.27, BGPConfiguration and BGPPeer; RFC 4456. Left out: peers outside of the cluster,
AS numbers, timers of BIRD.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simcluster.api.objects import ApiObject, labels_of, name_of
from simcluster.apps.calico_system.selector import matches

REFLECTOR = "projectcalico.org/RouteReflectorClusterID"


def sessions(nodes: Sequence[ApiObject], peers: Sequence[ApiObject], mesh: bool) -> dict[str, dict[str, None]]:
    """Which node has a session with which others; without the mesh only those that a BGPPeer asks for."""
    found: dict[str, dict[str, None]] = {name_of(node): {} for node in nodes}
    pairs = [(one, other) for one in nodes for other in nodes] if mesh else []
    for peer in peers:
        spec = peer.get("spec") or {}
        here = spec.get("nodeSelector") or (
            f"kubernetes.io/hostname == '{spec['node']}'" if spec.get("node") else "all()"
        )
        pairs += [
            (one, other)
            for one in nodes
            if matches(here, labels_of(one))
            for other in nodes
            if matches(spec.get("peerSelector") or "", labels_of(other))
        ]
    for one, other in pairs:
        if one is not other:
            found[name_of(one)][name_of(other)] = None
            found[name_of(other)][name_of(one)] = None
    return found


def missing(node: str, nodes: Sequence[ApiObject], connected: Mapping[str, Mapping[str, None]]) -> tuple[str, ...]:
    """The nodes to whose pods a node has no route."""
    own = connected.get(node, {})
    learned = {node: None, **own}
    for other in nodes:
        if name_of(other) in own and REFLECTOR in (other["metadata"].get("annotations") or {}):
            learned.update(connected[name_of(other)])
    return tuple(name_of(other) for other in nodes if name_of(other) not in learned)
