"""Queues of several priorities as linked queues: one for every priority, before one set of workers.

A service whose queue looks at priorities, and gets requests of more than one, becomes a service for each of them;
their replicas share workers and places (`ranked`). Operations on the way are told apart by the priority of their
requests, because what they call inherits it. Retries of another priority are an edge of their own (`Graph` makes
it): the attempts that fail on the first one come again on the second.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from simcluster.models.traffic.graph.result import Result, ServiceWindow
from simcluster.models.traffic.graph.service import Operation, Service, Step, step_of
from simcluster.models.traffic.graph.spec import GraphSpec
from simcluster.models.traffic.graph.steps import calls_in, changed

#: Between a name and its priority.
MARK = " at priority "


def base_of(name: str) -> str:
    """The name in the file of a service or operation."""
    return name.partition(MARK)[0]


def with_priorities(spec: GraphSpec) -> GraphSpec:
    """The graph with a service for each priority of a queue; the same object if no queue has several."""
    reached = _reached(spec)
    split = split_services(spec, reached)
    return _Split(spec, split).made(reached) if split else spec


def split_services(spec: GraphSpec, reached: dict[tuple[str, str, int], None] | None = None) -> dict[str, list[int]]:
    """Services whose queues see several priorities, and these, the highest first."""
    found: dict[str, dict[int, None]] = {}
    for service, _, priority in reached if reached is not None else _reached(spec):
        if spec.services[service].queue.discipline == "priority":
            found.setdefault(service, {})[priority] = None
    return {name: sorted(here, reverse=True) for name, here in found.items() if len(here) > 1}


def retry_reference(spec: GraphSpec, service: str, operation: str, policy: Any) -> tuple[str, str] | None:
    """Where second and later attempts go, if they have a priority of their own."""
    if policy.attempts < 2 or getattr(policy, "retry_priority", None) is None:
        return None
    reference = _place(spec, base_of(service), base_of(operation), policy.retry_priority)
    return reference if reference not in (None, (service, operation)) else None


def _place(spec: GraphSpec, service: str, operation: str, priority: int) -> tuple[str, str] | None:
    """Names of an operation for requests of a priority; None if the graph knows none."""
    marked = f"{operation}{MARK}{priority}"
    for name in (f"{service}{MARK}{priority}", service):
        if name in spec.services and marked in spec.services[name].operations:
            return name, marked
    return None


def _reached(spec: GraphSpec) -> dict[tuple[str, str, int], None]:
    """(service, operation, priority) of all requests that there can be."""
    found: dict[tuple[str, str, int], None] = {}
    waiting: list[tuple[str, str, int]] = []
    for load in spec.load.values():
        for reference in load.targets():
            service, operation = spec.operation(reference)
            waiting += [(service, operation, priority) for priority in _of(load.call, 0)]
    while waiting:
        key = waiting.pop()
        if key in found:
            continue
        found[key] = None
        service, operation, priority = key
        for call in calls_in(spec.services[service].operations[operation].steps):
            target, below = spec.callee(call)
            waiting += [(target, below, each) for each in _of(call, priority)]
    return found


def _of(policy: Any, inherited: int) -> list[int]:
    """Priorities of a call's attempts."""
    first = inherited if policy.priority is None else policy.priority
    later = getattr(policy, "retry_priority", None)
    return [first] if later is None or policy.attempts < 2 else list(dict.fromkeys((first, later)))


def merge_priorities(result: Result) -> None:
    """Put the queues of a service's priorities together, under its name."""
    for tables in (result.services, result.service_totals):
        for name in [name for name in tables if MARK in name]:
            part: Any = tables.pop(name)
            known: Any = tables.setdefault(base_of(name), part)
            if known is not part:
                pairs = [(known, part)] if isinstance(part, ServiceWindow) else zip(known, part, strict=True)
                for row, more in pairs:
                    queued = row.queue_end + more.queue_end
                    row.merge(more, 1.0)
                    row.queue_end = queued


class _Split:
    def __init__(self, spec: GraphSpec, split: dict[str, list[int]]) -> None:
        self._spec = spec
        self._split = split

    def made(self, reached: dict[tuple[str, str, int], None]) -> GraphSpec:
        services: dict[str, Service] = {}
        for name, service in self._spec.services.items():
            here = [(operation, priority) for at, operation, priority in reached if at == name]
            if name in self._split:
                for rank in self._split[name]:
                    chosen = [(operation, priority) for operation, priority in here if priority == rank]
                    services[f"{name}{MARK}{rank}"] = self._with(service, chosen)
            else:
                services[name] = self._with(service, here)
        loads = {}
        for name, load in self._spec.load.items():
            targets: dict[str, float] = {}
            for reference, weight in load.targets().items():
                at = self._names(*self._spec.operation(reference), load.call.priority or 0)
                targets["/".join(at)] = weight
            loads[name] = load.model_copy(update={"target": None, "mix": targets})
        return self._spec.model_copy(update={"services": services, "load": loads})

    def _names(self, service: str, operation: str, priority: int) -> tuple[str, str]:
        where = f"{service}{MARK}{priority}" if service in self._split else service
        return where, f"{operation}{MARK}{priority}"

    def _with(self, service: Service, chosen: list[tuple[str, int]]) -> Service:
        operations: dict[str, Operation] = {}
        for name, priority in chosen:
            operation = service.operations[name]
            steps = changed(operation.steps, partial(self._step, priority))
            operations[f"{name}{MARK}{priority}"] = operation.model_copy(update={"steps": steps})
        return service.model_copy(update={"operations": operations or service.operations})

    def _step(self, inherited: int, step: Step) -> Step:
        call = step.call or step.send
        assert call is not None
        priority = inherited if call.priority is None else call.priority
        service, operation = self._names(*self._spec.callee(call), priority)
        return step_of(**{step.kind: call.model_copy(update={"service": service, "operation": operation})})
