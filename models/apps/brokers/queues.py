"""A queue of RabbitMQ: messages that are ready, and those that consumers were given and have not acknowledged."""

from __future__ import annotations

from simcluster.models.machine.container import Container


class Reader:
    """One consumer of a queue.

    Attributes:
        container: in which it runs: when that ends, its connection is closed.
        prefetch: so many messages it takes without having acknowledged them.
        unacked: messages that it was given.
        since_ns: when it came.
    """

    def __init__(self, container: Container, prefetch: int) -> None:
        self.since_ns = container.sim.now
        self.container = container
        self.prefetch = prefetch
        self.unacked = 0


class MessageQueue:
    """One queue.

    Attributes:
        ready: messages that wait; size: bytes of all that are in it.
        published, acknowledged: since the broker started.
        readers: by consumer tag, in the order in which they came.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.ready = 0
        self.size = 0
        self.published = 0
        self.acknowledged = 0
        self.readers: dict[str, Reader] = {}

    @property
    def unacked(self) -> int:
        """Messages that consumers have."""
        return sum(reader.unacked for reader in self.readers.values())  # integers

    @property
    def messages(self) -> int:
        """All that are in it."""
        return self.ready + self.unacked

    def put(self, count: int, size: int) -> None:
        """Messages come."""
        self.ready += count
        self.size += size
        self.published += count

    def take(self, tag: str, most: int) -> int:
        """Give a consumer what it has room for, at most so many; how many."""
        reader = self.readers[tag]
        count = max(0, min(self.ready, most, reader.prefetch - reader.unacked))
        self.ready -= count
        reader.unacked += count
        return count

    def acknowledge(self, tag: str, count: int) -> None:
        """Messages are done with."""
        reader, before = self.readers[tag], self.messages
        count = min(count, reader.unacked)
        reader.unacked -= count
        self.acknowledged += count
        self.size = self.size * (before - count) // before if before > count else 0

    def drop(self, tag: str) -> None:
        """A consumer is gone: what it had comes back."""
        self.ready += self.readers.pop(tag).unacked

    def purge(self) -> int:
        """Throw away what waits; how many."""
        gone, all_of_it = self.ready, self.messages
        self.size = self.size * (all_of_it - gone) // all_of_it if all_of_it > gone else 0
        self.ready = 0
        return gone
