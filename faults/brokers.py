"""What brokers of a cluster keep that its readers cannot read, as facts: part `broker` of a workload.

A path is `topics[NAME].unread[PARTITION]`, its value `OFFSET: TEXT` of the first record that is no JSON and that a
group of consumers has still before it, or that no group has come by. Only of brokers that run; reading changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simcluster.api.objects import name_of, namespace_of
from simcluster.faults.devices import NoKnob, Values
from simcluster.faults.facts import Place, segments
from simcluster.faults.stores import place_of
from simcluster.faults.target import FaultTarget
from simcluster.models.apps.brokers.kafka import KafkaProgram
from simcluster.models.machine.machine import Machine

PART = "broker"
_ADMIN, _TOOL = "kubernetes-admin", "kubectl-delete"


def facts_of(target: FaultTarget) -> dict[Place, Values]:
    """What every running broker keeps: place -> path -> value."""
    found: dict[Place, Values] = {}
    for place, broker in running(target):
        values = found.setdefault(place, {})
        for name, topic in broker.topics.items():
            for number, partition in enumerate(topic.partitions):
                waiting = (offset for offset in partition.unreadable if _waits(broker, name, number, offset))
                first = next(waiting, None)
                if first is not None:
                    values[f"topics[{name}].unread[{number}]"] = f"{first}: {partition.unreadable[first]}"
    return found


def put(target: FaultTarget, place: Place, values: Mapping[str, Any]) -> None:
    """Move groups on behind records, whose consumers are made anew from there; where there is no group, delete them.

    Raises NoKnob: a record stays read, or the broker does not run.
    """
    broker = next((one for there, one in running(target) if there == place), None)
    if broker is None:
        raise NoKnob(f"no broker of {place.kind}/{place.name} runs")
    for path, value in values.items():
        if value is not None:
            raise NoKnob(f"what {place.kind}/{place.name} keeps is not made unreadable by hand")
        topic, number = partition_of(path)
        log = broker.topics[topic].partitions[number] if topic in broker.topics else None
        for offset in list(log.unreadable) if log is not None else ():
            _pass(target, broker, (topic, number), offset)


def _pass(target: FaultTarget, broker: KafkaProgram, place: tuple[str, int], offset: int) -> None:
    groups = [group for group in broker.groups.values() if place in group.known()]
    for group in groups:
        if group.committed.get(place, 0) <= offset:
            group.committed[place] = offset + 1
            _renew(target, [member.host for member in group.members.values()])
    if not groups:
        broker.topics[place[0]].partitions[place[1]].drop_before(offset + 1)


def partition_of(path: str) -> tuple[str, int]:
    """Topic and partition of a fact.

    >>> partition_of("topics[orders].unread[0]")
    ('orders', 0)
    """
    _, topic, _, number = segments(path)
    return topic, int(number)


def record_of(value: str) -> tuple[int, str]:
    """Offset and text of what a fact says.

    >>> record_of('20: {"order":')
    (20, '{"order":')
    """
    offset, _, text = value.partition(": ")
    return int(offset), text


def running(target: FaultTarget) -> Iterator[tuple[Place, KafkaProgram]]:
    """Brokers that run and where, by node and in order of their pods."""
    for _, machine in sorted(target.machines.items()):
        for container in machine.runtime.containers() if isinstance(machine, Machine) else ():
            program = getattr(container, "program", None)
            if container.running and isinstance(program, KafkaProgram):
                yield place_of(target, container.sandbox, PART), program


def _waits(broker: KafkaProgram, topic: str, number: int, offset: int) -> bool:
    """Whether a record is still before a group, or nobody has come by it."""
    groups = [group for group in broker.groups.values() if (topic, number) in group.known()]
    return not groups or any(group.committed.get((topic, number), 0) <= offset for group in groups)


def _renew(target: FaultTarget, addresses: list[str]) -> None:
    client = target.client(_ADMIN, _TOOL)
    for pod in list(target.api.store.objects("pods")):
        if (pod.get("status") or {}).get("podIP") in addresses:
            client.delete("pods", namespace_of(pod), name_of(pod))
