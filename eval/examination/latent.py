"""What hurts nobody yet and would: room that is gone, ways that are shut or long, all eggs in one basket.

Users and calls of the application show only what they meet. Clients of other namespaces, whoever works at the control
plane, and what the next loss would take are looked at here, in the world as it stands and in its healthy twin.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

from simcluster.api.objects import (
    ApiObject,
    controller_of,
    is_pod_ready,
    is_terminating,
    name_of,
    namespace_of,
)
from simcluster.engine import MILLISECOND
from simcluster.eval.examination.services import misled, pinned, run_by, unserved, workload_of
from simcluster.eval.trajectory.observe import CONDITIONS, is_node_ready
from simcluster.faults.facts import ChangedFact
from simcluster.models.machine.isolation import permits

if TYPE_CHECKING:
    from simcluster.world import World

#: By so much an exchange with the API server may last longer than in the twin: machines of one region are nearer.
LONGER_NS = 2 * MILLISECOND
#: Of a request of kubectl and its answer, in bytes.
_EXCHANGE = (600, 8_000)
#: With so many open nodes and pods for each of them no scheduler puts a larger share on one.
NODES_MIN, PODS_PER_NODE, MOST = 3, 2, 2 / 3
_REFUSING = ("NoSchedule", "NoExecute")
_AUTOSCALERS = "horizontalpodautoscalers.autoscaling"


def latent(world: World, twin: World, namespaces: Sequence[str], changed: Iterable[ChangedFact]) -> list[str]:
    """What is worse than in the twin although no user of the application meets it, one text each.

    Args:
        namespaces: the application's, and others in which a fault was.
        changed: what the incident changed: nodes whose machine failed may be given up, those that were closed may not.
    """
    namespace, facts = namespaces[0], [fact.place for fact in changed if fact.place.kind == "Node"]
    failed = {place.name for place in facts if place.part}
    closed = [place.name for place in facts if not place.part and place.name not in failed]
    open_here, open_there = takes_pods(world), takes_pods(twin)
    found = [
        f"{name} takes no pods, and it does without the incident"
        for name in dict.fromkeys(closed)
        if name in open_there and name not in open_here
    ]
    for where in namespaces:
        found += _fewer(world, twin, where)
    found += [*misled(world, twin, namespace), *unserved(world, twin, namespace, open_here)]
    found += pinned(world, twin, namespace)
    return [*found, *_longer_ways(world, twin, open_here), *_shut(world, twin, namespace)]


def takes_pods(world: World) -> list[str]:
    """Nodes on which a pod may be put that tolerates nothing and asks for nothing; conditions are not asked.

    Whoever gave a node up has closed it.
    """
    return [name_of(node) for node in world.api.store.objects("nodes") if _is_open(node)]


def _is_open(node: ApiObject) -> bool:
    spec = node.get("spec") or {}
    taints = [one for one in spec.get("taints") or () if one["key"] not in CONDITIONS]
    return not spec.get("unschedulable") and not any(one["effect"] in _REFUSING for one in taints)


def _fewer(world: World, twin: World, namespace: str) -> Iterator[str]:
    """Programs of which fewer pods are ready than in the twin: not every program has callers who would miss them."""
    scaled = [one["spec"]["scaleTargetRef"]["name"] for one in twin.api.store.objects(_AUTOSCALERS, namespace)]
    here, there = (_programs(each, namespace, scaled) for each in (world, twin))
    for program, usual in there.items():
        count = here.get(program, 0)
        if count < usual:
            yield f"{count} pods run {program}, and {usual} without the incident"


def _programs(world: World, namespace: str, scaled: Collection[str]) -> dict[str, int]:
    """How many ready pods run a program, by the last word of its image's name; not where load or nodes decide it."""
    found: dict[str, int] = {}
    for (where, workload), pods in _by_workload(world).items():
        for pod in pods if where == namespace and workload not in scaled else ():
            if (controller_of(pod) or {}).get("kind") not in ("DaemonSet", "Job"):
                for name in run_by(pod):
                    found[name] = found.get(name, 0) + 1
    return found


def _longer_ways(world: World, twin: World, nodes: list[str]) -> Iterator[str]:
    """The ways to the API server: from outside, and from the nodes that take pods."""
    here, there = _server(world), _server(twin)
    for node in ("", *nodes):
        now, usual = _exchange_ns(world, node, here), _exchange_ns(twin, node, there)
        if now > usual + LONGER_NS:
            who = f"from {node}" if node else "from outside"
            took = "does not end" if now == _NEVER_NS else f"takes {now // MILLISECOND} ms more than it should"
            yield f"an exchange with the API server {who} {took}"


_NEVER_NS = 1 << 62


def _server(world: World) -> str:
    """The node of the API server."""
    address = str(getattr(world.api, "address", "")).partition(":")[0]
    return world.network.nodes.get(address, "")


def _exchange_ns(world: World, node: str, server: str) -> int:
    path = world.network.path(node, server)
    if path.is_healthy:
        return 0
    cost = path.cost(*_EXCHANGE, connect=True)
    return _NEVER_NS if path.cut or cost.failing >= 1.0 else round(cost.mean_ns)


def _shut(world: World, twin: World, namespace: str) -> Iterator[str]:
    """Which other workloads may not connect to pods of the application, and may in the twin."""
    if not world.network.isolation:
        return
    callers, usual = _by_workload(world), _by_workload(twin)
    for (where, callee), pods in callers.items():
        if where != namespace or (where, callee) not in usual:
            continue
        there = usual[where, callee]
        kept = [
            f"{space}/{name}"
            for (space, name), mine in callers.items()
            if not all(_may(world, mine[0], pod) for pod in pods)
            and (space, name) in usual
            and all(_may(twin, usual[space, name][0], pod) for pod in there)
        ]
        if kept:
            more = f" and {len(kept) - 2} more" if len(kept) > 2 else ""
            yield f"pods of {callee} let {', '.join(kept[:2])}{more} not in, and they do without the incident"


def _may(world: World, caller: ApiObject, callee: ApiObject) -> bool:
    """Whether policies let one pod connect to all ports of another."""
    network, (source, address) = world.network, (pod["status"]["podIP"] for pod in (caller, callee))
    ports = [one for each in callee["spec"]["containers"] for one in each.get("ports") or ()]
    return all(
        permits(
            *(network.isolation, source, (address, one["containerPort"]), network.nodes, ""),
            protocol=one.get("protocol", "TCP"),
        )
        for one in ports
    )


def _by_workload(world: World) -> dict[tuple[str, str], list[ApiObject]]:
    """The ready pods with addresses of their own, by namespace and workload."""
    found: dict[tuple[str, str], list[ApiObject]] = {}
    for pod in world.api.store.objects("pods"):
        if is_pod_ready(pod) and not is_terminating(pod) and not pod["spec"].get("hostNetwork"):
            found.setdefault((namespace_of(pod), workload_of(pod)), []).append(pod)
    return found


def piled(world: World, namespace: str, bound: Collection[str] = ()) -> list[str]:
    """Workloads of which most of many pods run on one of several open nodes, one text each.

    Args:
        bound: names of those that a circumstance of the incident may bind to a node: that may stay as it is.
    """
    nodes = [one for one in world.api.store.objects("nodes") if _is_open(one) and is_node_ready(one)]
    found = []
    for (where, name), pods in _by_workload(world).items() if len(nodes) >= NODES_MIN else ():
        counts: dict[str, int] = {}
        for pod in pods:
            counts[pod["spec"]["nodeName"]] = counts.get(pod["spec"]["nodeName"], 0) + 1
        node, most = max(counts.items(), key=itemgetter(1))
        if (
            where == namespace
            and name not in bound
            and len(pods) >= PODS_PER_NODE * len(nodes)
            and most > MOST * len(pods)
        ):
            found.append(f"{most} of {len(pods)} pods of {name} run on {node}, and {len(nodes)} nodes take pods")
    return found
