"""Consumer groups: who is in them, who reads which partition, how far they have come.

The classic protocol with the range assignor. A member that is not heard of for the session's time is put out; who comes
or goes makes a new generation. Left out: static members, cooperative rebalances, the new protocol of 4.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from simcluster.engine import SECOND
from simcluster.models.apps.brokers.topics import Topic

#: `session.timeout.ms` of the clients.
SESSION_NS = 45 * SECOND
#: `offsets.topic.num.partitions`.
OFFSETS_PARTITIONS = 50

#: A partition: topic and number.
Place = tuple[str, int]


class Member(NamedTuple):
    """One consumer of a group: its client's name, its address, what it wants, when it was heard of last."""

    client: str
    host: str
    topics: tuple[str, ...]
    heard_ns: int


class Group:
    """One group.

    Attributes:
        members: by their ids.
        generation: how often the partitions were shared out.
        committed: the offsets that were committed.
        assigned: who reads which partition.
        records: how many it has written into `__consumer_offsets`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.members: dict[str, Member] = {}
        self.generation = 0
        self.committed: dict[Place, int] = {}
        self.assigned: dict[Place, str] = {}
        self.records = 0

    @property
    def state(self) -> str:
        """As Kafka names it."""
        return "Stable" if self.members else "Empty"

    @property
    def partition(self) -> int:
        """The partition of `__consumer_offsets` that keeps it: Java's hash of its name."""
        found = 0
        for letter in self.name:
            found = (31 * found + ord(letter)) & 0xFFFFFFFF
        return (found & 0x7FFFFFFF) % OFFSETS_PARTITIONS

    def join(self, identity: str, member: Member, topics: Mapping[str, Topic]) -> None:
        """A member comes: the partitions are shared out anew."""
        self.members[identity] = member
        self.share_out(topics)

    def hear(self, identity: str, now: int) -> None:
        """A heartbeat."""
        self.members[identity] = self.members[identity]._replace(heard_ns=now)

    def shift(self, span_ns: int) -> None:
        """Time was skipped, in which all were heard of."""
        heard = {name: one._replace(heard_ns=one.heard_ns + span_ns) for name, one in self.members.items()}
        self.members = heard

    def leave(self, identity: str, topics: Mapping[str, Topic]) -> None:
        """A member goes."""
        if self.members.pop(identity, None) is not None:
            self.share_out(topics)

    def put_out(self, now: int) -> list[str]:
        """Members that were not heard of for too long."""
        return [name for name, one in self.members.items() if now - one.heard_ns >= SESSION_NS]

    def share_out(self, topics: Mapping[str, Topic]) -> None:
        """Every member gets a run of each topic's partitions."""
        self.generation += 1
        self.records += 1
        self.assigned = {}
        names = {topic: None for member in self.members.values() for topic in member.topics}
        for name in names:
            readers = sorted(identity for identity, member in self.members.items() if name in member.topics)
            partitions = len(topics[name].partitions) if name in topics else 0
            each, more = divmod(partitions, len(readers))
            first = 0
            for number, reader in enumerate(readers):
                mine = each + (1 if number < more else 0)
                for partition in range(first, first + mine):
                    self.assigned[name, partition] = reader
                first += mine

    def known(self) -> frozenset[Place]:
        """Partitions that it reads, or has read."""
        return frozenset((*self.committed, *self.assigned))

    def places_of(self, identity: str) -> list[Place]:
        """What a member reads."""
        return [place for place, reader in self.assigned.items() if reader == identity]
