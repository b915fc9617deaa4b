"""What etcd prints: zap's JSON, one object a line.

Compactions are asked for by the API server, every five minutes up to what was stored five minutes before
(--etcd-compaction-interval). Slow writes follow from the drive of its node. Left out: other members, peers, snapshots.
"""

from __future__ import annotations

import json

from simcluster.api.store import Store
from simcluster.engine import MILLISECOND, MINUTE, SECOND, Timer, format_rfc3339
from simcluster.engine.streams import mix
from simcluster.models.machine.container import Container
from simcluster.models.machine.machine import Machine
from simcluster.telemetry.logql.units import go_duration

#: Period of compactions, and of looks at the drive.
COMPACTION_NS, LOOK_NS = 5 * MINUTE, 10 * SECOND
#: `warnApplyDuration` and `warnSyncDuration` of etcd 3.5.
SLOW_APPLY_NS, SLOW_SYNC_NS = 100 * MILLISECOND, SECOND
_FOLDER = "/var/lib/etcd"


class EtcdLog:
    """The log of one member."""

    def __init__(self, container: Container, store: Store) -> None:
        self.container, self.store = container, store
        self._compact = 0  # revision of the next compaction
        sim = container.sim
        self._timers: list[Timer] = [
            sim.every(COMPACTION_NS, self._compacted, first_ns=sim.now + COMPACTION_NS),
            sim.every(LOOK_NS, self._look, first_ns=sim.now + LOOK_NS),
        ]
        self._greet()

    def say(self, level: str, caller: str, message: str, **values: object) -> None:
        """One line."""
        stamp = format_rfc3339(self.container.sim.now, digits=6)
        line = {"level": level, "ts": stamp, "caller": caller, "msg": message, **values}
        self.container.write(json.dumps(line, separators=(",", ":")), "stderr")

    def end(self) -> None:
        """The process is gone; one that was asked to go says so."""
        for timer in self._timers:
            timer.cancel()
        if self.container.exit_code == 0:
            self.say("info", "osutil/interrupt_unix.go:64", "received signal; shutting down", signal="terminated")
            self.say("info", "embed/etcd.go:378", "closing etcd server", name=self.container.machine.name)

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
        key = self.container.sim.streams.key("etcd compaction", self.container.container_id)
        took = MILLISECOND + mix(key, revision) % (9 * MILLISECOND)
        mark = mix(key, revision + 1) % (1 << 32)
        self.say("info", "mvcc/index.go:214", "compact tree index", revision=revision)
        own = {"compact-revision": revision, "took": go_duration(took), "hash": mark}
        self.say("info", "mvcc/kvstore_compaction.go:72", "finished scheduled compaction", **own)
        noted = {"hash": mark, "revision": revision, "compact-revision": max(0, revision - 500)}
        self.say("info", "mvcc/hash.go:151", "storing new hash", **noted)

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
