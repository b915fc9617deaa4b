"""How long writes take: at etcd's disk, and at the API server that waits for it.

A request takes no simulated time at the server; what it would take is known all the same: its own work at the share of
the CPU that the server is given, and the commit in etcd, which is as slow as an fsync on the node's drive is now. What
came since the last look is spread over the buckets by these laws every few seconds, so that buckets only grow.
Names, help texts and buckets: etcd 3.5, kube-apiserver 1.32. Left out: reads and watches, which are not counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simcluster.api.servermetrics import Counted
from simcluster.control.webclient import slowed
from simcluster.engine import MILLISECOND, SECOND, FlatDict, Simulation
from simcluster.models.machine.container import Container
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.storage.fileload import fsync_ns
from simcluster.models.machine.storage.service import Rates
from simcluster.models.traffic.cluster.spread import Scale, Spread, parts
from simcluster.telemetry.metrics.block import Sheet
from simcluster.telemetry.metrics.columns import Columns, Labels

if TYPE_CHECKING:
    from simcluster.world.apigate import GatedApi

#: How often what came is looked at.
LOOK_NS = 5 * SECOND
#: Work of the API server for a write (TLS, admission, encoding) and mean size of an entry of etcd's log; magnitudes.
WORK_NS, ENTRY_BYTES = 2 * MILLISECOND, 2_300
#: An fsync on the drive of a node that nobody has looked at yet: NVMe with a journal commit; a magnitude.
USUAL_FSYNC_NS = MILLISECOND
#: etcd commits its backend ten times a second, if there is something to commit (`--backend-batch-interval`).
COMMITS_PER_S = 10
_SQUARED_CV = 0.5
#: Looks that wait to be spread over buckets until somebody asks, at the most.
MOST_KEPT = 32
#: ExponentialBuckets(0.001, 2, 14) of etcd; those of kube-apiserver.
_DISK_S = tuple(0.001 * 2**power for power in range(14))
_REQUEST_S = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0),
    *(4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0),
)


REQUESTS = Scale(
    "apiserver_request_duration_seconds", "[STABLE] Response latency distribution in seconds for each verb, dry run "
    "value, group, version, resource, subresource, scope and component.", _REQUEST_S,
)  # fmt: skip
STORAGE = Scale("etcd_request_duration_seconds", "[ALPHA] Etcd request latency in seconds for each operation and "
                "object type.", _REQUEST_S)  # fmt: skip
FSYNC = Scale("etcd_disk_wal_fsync_duration_seconds", "The latency distributions of fsync called by WAL.", _DISK_S)
COMMIT = Scale(
    "etcd_disk_backend_commit_duration_seconds", "The latency distributions of commit called by backend.", _DISK_S
)
_OPERATIONS = {"POST": "create", "DELETE": "delete", "DELETECOLLECTION": "delete"}


class Came(NamedTuple):
    """Writes between two looks.

    Attributes:
        writes: how many.
        fsync_ns, work_ns: means of an fsync, and of the server's own work.
        served: how many requests of each kind.
    """

    writes: int
    fsync_ns: float
    work_ns: int
    served: tuple[tuple[Counted, int], ...]


class WriteDurations:
    """Durations of all writes since the processes began, as etcd and the API server tell them."""

    def __init__(self, sim: Simulation, api: GatedApi) -> None:
        self.sim, self.api = sim, api
        self._of_etcd, self._of_api = self._fresh()
        self._version = 0
        self._seen: dict[tuple[object, ...], int] = FlatDict()
        self._came: list[Came] = []  # what is not spread over the buckets yet
        self._containers: tuple[Container | None, Container | None] = (None, None)
        sim.every(LOOK_NS, self._settle)

    def _fresh(self) -> tuple[tuple[Spread, Spread], tuple[Spread, Spread]]:
        return (Spread(FSYNC), Spread(COMMIT)), (Spread(REQUESTS), Spread(STORAGE))

    def started(self, etcd: Container | None = None, server: Container | None = None) -> None:
        """A process has started: it has counted nothing yet."""
        self._spread()
        before = self._containers
        self._containers = (etcd or before[0], server or before[1])
        of_etcd, of_api = self._fresh()
        if etcd is not None:
            self._of_etcd, self._version = of_etcd, self.api.store.version
        if server is not None:
            self._of_api = of_api

    def etcd(self) -> dict[Columns, Sheet]:
        """What etcd shows."""
        self._spread()
        fsyncs, commits = self._of_etcd
        return {**fsyncs.sheets(), **commits.sheets()}

    def server(self) -> dict[Columns, Sheet]:
        """What the API server shows."""
        self._spread()
        requests, storage = self._of_api
        return {**requests.sheets(), **storage.sheets()}

    def _settle(self) -> None:
        """See what came since the last time, and by which laws it lasted."""
        version = self.api.store.version
        count, self._version = version - self._version, version
        if not count:
            return
        mean = self._fsync_ns(count)
        work = WORK_NS if self._containers[1] is None else slowed(self._containers[1], WORK_NS)
        served = []
        for key, total in self.api.served.counts.items():
            new = total - self._seen.get(key, 0)
            if new:
                self._seen[key] = total
                served.append((key, new))
        self._came.append(Came(count, mean, work, tuple(served)))
        if len(self._came) == MOST_KEPT:
            self._spread()

    def _spread(self) -> None:
        """Spread over the buckets what came."""
        came, laws = self._came, list[tuple[Scale, float, float]]()
        for one in came:
            mean, work = one.fsync_ns, one.work_ns
            variance = _SQUARED_CV * mean * mean
            laws += (
                (FSYNC, mean, variance),
                (COMMIT, 1.5 * mean, 2.25 * variance),
                (REQUESTS, mean + work, variance + _SQUARED_CV * work * work),
                (STORAGE, mean + MILLISECOND / 2, variance),
            )
        if not came:
            return
        found = iter(parts(laws))
        fsyncs, commits = self._of_etcd
        requests, storage = self._of_api
        for one, written, committed, whole, stored in zip(came, found, found, found, found, strict=True):
            fsyncs.add((), one.writes, written)
            commits.add((), min(one.writes, COMMITS_PER_S * LOOK_NS // SECOND), committed)
            for (verb, group, version, resource, subresource, scope, _), new in one.served:
                requests.add(_labels(verb, group, version, resource, subresource, scope), new, whole)
                kind = f"{resource}.{group}" if group else resource
                storage.add((("operation", _OPERATIONS.get(verb, "update")), ("type", kind)), new, stored)
        came.clear()

    def _fsync_ns(self, count: int) -> float:
        """What an fsync takes on etcd's drive now, beside everybody's load."""
        container = self._containers[0]
        machine = None if container is None else container.machine
        if not isinstance(machine, Machine) or machine.built_storage is None:
            return float(USUAL_FSYNC_NS)
        per_s = count * SECOND / LOOK_NS
        rates = Rates(writes=per_s, write_size=float(ENTRY_BYTES), fsyncs=per_s)
        return float(max(USUAL_FSYNC_NS // 4, fsync_ns(machine.files_at("/var/lib/etcd").disk, rates)))


def _labels(verb: str, group: str, version: str, resource: str, subresource: str, scope: str) -> Labels:
    return (
        ("component", "apiserver"), ("dry_run", ""), ("group", group), ("resource", resource), ("scope", scope),
        ("subresource", subresource), ("verb", verb), ("version", version),
    )  # fmt: skip
