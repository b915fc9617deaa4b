"""A bare call graph as an application: the same YAML, run by pods of a cluster.

Every service becomes an image and a Deployment with a Service in front; its calls go to the address
in a variable of its environment, so that a cluster can break them as it breaks any other. Work, waits,
workers, queues, shedding, limits, caches, messages and the policies of calls are the graph's own; loads
become users (`enter`).

What is left out: the order of work and waits between calls (they come before them), and that calls of one
arm of a `parallel` follow each other. A choice becomes the probability of its calls; which pod a call
reaches kube-proxy decides, not the graph's `balancer`; events are the cluster's faults.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from pydantic import ValidationError

from simcluster.engine import SECOND
from simcluster.engine.content import ContentError
from simcluster.models.apps.behaviour import DEFAULT_CALL_NS, Application, AppOperation, Behaviour, Image, Port
from simcluster.models.traffic.aggregate.countable import check_countable
from simcluster.models.traffic.cluster.engine import TrafficEngine
from simcluster.models.traffic.cluster.users import UserLoad
from simcluster.models.traffic.graph.load import Load
from simcluster.models.traffic.graph.service import Operation, Service, variable_of
from simcluster.models.traffic.graph.spec import GraphSpec

#: Where the images are said to be.
REPOSITORY = "registry.example.com"
PORT = 8080
_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")


def application_of(spec: GraphSpec, name: str = "") -> Application:
    """The programs of a graph.

    Raises:
        ValueError: a service's name is no name of a Kubernetes Service, or the graph has something that only
            bare graphs have: patience, queues of several priorities, work or waits behind a cache.
    """
    for service in spec.services:
        if not _LABEL.fullmatch(service):
            raise ValueError(f"services.{service}: a Kubernetes Service has a name like web-1")
    try:
        check_countable(spec)
    except ContentError as error:
        raise ValueError(error.problem.replace("; run it with --engine exact", "")) from None
    name = name or spec.name
    return Application(application=name, services={n: _program(name, n, s) for n, s in spec.services.items()})


def manifests_of(
    spec: GraphSpec, name: str = "", *, cpu: str = "", memory: str = "64Mi", probes: bool = False
) -> list[dict[str, Any]]:
    """Deployments and Services of a graph, without a namespace.

    Args:
        cpu: limit of every container; by default the cores its service has.
        memory: request of every container.
        probes: whether containers have readiness probes (connections to their port).
    """
    found: list[dict[str, Any]] = []
    for service_name, service in spec.services.items():
        for each in _objects(spec, name or spec.name, service_name, service, cpu, memory):
            found.append(each)
            if probes and each["kind"] == "Deployment":
                container = each["spec"]["template"]["spec"]["containers"][0]
                container["readinessProbe"] = {"tcpSocket": {"port": PORT}}
    return found


def enter(traffic: TrafficEngine, spec: GraphSpec, namespace: str = "default") -> list[UserLoad]:
    """Send a graph's loads to a cluster as users, from now on as if the run began now.

    A load on several services becomes one group of users for each. Curves of the rate are followed in
    steps; bursts are not.

    Raises:
        ValueError: a load is replayed from instants, or users of that name exist.
    """
    found = []
    for name, load in spec.load.items():
        if load.replay is not None and load.replay.counts is None:
            raise ValueError(f"load.{name}: instants cannot be replayed in a cluster; say counts")
        shares: dict[str, dict[str, float]] = {}
        for reference, weight in load.targets().items():
            service, operation = spec.operation(reference)
            shares.setdefault(service, {})[operation] = weight
        whole = math.fsum(load.targets().values())
        for service, mix in shares.items():
            part = math.fsum(mix.values()) / whole
            called = name if len(shares) == 1 else f"{name}-{service}"
            found.append(_users(traffic, load, called, namespace, service, mix, part, spec.run.duration))
    return found


def _users(
    traffic: TrafficEngine,
    load: Load,
    name: str,
    namespace: str,
    service: str,
    mix: dict[str, float],
    part: float,
    duration_ns: int,
) -> UserLoad:
    concurrency, rps = None, part * load.rate_at(0)
    if load.closed is not None:
        concurrency = max(1, round(load.closed.users * part))
        rps = concurrency * 1e9 / load.closed.think.mean_ns
    steps = _steps_of(load, duration_ns)
    if load.replay is not None:
        rps = part * steps[0][1]
    users = traffic.add_users(
        name, namespace, service, PORT, rps=rps, mix=mix, concurrency=concurrency, clients=load.clients,
        timeout_ns=load.call.timeout or load.call.deadline or DEFAULT_CALL_NS, retries=load.call.attempts - 1,
        policy=load.call,
    )  # fmt: skip
    for at, rate in steps:
        if at:
            traffic.schedule_rate(users, part * rate, at)
    return users


def _steps_of(load: Load, duration_ns: int) -> list[tuple[int, float]]:
    """Instants from which on a load has another rate."""
    if load.replay is not None:
        counts = load.replay.counts or ()
        return [(k * load.replay.per, n * 1e9 / load.replay.per) for k, n in enumerate((*counts, 0))]
    if load.open is None:
        return []
    at = dict.fromkeys(load.change_points())
    if load.is_curved():
        every = max(SECOND, duration_ns // 600)
        at.update(dict.fromkeys(range(0, duration_ns, every)))
    return [(t, load.rate_at(t)) for t in sorted(at)]


def _program(application: str, name: str, service: Service) -> Behaviour:
    given = {key: getattr(service, key) for key in Service.model_fields if key not in ("replicas", "balancer")}
    cores = service.cores or (service.workers if service.blocking else None)
    skin = {
        "image": Image(repository=f"{REPOSITORY}/{application}/{name}", tags=("v1",), size=20 << 20),
        **{"program": name, "protocol": "http", "client": "http"},
        **{"ports": (Port(number=PORT),), "health_paths": ("/healthz",)},
    }
    operations = {n: _operation(f"services.{name}.operations.{n}", n, o) for n, o in service.operations.items()}
    return Behaviour(**{**given, **skin, "cores": cores, "operations": operations})


def _operation(place: str, name: str, operation: Operation) -> AppOperation:
    """A graph's operation, asked for by its name."""
    given = {key: getattr(operation, key) for key in Operation.model_fields}
    try:
        return AppOperation(path=f"/{name}", **given | {"contention": f"{operation.contention}ns"})
    except ValidationError as error:
        raise ValueError(f"{place}: {error.errors()[0]['msg'].removeprefix('Value error, ')}") from None


def _objects(
    spec: GraphSpec, application: str, name: str, service: Service, cpu: str, memory: str
) -> list[dict[str, Any]]:
    called = dict.fromkeys(call.service for caller, _, call in spec.calls() if caller == name)
    cores = cpu or str(service.cores or min(service.workers or 1, 4))
    container = {
        "name": "server",
        "image": f"{REPOSITORY}/{application}/{name}:v1",
        "ports": [{"containerPort": PORT}],
        "env": [{"name": variable_of(other), "value": f"{other}:{PORT}"} for other in called],
        "resources": {"requests": {"cpu": "20m", "memory": memory}, "limits": {"cpu": cores}},
    }
    labels = {"app": name}
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name},
            "spec": {
                "replicas": service.replicas,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name},
            "spec": {"selector": labels, "ports": [{"port": PORT}]},
        },
    ]


def as_yaml(objects: list[dict[str, Any]]) -> str:
    """Documents for `kubectl apply` (JSON is YAML)."""
    return "".join(f"---\n{json.dumps(each)}\n" for each in objects)
