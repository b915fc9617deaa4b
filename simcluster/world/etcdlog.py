"""What etcd prints: zap's JSON, one object a line.

Compactions are asked for by the API server, every five minutes up to what was stored five minutes before
(--etcd-compaction-interval). Slow writes follow from the drive of its node. Left out: other members, peers, snapshots.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from simcluster.api.store import Store
from simcluster.engine import MILLISECOND, MINUTE, SECOND, Timer, format_rfc3339
from simcluster.engine.streams import mix
from simcluster.models.machine.container import Container
from simcluster.models.machine.machine import Machine
from simcluster.telemetry.logql.units import go_duration
from simcluster.telemetry.logs import LazyLines, LogLine, Reading

#: Period of compactions, and of looks at the drive.
COMPACTION_NS, LOOK_NS = 5 * MINUTE, 10 * SECOND
#: `warnApplyDuration` and `warnSyncDuration` of etcd 3.5.
SLOW_APPLY_NS, SLOW_SYNC_NS = 100 * MILLISECOND, SECOND
_FOLDER = "/var/lib/etcd"
#: Compactions of skipped time are kept by the day; what they print of one, and about how many bytes that are.
DAILY, LINES, BYTES = 288, 3, 600


def worded(t_ns: int, level: str, caller: str, message: str, **values: object) -> str:
    """One line."""
    line = {"level": level, "ts": format_rfc3339(t_ns, digits=6), "caller": caller, "msg": message, **values}
    return json.dumps(line, separators=(",", ":"))


def compaction(key: int, t_ns: int, revision: int) -> list[str]:
    """What a compaction prints; `key`: of the member's random stream."""
    took = MILLISECOND + mix(key, revision) % (9 * MILLISECOND)
    mark = mix(key, revision + 1) % (1 << 32)
    own = {"compact-revision": revision, "took": go_duration(took), "hash": mark}
    noted = {"hash": mark, "revision": revision, "compact-revision": max(0, revision - 500)}
    return [
        worded(t_ns, "info", "mvcc/index.go:214", "compact tree index", revision=revision),
        worded(t_ns, "info", "mvcc/kvstore_compaction.go:72", "finished scheduled compaction", **own),
        worded(t_ns, "info", "mvcc/hash.go:151", "storing new hash", **noted),
    ]


class Idle(NamedTuple):
    """Time that was skipped, in which versions grew evenly: instants, and versions at both."""

    since_ns: int
    until_ns: int
    before: int
    after: int

    def version(self, t_ns: int) -> int:
        """The newest one at an instant of it."""
        return self.before + (t_ns - self.since_ns) * (self.after - self.before) // (self.until_ns - self.since_ns)


class Compactions(LazyLines):
    """What compactions printed, one after the other from `first_ns` on; the first up to a revision of its own."""

    __slots__ = ("_count", "_first_ns", "_idle", "_key", "_revision")

    def __init__(self, key: int, idle: Idle, first_ns: int, count: int, revision: int) -> None:
        self._key, self._idle, self._first_ns, self._count, self._revision = key, idle, first_ns, count, revision

    def __reduce__(self):  # type: ignore[no-untyped-def]  # a tuple of all arguments
        return (Compactions, (self._key, self._idle, self._first_ns, self._count, self._revision))

    @property
    def size_bytes(self) -> int:
        """About how many."""
        return self._count * BYTES

    @property
    def count(self) -> int:
        """Lines."""
        return self._count * LINES

    @property
    def span(self) -> tuple[int, int]:
        """From just before the first to the last."""
        return self._first_ns - 1, self._first_ns + (self._count - 1) * COMPACTION_NS

    @property
    def streams(self) -> tuple[str, ...]:
        """zap's."""
        return ("stderr",)

    def lines(self, last: int | None = None, needle: str = "", reading: Reading | None = None) -> list[LogLine]:
        """The lines in order; of the last compactions only, if the last lines are enough."""
        begin = 0 if last is None else max(0, self._count - -(-last // LINES))
        found = []
        for index in range(begin, self._count):
            at_ns = self._first_ns + index * COMPACTION_NS
            revision = self._idle.version(at_ns - COMPACTION_NS) if index else self._revision
            found += [LogLine(at_ns, "stderr", text) for text in compaction(self._key, at_ns, revision)]
        return found


class EtcdLog:
    """The log of one member."""

    def __init__(self, container: Container, store: Store) -> None:
        self.container, self.store = container, store
        self._compact = 0  # revision of the next compaction
        sim = container.sim
        self._key = sim.streams.key("etcd compaction", container.container_id)
        self._timers: list[Timer] = [
            sim.every(COMPACTION_NS, self._compacted, first_ns=sim.now + COMPACTION_NS),
            sim.every(LOOK_NS, self._look, first_ns=sim.now + LOOK_NS),
        ]
        self._greet()

    def say(self, level: str, caller: str, message: str, **values: object) -> None:
        """One line."""
        self.container.write(worded(self.container.sim.now, level, caller, message, **values), "stderr")

    def end(self) -> None:
        """The process is gone; one that was asked to go says so."""
        for timer in self._timers:
            timer.cancel()
        if self.container.exit_code == 0:
            self.say("info", "osutil/interrupt_unix.go:64", "received signal; shutting down", signal="terminated")
            self.say("info", "embed/etcd.go:378", "closing etcd server", name=self.container.machine.name)

    def leapt(self, idle: Idle) -> None:
        """The skipped compactions, whose lines are worded when they are read."""
        first_ns = self._timers[0].at_ns
        first_ns -= (first_ns - idle.since_ns - 1) // COMPACTION_NS * COMPACTION_NS
        count = (self._timers[0].at_ns - first_ns) // COMPACTION_NS
        for begun in range(0, count, DAILY):
            at_ns, number = first_ns + begun * COMPACTION_NS, min(DAILY, count - begun)
            revision = idle.version(at_ns - COMPACTION_NS) if begun else self._compact
            lines = Compactions(self._key, idle, at_ns, number, revision)
            self.container.log.write_lazily(lines.span[1], lines)
            self._compact = idle.version(lines.span[1])

    def _greet(self) -> None:
        name, address = self.container.machine.name, self.container.machine.address
        revision = self.store.version
        self.say("info", "etcdmain/etcd.go:73", "Running: ", args=["etcd", f"--name={name}"])
        peers = {"listen-peer-urls": [f"https://{address}:2380"]}
        self.say("info", "embed/etcd.go:128", "configuring peer listeners", **peers)
        self.say(
            "info", "etcdserver/backend.go:81", "opened backend db", path=f"{_FOLDER}/member/snap/db", took="1.6ms"
        )
        restored = {"restored-compact-revision": max(0, revision - 1)}
        self.say("info", "mvcc/kvstore.go:389", "restored last compact revision", **restored)
        member = f"{mix(self.container.sim.streams.key('etcd', name), 0):x}"
        self.say("info", "raft/raft.go:692", f"{member} became leader at term 2", logger="raft")
        self.say("info", "embed/serve.go:103", "ready to serve client requests")
        serving = {"traffic": "grpc+http", "address": "127.0.0.1:2379"}
        self.say("info", "embed/serve.go:210", "serving client traffic securely", **serving)

    def _compacted(self) -> None:
        revision, self._compact = self._compact, self.store.version
        if not revision:
            return
        for text in compaction(self._key, self.container.sim.now, revision):
            self.container.write(text, "stderr")

    def _look(self) -> None:
        """A write takes as long as one on its drive: two in a row and a flush (WAL and backend)."""
        machine = self.container.machine
        assert isinstance(machine, Machine)
        storage = machine.built_storage
        if storage is None:
            return
        took = int(storage.mounts.at(_FOLDER).disk.write_ns())
        if took >= SLOW_SYNC_NS:
            own = {"took": go_duration(took), "expected-duration": go_duration(SLOW_SYNC_NS)}
            self.say("warn", "wal/wal.go:805", "slow fdatasync", **own)
        if took >= SLOW_APPLY_NS:
            key, revision = f'"/registry/leases/kube-node-lease/{machine.name}"', self.store.version
            header = f'ID:{mix(self.container.sim.now, revision) >> 1} username:"kube-apiserver-etcd-client"'
            compare = f"compare:<target:MOD key:{key} mod_revision:{revision} >"
            done = f"success:<request_put:<key:{key} value_size:465 >> failure:<request_range:<key:{key} > >"
            own = {"took": go_duration(took), "expected-duration": go_duration(SLOW_APPLY_NS), "prefix": ""}
            own |= {"request": f"header:<{header} > txn:<{compare} {done}>", "response": "size:16"}
            self.say("warn", "txn/util.go:93", "apply request took too long", **own)
