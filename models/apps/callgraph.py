"""A bare call graph as an application: the same YAML, run by pods of a cluster.

Every service becomes an image and a Deployment with a Service in front; its calls go to the address
in a variable of its environment, so that a cluster can break them as it breaks any other. Work, waits,
workers, queues, shedding, limits and the policies of calls are the graph's own; loads become users.

What is left out: steps that are looked up in a cache, messages nobody waits for, and the order of
waits between calls (they come before them). A choice becomes the probability of its calls.
"""

from __future__ import annotations

import json
from typing import Any

from simcluster.models.apps.behaviour import Application, Behaviour, CallModel, Image, OperationModel, Port, StepModel
from simcluster.models.traffic.graph.policy import Policy
from simcluster.models.traffic.graph.service import Operation, Service, Step
from simcluster.models.traffic.graph.spec import GraphSpec

#: Where the images are said to be.
REPOSITORY = "registry.example.com"
PORT = 8080


def application_of(spec: GraphSpec, name: str = "") -> Application:
    """The programs of a graph.

    Raises:
        ValueError: the graph looks something up in a cache or sends messages.
    """
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
        health_paths=("/healthz",),
        operations=tuple(_operation(n, o) for n, o in service.operations.items()),
    )


def _operation(name: str, operation: Operation) -> OperationModel:
    steps: list[StepModel] = []
    waits = [0.0]
    for step in operation.steps:
        _step(step, 1.0, steps, waits)
    work = {"work": operation.work} if operation.work is not None else {"cpu_ms": 0.001}
    return OperationModel(
        name=name, path=f"/{name}", latency=int(waits[0]), failure=operation.failure, steps=tuple(steps), **work
    )


def _step(step: Step, chance: float, steps: list[StepModel], waits: list[float]) -> None:
    if step.send is not None or step.cached is not None:
        raise ValueError("an application of a call graph has no messages and no caches")
    if step.wait is not None:
        waits[0] += chance * step.wait.mean_ns
    elif step.call is not None:
        steps.append(StepModel(call=_call(step, chance)))
    elif step.parallel is not None:
        inner: list[StepModel] = []
        for arm in step.parallel:
            _step(arm, chance, inner, waits)
        steps.append(StepModel(parallel=tuple(call for one in inner for call in one.calls)))
    elif step.choose is not None:
        for branch in step.choose:
            for one in branch.steps:
                _step(one, chance * branch.probability, steps, waits)
    for one in step.sequence or ():
        _step(one, chance, steps, waits)


def _call(step: Step, chance: float) -> CallModel:
    call = step.call
    assert call is not None
    policy = {key: getattr(call, key) for key in Policy.model_fields if key in call.model_fields_set}
    return CallModel.model_construct(
        env=variable_of(call.service),
        operation=call.operation or "",
        count=call.times * chance,
        on_failure="error" if call.required else "degraded",
        **policy,
    )


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
