"""Connection pools as queues: whom a caller has no free connection for waits like for a worker.

A call with a pool becomes a call of a made-up service that has a replica for every caller, a worker for
every connection, and calls the callee itself. Who waits for a connection longer than his timeout leaves.

Approximations: a connection given to an attempt that waited is held for up to a whole timeout more;
callers beyond `_MOST` share their connections.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from simcluster.models.traffic.aggregate.priorities import base_of
from simcluster.models.traffic.graph.policy import Policy
from simcluster.models.traffic.graph.service import Call, Operation, Queue, Service, Step, step_of
from simcluster.models.traffic.graph.spec import GraphSpec
from simcluster.models.traffic.graph.steps import Change

#: Callers that have a replica each.
_MOST = 64
#: Between the names of caller and callee in a pool's name.
MARK = " connections to "


def with_pools(spec: GraphSpec) -> GraphSpec:
    """The graph with a service in place of every pool; the same object if it has none."""
    made: dict[str, Service] = {}
    services = spec.with_calls(partial(_pooling, spec, made)).services
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
            call = call.model_copy(update={"pool": load.call.pool.model_copy(update={"name": None})})
            targets[_pool(call, name, load.clients, made)[0]] = weight
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


def _pool(call: Call, caller: str, callers: int, made: dict[str, Service]) -> tuple[str, str]:
    """Make the service of a pool, or an operation of one that has a name; their names."""
    pool = call.pool
    assert pool is not None
    name = f"{caller}{MARK}{call.service}"
    if pool.name is not None:
        name = f"{name} #{pool.name}"
    elif name in made:
        name = f"{name} #{len(made)}"
    # connections that stay with a replica are followed on the edge from the pool to the callee (`connections`)
    inner = call.model_copy(
        update={
            "pool": pool if pool.reuse is not None else None, "retries": None, "hedge": None, "breaker": None,
            "throttle": None, "deadline": None,
            "timeout": (call.timeout or call.deadline) if pool.hold == "attempt" else None, "times": 1,
            "required": True,
        }
    )  # fmt: skip
    replicas, size = (callers, pool.size) if callers <= _MOST else (1, pool.size * callers)
    operations = dict(made[name].operations) if name in made else {}
    steps = (step_of(call=inner),)
    for known, operation in operations.items():
        if operation.steps == steps:
            return name, known
    use = f"use {len(operations)}" if operations else "use"
    operations[use] = Operation.model_construct(work=None, contention=0, failure=0.0, steps=steps, allocation=None)
    made[name] = Service.model_construct(
        replicas=replicas, workers=size, queue=Queue(bound=pool.waiting), operations=operations
    )
    return name, use


def _pooling(spec: GraphSpec, made: dict[str, Service], caller: str) -> Change:
    return partial(_step, caller, spec.services[caller].replicas, made)


def _step(caller: str, callers: int, made: dict[str, Service], step: Step) -> Step:
    if step.call is None or step.call.pool is None:
        return step
    name, use = _pool(step.call, caller, callers, made)
    return step_of(call=_outer(step.call).model_copy(update={"service": name, "operation": use}))
