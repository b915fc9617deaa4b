"""All that a cluster counts of its traffic under a fixed seed, calm, struck and after: pinned, tick by tick summed up.

Scenes place a graph in a cluster made by hand, or serve what nobody described; a trouble comes and goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from simcluster.engine import MILLISECOND, SECOND
from simcluster.models.apps.callgraph import PORT, REPOSITORY, application_of, enter
from simcluster.models.machine.links.nic import Nic
from simcluster.models.traffic import graph as package
from simcluster.models.traffic.graph import load_spec
from simcluster.models.traffic.graph.service import variable_of
from tests.clusters.handmade import HandmadeCluster
from tests.pins import Pins

_GRAPHS = (Path(__file__).parents[1] / "graphs", Path(package.__file__).parent / "examples")


def placed(name: str) -> HandmadeCluster:
    """The graph of a file in a cluster of two nodes, with its loads."""
    path = next(folder / f"{name}.yaml" for folder in _GRAPHS if (folder / f"{name}.yaml").exists())
    spec = load_spec(path)
    cluster = HandmadeCluster(7)
    cluster.catalog.add(application_of(spec))
    for node, address in (("n1", "172.18.0.3"), ("n2", "172.18.0.4")):
        cluster.network.links.nics[node] = Nic(cluster.sim, "eth0", address, cluster.network.links.changed)
    for service in spec.services:
        cluster.service(service, PORT, ())
    env = {variable_of(service): f"{service}:{PORT}" for service in spec.services}
    for place, (service, law) in enumerate(spec.services.items()):
        names = tuple(f"{service}-{number}" for number in range(law.replicas))
        for number, pod in enumerate(names):
            image = f"{REPOSITORY}/{spec.name}/{service}:v1"
            cluster.pod(pod, image, env=env, node=f"n{(number + place) % 2 + 1}", cpu_limit=2.0, memory_limit=1 << 30)
        cluster.service(service, PORT, names)
    cluster.run(2)
    enter(cluster.traffic, spec, "shop")
    return cluster


def counted(cluster: HandmadeCluster, seconds: int) -> Iterator[str]:
    """What the last seconds were, edge by edge, load by load, pod by pod."""
    traffic, now = cluster.traffic, cluster.sim.now
    began = now - seconds * SECOND
    yield f"{now / 1e9:.3f} {traffic.strategy}"
    edges: dict[str, list] = {}
    for each in traffic.history.between(began, now):
        key = each.key
        edges.setdefault(f"{key.pod or '-'} {key.host} {key.operation}", []).append(each)
    for key, found in sorted(edges.items()):
        all_of = traffic.history.summary(found)
        times = " ".join(f"{value:.4g}" for value in all_of[3:])
        yield f"  {key}: {all_of.sent} {all_of.ok} {dict(sorted(all_of.errors.items()))} {times}"
    for identity, load in sorted(traffic.users.items()):
        seen = load.window(began, now)
        yield f"  {identity}: {seen.sent} {seen.ok} {seen.failed} {dict(sorted(seen.errors.items()))} {seen.in_flight}"
        yield f"    {seen.mean_ms:.4g} {seen.quantile_ms(0.5):.4g} {seen.latency_ms_p99:.4g} {seen.success_ratio:.4g}"
    last = {record.container_id: (at, record) for at, record in traffic.history.queues(began, now)}
    for identity, (at, record) in sorted(last.items()):
        yield f"  {identity} {at / 1e9:.1f}: {record.waiting} {record.busy:.3f} {record.refused}"
    for pod in sorted(cluster.pods):
        one = cluster.container(pod)
        demand = one.machine.demand.get(one.container_id, 0.0)  # type: ignore[attr-defined]
        lines = [line.text for line in one.log.read(tail=2)]
        yield f"  {pod}: {one.running} {one.cpu_ns // 1000} {one.memory_bytes >> 10} {demand:.4g} {lines}"


def no_trouble(cluster: HandmadeCluster) -> Callable[[], None]:
    return lambda: None


def stolen_cpu(cluster: HandmadeCluster) -> Callable[[], None]:
    machine = cluster.machines["n2"]
    machine.cores = 0.3
    return lambda: setattr(machine, "cores", 64.0)


def slow_link(cluster: HandmadeCluster) -> Callable[[], None]:
    nic = cluster.network.links.nics["n2"]
    nic.degrade(delay_ns=15 * MILLISECOND, loss=0.02)
    return nic.repair


def cut_link(cluster: HandmadeCluster) -> Callable[[], None]:
    nic = cluster.network.links.nics["n2"]
    nic.cut()
    return nic.repair


def lost_pods(cluster: HandmadeCluster) -> Callable[[], None]:
    """The last pod goes; its address stays in the rules."""
    cluster.remove(sorted(cluster.pods)[-1])
    return lambda: None


def no_endpoints(cluster: HandmadeCluster) -> Callable[[], None]:
    name = sorted({pod.rpartition("-")[0] for pod in cluster.pods})[-1]
    cluster.service(name, PORT, ())
    names = tuple(pod for pod in cluster.pods if pod.startswith(f"{name}-"))
    return lambda: (cluster.service(name, PORT, names), None)[1]


def no_name(cluster: HandmadeCluster) -> Callable[[], None]:
    name = sorted({pod.rpartition("-")[0] for pod in cluster.pods})[0]
    address = cluster.network.zone[f"{name}.shop.svc.cluster.local"]
    cluster.network.set_name(f"{name}.shop.svc.cluster.local", None)
    return lambda: cluster.network.set_name(f"{name}.shop.svc.cluster.local", address)


def crowd(cluster: HandmadeCluster) -> Callable[[], None]:
    for load in cluster.traffic.users.values():
        cluster.traffic.schedule_rate(load, 400.0, 0, 3 * SECOND)
    return lambda: None


SCENES = [
    ("application", stolen_cpu), ("events", slow_link), ("defences", crowd),
    ("hotel", stolen_cpu), ("hotel", cut_link), ("hotel", lost_pods), ("look_aside_cache", no_endpoints),
    ("collector", no_name), ("retry_layers", stolen_cpu), ("adaptive_concurrency", crowd), ("pools", slow_link),
    ("first_tries_first", crowd), ("processor_sharing", stolen_cpu), ("retry_budget", lost_pods),
    ("last_in_first_out", no_trouble), ("slow_error_path", slow_link), ("mmc", stolen_cpu),
    ("decorrelated_jitter", no_endpoints), ("hedging", slow_link), ("adaptive_throttling", lost_pods),
]  # fmt: skip


@pytest.mark.parametrize(("name", "trouble"), SCENES, ids=[f"{name}-{what.__name__}" for name, what in SCENES])
def test_all_that_is_counted(pins: Pins, name: str, trouble: Callable[[HandmadeCluster], Callable[[], None]]) -> None:
    cluster = placed(name)
    lines: list[str] = []
    mends: list[Callable[[], None]] = []
    seconds = 1 if name == "application" else 3  # where everything is followed one by one, a second is long
    steps = (lambda: None, lambda: mends.append(trouble(cluster)), lambda: mends.pop()())
    for step in steps:
        step()
        cluster.run(seconds)
        lines += counted(cluster, seconds)
    pins.hold(f"{name}-{trouble.__name__}.txt", lines)
