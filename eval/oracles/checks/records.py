"""Checks of what consumers of a broker have done with its records."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pydantic import Field

from simcluster.engine.content import Content
from simcluster.eval.oracles.check import Check, Context
from simcluster.faults import brokers
from simcluster.models.apps.brokers.kafka import KafkaProgram
from simcluster.models.apps.brokers.topics import Topic


class RecordsArgs(Content):
    """A group that reads a topic and writes what it has handled `into` another one, of a broker (a Deployment).

    Attributes:
        key: by which a record of the one is known in the other.
        behind: so many records may wait.
    """

    broker: str
    topic: str
    group: str
    into: str
    key: str
    behind: int = Field(default=10, ge=0)


class RecordsHandled(Check):
    """A group goes on and is not behind, has passed over no record that it can read, and none is lost.

    Records that the incident wrote are still in the topic: who takes them away takes others with them.
    """

    Args = RecordsArgs
    lasting = False
    args: RecordsArgs

    def begin(self, ctx: Context) -> None:
        """Note where the group stands when the window opens."""
        broker = self._broker(ctx)
        ctx.memo[self.index] = None if broker is None else self._stands(broker)

    def why_not(self, ctx: Context) -> str:
        """Compare where it stands, and what it has written."""
        topic, group, broker = self.args.topic, self.args.group, self._broker(ctx)
        if broker is None or topic not in broker.topics:
            return f"there is no topic {topic}"
        lost = next(self._lost(ctx, broker.topics[topic]), "")
        if lost:
            return lost
        before, now = ctx.memo.get(self.index), self._stands(broker)
        if before is None or now is None or now <= before:
            return f"group {group} does not go on: it stands at offset {now} of {topic}"
        end = sum(partition.end for partition in broker.topics[topic].partitions)  # integers
        if end - now > self.args.behind:
            return f"group {group} is {end - now} records of {topic} behind"
        return self._passed_over(broker)

    def _broker(self, ctx: Context) -> KafkaProgram | None:
        where = ("Deployment", ctx.namespace, self.args.broker)
        found = brokers.running(ctx.world)
        return next((one for at, one in found if (at.kind, at.namespace, at.name) == where), None)

    def _stands(self, broker: KafkaProgram) -> int | None:
        group = broker.groups.get(self.args.group)
        places = {} if group is None else group.committed
        at = [offset for (topic, _), offset in places.items() if topic == self.args.topic]
        return sum(at) if at else None  # integers

    def _lost(self, ctx: Context, topic: Topic) -> Iterator[str]:
        """Records that the incident wrote into the topic and that are not there any more."""
        written = [
            fact for one in ctx.mechanisms for fact in one.changed if fact.place.part == brokers.PART and fact.after
        ]
        for fact in written:
            name, number = brokers.partition_of(fact.path)
            offset, text = brokers.record_of(fact.after)
            if name == topic.name and topic.partitions[number].texts(offset, 1).get(offset) != text:
                yield f"record {offset} of {name} is gone, and what was there with it"

    def _passed_over(self, broker: KafkaProgram) -> str:
        """The first record before where the group stands that could be read and was not handled."""
        group, written = broker.groups[self.args.group], broker.topics.get(self.args.into)
        handled = frozenset() if written is None else frozenset(key for _, key in self._keys(written))
        for number, partition in enumerate(broker.topics[self.args.topic].partitions):
            at = group.committed.get((self.args.topic, number), partition.start)
            for offset, text in partition.texts(partition.start, at - partition.start).items():
                key = self._key(text)
                if key and key not in handled:
                    return f"group {self.args.group} has passed over record {offset} ({key}) of {self.args.topic}"
        return ""

    def _keys(self, topic: Topic) -> Iterator[tuple[int, str]]:
        for partition in topic.partitions:
            for offset, text in partition.texts(partition.start, partition.end - partition.start).items():
                yield offset, self._key(text)

    def _key(self, text: str) -> str:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return ""
        return str(found.get(self.args.key, "")) if isinstance(found, dict) else ""
