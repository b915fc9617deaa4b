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

from simcluster.engine import SECOND
from simcluster.engine.content import ContentError
from simcluster.models.apps.behaviour import (
    DEFAULT_CALL_NS,
    Application,
    Behaviour,
    CachedModel,
    CallModel,
    Image,
    OperationModel,
    Port,
    SendModel,
    StepModel,
)
from simcluster.models.traffic.aggregate.countable import check_countable
from simcluster.models.traffic.cluster.engine import TrafficEngine
from simcluster.models.traffic.cluster.users import UserLoad
from simcluster.models.traffic.graph.laws import Law
from simcluster.models.traffic.graph.load import Load
from simcluster.models.traffic.graph.policy import Policy
from simcluster.models.traffic.graph.service import Cached, Call, Operation, Send, Service, Step
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
    return Application(application=name, images=tuple(_program(name, n, s) for n, s in spec.services.items()))


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


def variable_of(service: str) -> str:
    """The variable that holds a service's address."""
    return service.upper().replace("-", "_").replace(".", "_") + "_ADDR"


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
    return Behaviour(
        name=name,
        image=Image(repository=f"{REPOSITORY}/{application}/{name}", tags=("v1",), size=20 << 20),
        program=name,
        protocol="http",
        client="http",
        ports=(Port(number=PORT),),
        threads=service.cores or service.workers or 0,
        workers=(service.workers or 0) if service.blocking else 0,
        queue=service.queue,
        shed=service.shed,
        rate_limit=service.rate_limit,
        heap=service.heap,
        caches=service.caches,
        health_paths=("/healthz",),
        operations=tuple(_Flat(f"services.{name}.operations.{n}", service, o).model(n) for n, o in _named(service)),
    )


def _named(service: Service) -> list[tuple[str, Operation]]:
    return list(service.operations.items())


class _Flat:
    """An operation in the words of applications: own times added up, calls in steps."""

    def __init__(self, place: str, service: Service, operation: Operation) -> None:
        self._place = place
        self._operation = operation
        self._works: list[tuple[Law, float]] = [(operation.work, 1.0)] if operation.work is not None else []
        self._speed = service.speed
        self._wait = 0.0
        self._steps = [made for step in operation.steps for made in self._made(step, 1.0)]

    def model(self, name: str) -> OperationModel:
        """The operation."""
        o = self._operation
        return OperationModel(
            name=name, path=f"/{name}", latency=int(self._wait), failure=o.failure, steps=tuple(self._steps),
            contention=int(o.contention / self._speed), allocation=o.allocation, **self._work(),
        )  # fmt: skip

    def _work(self) -> dict[str, Any]:
        if not self._works:
            return {"cpu_ms": 0.001}
        if len(self._works) == 1 and self._works[0][1] == 1.0 and self._speed == 1.0:
            return {"work": self._works[0][0]}
        mean = math.fsum(p * law.mean_ns for law, p in self._works)
        squares = [(p, law.mean_ns, law.scv) for law, p in self._works]
        variance = math.fsum(p * m * m * (1.0 + scv) - p * p * m * m for p, m, scv in squares)
        return {"cpu_ms": mean / self._speed / 1e6, "cpu_cv": math.sqrt(max(0.0, variance)) / mean}

    def _made(self, step: Step, chance: float, *, behind: bool = False) -> list[StepModel]:
        """What becomes of a step that a share of the requests takes."""
        if step.work is not None or step.wait is not None:
            self._own(step, chance, behind=behind)
            return []
        if step.call is not None:
            return [StepModel(call=_call(step.call, chance))]
        if step.send is not None:
            return [StepModel(send=_send(step.send, chance))]
        if step.cached is not None:
            return self._cached(step.cached, chance)
        if step.parallel is not None:
            inner = [made for arm in step.parallel for made in self._made(arm, chance, behind=behind)]
            calls = tuple(call for made in inner for call in made.calls)
            return [*([StepModel(parallel=calls)] if calls else []), *(made for made in inner if made.cached)]
        found = [made for one in step.sequence or () for made in self._made(one, chance, behind=behind)]
        for branch in step.choose or ():
            for one in branch.steps:
                found += self._made(one, chance * branch.probability, behind=behind)
        return found

    def _own(self, step: Step, chance: float, *, behind: bool) -> None:
        if behind:
            raise ValueError(
                f"{self._place}: work or a wait behind a cache; give it a service of its own and call that"
            )
        if step.work is not None:
            self._works.append((step.work, chance))
        elif step.wait is not None:
            self._wait += chance * step.wait.mean_ns

    def _cached(self, cached: Cached, chance: float) -> list[StepModel]:
        if cached.hit is not None:
            self._wait += chance * cached.hit.mean_ns
        miss = tuple(made for step in cached.miss for made in self._made(step, chance, behind=True))
        return [StepModel(cached=CachedModel(cache=cached.cache, miss=miss))]


def _call(call: Call, chance: float) -> CallModel:
    policy = {key: getattr(call, key) for key in Policy.model_fields if key in call.model_fields_set}
    return CallModel.model_construct(
        env=variable_of(call.service),
        operation=call.operation or "",
        count=call.times * chance,
        on_failure="error" if call.required else "degraded",
        **policy,
    )


def _send(send: Send, chance: float) -> SendModel:
    return SendModel(
        env=variable_of(send.service), operation=send.operation or "", count=chance, network=send.network,
        priority=send.priority,
    )  # fmt: skip


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
    return "\n---\n".join(json.dumps(each) for each in objects)
