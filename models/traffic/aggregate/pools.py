"""Connection pools as queues: whom a caller has no free connection for waits like for a worker.

A call with a pool becomes a call of a made-up service that has a replica for every caller, a worker for
every connection, and calls the callee itself. Who waits for a connection longer than his timeout leaves.

Approximations: a connection given to an attempt that waited is held for up to a whole timeout more;
callers beyond `_MOST` share their connections.
"""

from __future__ import annotations

from typing import Any

from simcluster.models.traffic.aggregate.priorities import base_of
from simcluster.models.traffic.graph.policy import Policy
from simcluster.models.traffic.graph.service import Call, Operation, Queue, Service, Step
from simcluster.models.traffic.graph.spec import GraphSpec

#: Callers that have a replica each.
_MOST = 64
#: Between the names of caller and callee in a pool's name.
MARK = " connections to "


def with_pools(spec: GraphSpec) -> GraphSpec:
    """The graph with a service in place of every pool; the same object if it has none."""
    made: dict[str, Service] = {}
    services = {}
    for name, service in spec.services.items():
        operations = {
            key: operation.model_copy(update={"steps": _steps(operation.steps, name, service.replicas, made)})
            for key, operation in service.operations.items()
        }
        services[name] = service.model_copy(update={"operations": operations})
    loads = {}
    for name, load in spec.load.items():
        if load.call.pool is None:
            loads[name] = load
            continue
        targets: dict[str, float] = {}
        for reference, weight in load.targets().items():
            service_name, operation_name = spec.operation(reference)
            call = Call.model_construct(
                service=service_name, operation=operation_name, times=1, required=True, **_policy(load.call)
            )
            targets[_pool(call, name, load.clients, made)] = weight
        loads[name] = load.model_copy(update={"target": None, "mix": targets, "call": _outer(load.call)})
    if not made:
        return spec
    return spec.model_copy(update={"services": {**services, **made}, "load": loads})


def callee_of(service: str) -> str:
    """Whom a pool is for; the service itself if it is none."""
    service = service.rpartition(MARK)[2].partition(" #")[0] if MARK in service else service
    return base_of(service)


def caller_of(service: str) -> str:
    """Whose pool it is; the service itself if it is none."""
    return base_of(service.partition(MARK)[0])


def _policy(call: Any) -> dict[str, Any]:
    return {name: getattr(call, name) for name in Policy.model_fields}


def _outer(call: Any) -> Any:
    cancel = "queued" if call.cancel == "no" else call.cancel
    return call.model_copy(update={"pool": None, "network": None, "cancel": cancel})


def _pool(call: Call, caller: str, callers: int, made: dict[str, Service]) -> str:
    """Make the service of a pool; its name."""
    pool = call.pool
    assert pool is not None
    name = f"{caller}{MARK}{call.service}"
    if name in made:
        name = f"{name} #{len(made)}"
    inner = call.model_copy(
        update={
            "pool": None, "retries": None, "hedge": None, "breaker": None, "throttle": None, "deadline": None,
            "timeout": (call.timeout or call.deadline) if pool.hold == "attempt" else None, "times": 1,
            "required": True,
        }
    )  # fmt: skip
    replicas, size = (callers, pool.size) if callers <= _MOST else (1, pool.size * callers)
    made[name] = Service.model_construct(
        replicas=replicas,
        workers=size,
        queue=Queue(bound=pool.waiting),
        operations={
            "use": Operation.model_construct(
                work=None, contention=0, failure=0.0, steps=(Step.model_construct(call=inner),), allocation=None
            )
        },
    )
    return name


def _steps(steps: tuple[Step, ...], caller: str, callers: int, made: dict[str, Service]) -> tuple[Step, ...]:
    return tuple(_step(step, caller, callers, made) for step in steps)


def _step(step: Step, caller: str, callers: int, made: dict[str, Service]) -> Step:
    if step.call is not None and step.call.pool is not None:
        name = _pool(step.call, caller, callers, made)
        outer = _outer(step.call).model_copy(update={"service": name, "operation": "use"})
        return step.model_copy(update={"call": outer})
    if step.choose is not None:
        arms = tuple(
            chance.model_copy(update={"steps": _steps(chance.steps, caller, callers, made)}) for chance in step.choose
        )
        return step.model_copy(update={"choose": arms})
    if step.cached is not None:
        miss = _steps(step.cached.miss, caller, callers, made)
        return step.model_copy(update={"cached": step.cached.model_copy(update={"miss": miss})})
    for kind in ("parallel", "sequence"):
        inside = getattr(step, kind)
        if inside is not None:
            return step.model_copy(update={kind: _steps(inside, caller, callers, made)})
    return step
