"""Clients of a registry: calls go to the instances of a service that a program knows, in equal shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from simcluster.models.traffic.cluster.operations import CallSpec, ServiceSpec

Steps = tuple[tuple[CallSpec, ...], ...]


def environment_of(connected: Mapping[str, tuple[tuple[str, int], ...]]) -> dict[str, str]:
    """Addresses of the instances a program is connected to, by the names that its calls use."""
    found: dict[str, str] = {}
    for name, places in connected.items():
        found[name] = ""
        for number, (address, port) in enumerate(places):
            found[_numbered(name, number)] = f"{address}:{port}"
    return found


def spread(spec: ServiceSpec, instances: Mapping[str, int]) -> ServiceSpec:
    """Calls of a service with several instances go to all of them in equal shares."""
    if not any(number > 1 for number in instances.values()):
        return spec
    operations = (
        replace(op, steps=tuple(part for step in op.steps for part in _split(step, instances)))
        for op in spec.operations
    )
    return replace(spec, operations=tuple(operations))


def _split(step: tuple[CallSpec, ...], instances: Mapping[str, int]) -> Steps:
    number = max((instances.get(call.env, 1) for call in step), default=1)
    if number <= 1:
        return (step,)
    return tuple(
        tuple(replace(call, env=_numbered(call.env, n), count=call.count / number) for call in step)
        for n in range(number)
    )


def _numbered(name: str, number: int) -> str:
    return f"{name}#{number + 1}" if number else name
