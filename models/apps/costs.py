"""What a calibrated cluster's services cost, where that is not what their behaviour says.

Named figures of a world: `service.cpu.NAME/OPERATION` (CPU of a request; of every other operation `*`),
`service.idle.NAME` (CPU in a second beside requests), `service.memory.NAME` and `service.memory-per-request.NAME`.
A name is that of a workload, of a program's behaviour, or of its spans; an operation's its own, that of its spans, or
its path. Left out: laws; a request costs another mean and varies as before.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from simcluster.engine import MILLISECOND
from simcluster.models.apps.behaviour import AppOperation, Behaviour
from simcluster.models.tracing.settings import name_of
from simcluster.models.traffic.cluster.operations import ServiceSpec
from simcluster.models.traffic.graph.flat import flatten
from simcluster.models.traffic.graph.laws import Branch, Law
from simcluster.models.traffic.graph.steps import worked

CPU, IDLE, MEMORY, PER_REQUEST = "service.cpu.", "service.idle.", "service.memory.", "service.memory-per-request."
#: Any operation that is not named.
ANY = "*"
#: What controllers put behind the name of a workload.
_SUFFIX = re.compile(r"(-[a-z0-9]{6,10})?-[a-z0-9]{5}$|-\d+$")


class Costs(NamedTuple):
    """Of one service, in nanoseconds and bytes; None is as usual."""

    cpu: tuple[tuple[str, int], ...] = ()
    idle: int | None = None
    memory: int | None = None
    per_request: int | None = None


def workload_of(pod: str) -> str:
    """The name of the workload that a pod's name begins with.

    >>> workload_of("cart-7d9f8b6c5d-x2x4z"), workload_of("tsdb-mysql-0"), workload_of("cart")
    ('cart', 'tsdb-mysql', 'cart')
    """
    return _SUFFIX.sub("", pod)


def costs_of(parameters: Mapping[str, int], names: tuple[str, ...]) -> Costs:
    """What is known of a service by any of its names; the first name that says something has the say.

    >>> costs_of({"service.cpu.cart/Get": 5, "service.idle.cart": 7}, ("cart-blue", "cart"))
    Costs(cpu=(('Get', 5),), idle=7, memory=None, per_request=None)
    """
    cpu: tuple[tuple[str, int], ...] = ()
    for name in names:
        begin = f"{CPU}{name}/"
        cpu = cpu or tuple((key[len(begin) :], value) for key, value in parameters.items() if key.startswith(begin))
    found = [next((parameters[key + name] for name in names if key + name in parameters), None)
             for key in (IDLE, MEMORY, PER_REQUEST)]  # fmt: skip
    return Costs(cpu, *found)


def costed(behaviour: Behaviour, pod: str, parameters: Mapping[str, int]) -> Behaviour:
    """A program as it is in this world: the same object if nothing is known of it."""
    if not any(key.startswith("service.") for key in parameters):
        return behaviour
    spans = behaviour.tracing.service if behaviour.tracing is not None else ""
    names = tuple(name for name in (workload_of(pod), behaviour.name, spans) if name)
    costs = costs_of(parameters, names)
    return behaviour if costs == Costs() else _changed(behaviour, costs)


def costed_spec(spec: ServiceSpec, pod: str, parameters: Mapping[str, int]) -> ServiceSpec:
    """The same of a service that no behaviour describes: each of its requests costs what any costs."""
    costs = costs_of(parameters, (workload_of(pod),))
    if costs == Costs():
        return spec
    cpu = dict(costs.cpu).get(ANY)
    operations = spec.operations if cpu is None else tuple(replace(one, cpu_ns=cpu) for one in spec.operations)
    return replace(
        spec,
        operations=operations,
        idle_cores=spec.idle_cores if costs.idle is None else costs.idle / 1e9,
        memory_base=spec.memory_base if costs.memory is None else costs.memory,
        memory_per_request=spec.memory_per_request if costs.per_request is None else costs.per_request,
    )


def _changed_operation(operation: AppOperation, speed: float, cpu_ns: int) -> AppOperation:
    works = [part for part in flatten(operation).parts if part.is_work]
    usual_ns = math.fsum(part.reach * part.law.mean_ns for part in works) / speed
    if usual_ns <= 0.0:
        return operation.model_copy(update={"work": Law(law="exponential", mean=max(1, round(cpu_ns * speed)))})
    factor = cpu_ns / usual_ns
    work = None if operation.work is None else scaled(operation.work, factor)
    return operation.model_copy(update={"work": work, "steps": worked(operation.steps, partial(scaled, factor=factor))})


def _changed(behaviour: Behaviour, costs: Costs) -> Behaviour:
    changes: dict[str, object] = {}
    if costs.cpu:
        known = dict(costs.cpu)
        operations = {}
        for name, operation in behaviour.operations.items():
            called = [name, operation.path, f"{operation.method} {operation.path}"]
            if behaviour.tracing is not None:
                called.insert(1, name_of(behaviour.tracing.server, name, operation.method, operation.path))
            cpu_ns = next((known[one] for one in (*called, ANY) if one in known), None)
            operations[name] = operation if cpu_ns is None else _changed_operation(operation, behaviour.speed, cpu_ns)
        changes["operations"] = operations
    if costs.idle is not None:
        changes["idle_cpu_ms"] = costs.idle / MILLISECOND
    if costs.memory is not None:
        changes["memory"] = costs.memory
    if costs.per_request is not None:
        changes["memory_per_request"] = costs.per_request
    return behaviour.model_copy(update=changes)


def scaled(law: Law, factor: float) -> Law:
    """The law of what takes so many times as long.

    >>> scaled(Law(law="lognormal", mean="2ms", cv=0.5), 1.5)
    Law(law='lognormal', mean=3000000, low=None, high=None, cv=0.5, stages=None, branches=None, values=None)
    """
    changes: dict[str, object] = {
        name: max(1, round(value * factor)) for name in ("mean", "low", "high") if (value := getattr(law, name))
    }
    if law.values is not None:
        changes["values"] = tuple(round(value * factor) for value in law.values)
    if law.branches is not None:
        changes["branches"] = tuple(
            Branch(probability=one.probability, mean=max(1, round(one.mean * factor))) for one in law.branches
        )
    return law.model_copy(update=changes)
