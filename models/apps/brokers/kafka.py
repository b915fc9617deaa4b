"""Apache Kafka: one broker with its controller (KRaft) in one JVM.

Requests are the traffic's: an operation of a behaviour that names a topic (`io.command`) appends records. Memory is
the JVM's: what of its heap it has touched, what it uses beside, and a buffer of the largest message for each thread
that reads from or writes to a socket or a file (the JDK keeps such buffers): large messages in flight take a small
container's limit. What it keeps lies in its container's layer unless something is mounted at its folder. The newest of
its log is in the kernel's page cache, which gives it back under pressure: a consumer that lags behind that makes the
broker read from the disk. Sources: Kafka's documentation
(configuration, group protocol, tools), sun.nio.ch.Util, the image apache/kafka.

Left out: the time that a consumer waits for the disk, replication, quotas, TLS and SASL, transactions, compaction,
tiered storage.
"""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from typing import NamedTuple

from simcluster.engine import MILLISECOND, SECOND, Timer, format_rfc3339
from simcluster.engine.clock import unix_us
from simcluster.engine.streams import mix
from simcluster.models.apps.brokers import tools
from simcluster.models.apps.brokers.groups import OFFSETS_PARTITIONS, Group, Member, Place
from simcluster.models.apps.brokers.program import BrokerProgram
from simcluster.models.apps.brokers.topics import INTERNAL, INTERNAL_CONFIGS, Topic
from simcluster.models.apps.countedserver import CountedServer
from simcluster.models.apps.stores.folder import DataFolder
from simcluster.models.traffic.cluster.server import Server
from simcluster.models.userland.outcome import Outcome

FOLDER = "/tmp/kraft-combined-logs"
#: Defaults of the broker and of the image: message.max.bytes, num.partitions, log.retention.*, and how often it looks.
MESSAGE_MAX, PARTITIONS, RETENTION_HOURS, RETENTION_CHECK_NS = 1_048_588, 1, 168, 300 * SECOND
#: What a JVM of a broker uses beside its heap (metaspace, code, stacks, the collector), and a tool's JVM in all.
NATIVE, TOOL = 120 << 20, 112 << 20
#: The share of the heap that is touched in calm: the young generation is filled again and again.
TOUCHED = 0.6
#: num.network.threads and num.io.threads: who has a buffer of its own.
THREADS = 3 + 8
#: Copies of a message on the heap: the request, its validated records, and what waits to be collected.
COPIES = 3
#: Bytes of a record of `__consumer_offsets`; a magnitude.
OFFSET_RECORD = 110
#: A message is in flight for so long.
FLIGHT_NS = 2 * SECOND
#: A tool's JVM lives so long and takes so much CPU.
TOOL_NS, TOOL_CPU_NS = 1_900_000_000, 1_600_000_000
_HEAP = re.compile(r"-Xmx(\d+)([kKmMgG]?)")
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_KEEP_NS = 60 * SECOND


class Fetched(NamedTuple):
    """Records of one partition that a member was given."""

    place: Place
    first: int
    records: int
    texts: dict[int, str]


class KafkaProgram(BrokerProgram):
    """The main process of a broker's container.

    Attributes:
        topics, groups: by name.
        message_max: bytes of the largest message that it takes, as it was started.
        configs: settings that were changed while it runs.
    """

    topics: dict[str, Topic]
    groups: dict[str, Group]
    configs: dict[str, str]
    message_max = MESSAGE_MAX
    version = "3.9.1"
    _heap = 1 << 30
    _tool: Timer | None = None  # at the end of a tool's JVM
    _largest = 0
    _flying: tuple[tuple[int, int], ...] = ()  # until when, and bytes, of large messages in flight
    _touched = 0
    _cached = 0  # bytes of its log in the kernel's page cache
    _cleaner: Timer | None = None
    _joined = 0
    _made = 0

    def start(self) -> None:
        """Read what its variables say."""
        self.topics, self.groups, self.configs = {}, {}, {}
        found = _HEAP.search(self.environment.get("KAFKA_HEAP_OPTS", "-Xmx1G"))
        self._heap = int(found[1]) * _UNITS[found[2].lower()] if found is not None else 1 << 30
        self.message_max = self._setting("MESSAGE_MAX_BYTES", MESSAGE_MAX)
        self.folder = DataFolder(self.container, self.environment.get("KAFKA_LOG_DIRS", FOLDER), "java")
        self.say("Registered kafka:type=kafka.Log4jController MBean (kafka.utils.Log4jControllerRegistration$)")
        self.say("[KafkaRaftServer nodeId=1] Starting (kafka.server.KafkaRaftServer)")
        super().start()

    def stop(self) -> None:
        """The process is gone."""
        super().stop()
        for timer in (self._cleaner, self._tool):
            if timer is not None:
                timer.cancel()

    def leapt(self, since_ns: int) -> None:
        """Idle time was skipped, in which its members went on asking, and what was too old was deleted."""
        super().leapt(since_ns)
        self._clean()
        for group in self.groups.values():
            group.shift(self.container.sim.now - since_ns)

    def terminate(self) -> None:
        """SIGTERM."""
        if not self.draining:
            self.say("Terminating process due to signal SIGTERM (org.apache.kafka.common.utils.LoggingSignalHandler)")
            self.say("[BrokerServer id=1] Transition from STARTED to SHUTTING_DOWN (kafka.server.BrokerServer)")
        super().terminate()

    def build_server(self) -> Server:
        """A server that tells its counts, with the memory of a JVM."""
        self._touched = int(TOUCHED * self._heap)
        return CountedServer(self, replace(self.service_spec(), memory_base=self._memory()))

    def run_with_input(self, argv: tuple[str, ...], stdin: str) -> Outcome | None:
        """The tools in `/opt/kafka/bin`: each is a JVM of its own in this container."""
        return tools.run(self, argv, stdin)

    def _ready(self) -> None:
        super()._ready()
        if self.server is None or not self.container.running:
            return
        self.say("Kafka version: 3.9.1 (org.apache.kafka.common.utils.AppInfoParser)")
        self.say("[BrokerServer id=1] Transition from STARTING to STARTED (kafka.server.BrokerServer)")
        self.say("[KafkaRaftServer nodeId=1] Kafka Server started (kafka.server.KafkaRaftServer)")
        self._cleaner = self.container.sim.every(RETENTION_CHECK_NS, self._clean)

    # --- records --------------------------------------------------------------------------

    def topic(self, name: str) -> Topic:
        """A topic, made when it is first asked for (`auto.create.topics.enable`)."""
        if name not in self.topics:
            self.create(name, self._setting("NUM_PARTITIONS", PARTITIONS))
        return self.topics[name]

    def create(self, name: str, partitions: int) -> None:
        """Make a topic; groups that wait for it are shared out."""
        self._made += 1
        key = mix(self._key, -self._made)
        digits = b"".join(mix(key, part).to_bytes(8, "big") for part in (0, 1))
        identity = base64.urlsafe_b64encode(digits).decode().rstrip("=")
        self.topics[name] = Topic(name, partitions, identity)
        for number in range(partitions):
            self.say(
                f"[Partition {name}-{number} broker=1] Log loaded for partition {name}-{number} with initial high "
                "watermark 0 (kafka.cluster.Partition)"
            )
        for group in self.groups.values():
            if any(name in member.topics for member in group.members.values()):
                self._share_out(group)

    def widen(self, topic: Topic, partitions: int) -> None:
        """A topic gets more partitions; groups are shared out."""
        topic.widen(partitions)
        for group in self.groups.values():
            if any(topic.name in member.topics for member in group.members.values()):
                self._share_out(group)

    def internal(self) -> Topic | None:
        """The topic of the groups' offsets; None before there is a group."""
        if not self.groups:
            return None
        digits = b"".join(mix(self._key, part).to_bytes(8, "big") for part in (-1 << 20, -1 << 21))
        found = Topic(INTERNAL, OFFSETS_PARTITIONS, base64.urlsafe_b64encode(digits).decode().rstrip("="))
        found.configs = dict(INTERNAL_CONFIGS)
        for group in self.groups.values():
            partition = found.partitions[group.partition]
            partition.end += group.records
            partition.size += group.records * OFFSET_RECORD
        return found

    def delete(self, name: str) -> None:
        """Drop a topic and what groups know of it."""
        del self.topics[name]
        for group in self.groups.values():
            group.committed = {place: at for place, at in group.committed.items() if place[0] != name}

    def appended(self, counts: list[int]) -> None:
        """Records that came with the traffic, by operation."""
        super().appended(counts)
        self._trim()

    def _trim(self) -> None:
        """The kernel keeps the newest of the log in its page cache, as much as it has room for."""
        self._cached = min(self._cached, self.folder.cache_room())
        self.container.cache_files(self._cached)

    def append(self, name: str, count: int, size: int, text: str = "") -> str:
        """Take records; the error's name, or ""."""
        largest = size // count if count else 0
        if largest > self._largest_of(name):
            return "MESSAGE_TOO_LARGE"
        if self.server is None:
            return "NOT_LEADER_OR_FOLLOWER"
        now, there = self.container.sim.now, self.topic(name)
        place = there.partitions[there.next]
        outcome = self.folder.write(_segment(name, there.next), place.size, size)
        if outcome.error:
            return self._failed(f"Error while appending records to {name}-{there.next}")
        there.append(count, size, now, text)
        self._cached += size
        if largest > 64 << 10:
            self._take_large(largest, size, now)
        return ""

    def _failed(self, what: str) -> str:
        """The only log directory cannot be used any more."""
        if not self.container.running:
            return "KAFKA_STORAGE_ERROR"
        self.say(f"{what} in dir {self.folder.path}", "ERROR")
        self.say(f"Shutdown broker because all log dirs in {self.folder.path} have failed", "FATAL")
        self.container.exit(1)
        return "KAFKA_STORAGE_ERROR"

    def readable(self, place: Place, at: int, count: int) -> bool:
        """Read records: the newest come from the page cache, older ones from the disk; whether they could be read."""
        partition, name = self.topics[place[0]].partitions[place[1]], _segment(*place)
        kept = sum(each.size for topic in self.topics.values() for each in topic.partitions)  # integers
        mean = partition.mean_size()
        held = self._cached * partition.size / kept if kept else 0.0
        if (partition.end - at) * mean <= held + 1.0:
            return True
        size = int(count * mean)
        if self.folder.read(name, int((at - partition.start) * mean), size).error:
            self._failed(f"Error while reading records of {place[0]}-{place[1]}")
            return False
        self._cached = min(self._cached + size, kept)
        self._trim()
        return True

    def _take_large(self, largest: int, size: int, now: int) -> None:
        """Buffers of threads grow to the largest message, and stay; the heap fills with what is in flight."""
        self._largest = max(self._largest, largest)
        self._flying = (*((until, part) for until, part in self._flying if until > now), (now + FLIGHT_NS, size))
        inside = sum(part for _, part in self._flying)  # integers
        self._touched = min(self._heap, max(self._touched, int(TOUCHED * self._heap) + COPIES * inside))
        self._hold()

    def _memory(self) -> int:
        return NATIVE + self._touched + THREADS * self._largest + (TOOL if self._tool is not None else 0)

    def _hold(self) -> None:
        memory = self._memory()
        if self.server is not None and memory != self.server.spec.memory_base:
            self.server.spec = replace(self.server.spec, memory_base=memory)
            self.container.set_memory(memory)

    def begin_tool(self) -> bool:
        """A tool's JVM starts; whether the container bears it.

        Who starts a tool waits for its end: one that comes meanwhile is the next of a script or of a person, for whom
        the world stands still while a command runs. Its JVM takes the place of the one before.
        """
        self.container.use_cpu(TOOL_CPU_NS)
        if self._tool is not None:
            self._tool.cancel()
        self._tool = self.container.sim.after(TOOL_NS, self._end_tool)
        self._hold()
        return self.container.running

    def tool_ns(self) -> int:
        """How long a tool lasts that ends by itself: until its JVM is gone."""
        return TOOL_NS

    def _end_tool(self) -> None:
        self._tool = None
        if self.container.running:
            self._hold()

    def _clean(self) -> None:
        """Retention."""
        now = self.container.sim.now
        for topic in self.topics.values():
            kept_ms = self.retention_ms(topic.name)
            before = now - kept_ms * MILLISECOND if kept_ms >= 0 else -(1 << 62)
            most = self._setting("LOG_RETENTION_BYTES", -1)
            most = self._number_of(topic.name, "retention.bytes", "log.retention.bytes", most)
            for number, partition in enumerate(topic.partitions):
                if partition.expire(before, most):
                    self.say(
                        f"[UnifiedLog partition={topic.name}-{number}, dir={self.folder.path}] Incremented log start "
                        f"offset to {partition.start} due to segment deletion (kafka.log.UnifiedLog)"
                    )
        kept = sum(each.size for topic in self.topics.values() for each in topic.partitions)  # integers
        self._cached = min(self._cached, kept)

    # --- settings -------------------------------------------------------------------------

    @property
    def node_id(self) -> int:
        """`node.id`."""
        return self._setting("NODE_ID", 1)

    @property
    def advertised(self) -> str:
        """Host and port that clients are told (`advertised.listeners`)."""
        first = self.environment.get("KAFKA_ADVERTISED_LISTENERS", "").partition(",")[0]
        return first.partition("://")[2] or "localhost:9092"

    @property
    def controller_ports(self) -> tuple[int, ...]:
        """Where only controllers are spoken to."""
        name = self.environment.get("KAFKA_CONTROLLER_LISTENER_NAMES", "CONTROLLER")
        listeners = self.environment.get("KAFKA_LISTENERS", "CONTROLLER://:9093").split(",")
        ports = [each.rpartition(":")[2] for each in listeners if each.startswith(f"{name}://")]
        return tuple(int(port) for port in ports if port.isdigit())

    def setting(self, name: str, default: str) -> list[tuple[str, str]]:
        """A setting of the broker: where it comes from, and its value, what counts first."""
        found = [("DYNAMIC_DEFAULT_BROKER_CONFIG", self.configs[name])] if name in self.configs else []
        started = self.environment.get(f"KAFKA_{name.replace('.', '_').upper()}", "")
        return [*found, *([("STATIC_BROKER_CONFIG", started)] if started else []), ("DEFAULT_CONFIG", default)]

    def retention_ms(self, topic: str) -> int:
        """How long it keeps records of a topic; below zero: for ever."""
        hours = self._setting("LOG_RETENTION_HOURS", RETENTION_HOURS)
        started = self._setting("LOG_RETENTION_MS", hours * 3_600_000)
        return self._number_of(topic, "retention.ms", "log.retention.ms", started)

    def _largest_of(self, topic: str) -> int:
        return self._number_of(topic, "max.message.bytes", "message.max.bytes", self.message_max)

    def _number_of(self, topic: str, name: str, broker_name: str, started: int) -> int:
        """A number that a topic, the broker while it runs, or its start sets."""
        own = self.topics[topic].configs if topic in self.topics else {}
        text = own.get(name) or self.configs.get(broker_name, "")
        return int(text) if text.removeprefix("-").isdigit() else started

    def instant_of(self, unix_ms: int) -> int:
        """The simulated instant of a time stamp."""
        return unix_ms * MILLISECOND - unix_us(0) * 1000

    # --- groups ---------------------------------------------------------------------------

    def join(self, group: str, client: str, host: str, topics: tuple[str, ...]) -> str:
        """A consumer joins a group; its id."""
        for topic in topics:
            self.topic(topic)
        self._joined += 1
        key = mix(self._key, self._joined)
        digits = f"{key:016x}{mix(key, 1):016x}"
        identity = f"{client}-{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
        there = self.groups.setdefault(group, Group(group))
        self._expel(there)
        self.say(
            f"{_place(there)} Dynamic member with unknown member id joins group in {there.state} state. Created a new "
            f"member id {identity} and requesting the member to rejoin. {_MANAGER}"
        )
        there.join(identity, Member(client, host, topics, self.container.sim.now), self.topics)
        self._stabilized(there)
        return identity

    def leave_group(self, group: str, identity: str) -> None:
        """A consumer closes."""
        there = self.groups.get(group)
        if there is not None and identity in there.members:
            there.leave(identity, self.topics)
            self.say(
                f"{_place(there)} Member {identity} has left group through explicit `LeaveGroup` request. {_MANAGER}"
            )
            self._stabilized(there)

    def fetch(self, group: str, identity: str, most: int, positions: dict[Place, int]) -> list[Fetched] | None:
        """Records for a member from where it is, at most so many; None: it is not in the group any more.

        `positions` is filled with where it stands in what it was assigned.
        """
        there = self.groups.get(group)
        if there is not None:
            self._expel(there)
        if there is None or identity not in there.members:
            return None
        there.hear(identity, self.container.sim.now)
        found: list[Fetched] = []
        mine = there.places_of(identity)
        for place in [place for place in positions if place not in mine]:
            del positions[place]
        for place in mine:
            topic = self.topics.get(place[0])
            if topic is None:
                continue
            partition = topic.partitions[place[1]]
            at = positions.get(place, there.committed.get(place, partition.start))
            if not partition.start <= at <= partition.end:  # `auto.offset.reset` of all readers here: earliest
                at = partition.start
            positions[place] = at
            count = min(most, partition.end - at)
            if count > 0 and not self.readable(place, at, count):
                return None
            if count > 0:
                found.append(Fetched(place, at, count, partition.texts(at, count)))
                most -= count
        return found

    def commit(self, group: str, identity: str, positions: dict[Place, int]) -> None:
        """A member commits where it stands."""
        there = self.groups.get(group)
        if there is not None and identity in there.members:
            mine = {place: at for place, at in positions.items() if there.assigned.get(place) == identity}
            there.committed |= mine
            there.records += len(mine)

    def commit_alone(self, group: str, positions: dict[Place, int]) -> None:
        """Somebody who was a group's only member commits, and has left it again."""
        there = self.groups.setdefault(group, Group(group))
        if not self.settled(there).members:
            there.committed |= positions
            there.generation += 2
            there.records += 2 + len(positions)

    def settled(self, group: Group) -> Group:
        """A group without those that were not heard of."""
        self._expel(group)
        return group

    def _expel(self, group: Group) -> None:
        gone = group.put_out(self.container.sim.now)
        for identity in gone:
            del group.members[identity]
            self.say(f"{_place(group)} Member {identity} fenced from the group because its session expired. {_MANAGER}")
        if gone:
            self._share_out(group)

    def _share_out(self, group: Group) -> None:
        group.share_out(self.topics)
        self._stabilized(group)

    def _stabilized(self, group: Group) -> None:
        members = len(group.members)
        self.say(f"{_place(group)} Stabilized group generation {group.generation} with {members} members. {_MANAGER}")

    def say(self, text: str, level: str = "INFO") -> None:
        """A line of its log."""
        self.container.write(f"[{self.stamp()}] {level} {text}")

    def stamp(self) -> str:
        """Now, as log4j prints it."""
        return format_rfc3339(self.container.sim.now, digits=3).replace("T", " ").replace(".", ",")[:-1]

    def _setting(self, name: str, default: int) -> int:
        """A number that a variable of the image sets."""
        text = self.environment.get(f"KAFKA_{name}", "")
        return int(text) if text.removeprefix("-").isdigit() else default


_MANAGER = "(org.apache.kafka.coordinator.group.GroupMetadataManager)"


def _segment(topic: str, number: int) -> str:
    return f"{topic}-{number}/00000000000000000000.log"


def _place(group: Group) -> str:
    return f"[GroupCoordinator id=1 topic=__consumer_offsets partition={group.partition}] [GroupId {group.name}]"
