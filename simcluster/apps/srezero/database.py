"""The database: a pool of connections, disks that answer so many reads a second, tables that bloat, a quota.

Reads go to the primary and to its replica alike, if that is enabled. A read waits for the disk, the longer the busier
it is (M/M/1: 1/(1 - utilization)); without an index a query reads the whole table. Rows that are updated leave dead
ones, which reads pass until the vacuum has taken them. A statement that takes longer than the time-out is cancelled.
All magnitudes are chosen, so that a healthy system shows about SRE-Zero's healthy figures (some 14 active connections,
reads of a few milliseconds) and its faults have its symptoms.

Left out: what is stored, replication lag, plans.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from simcluster.apps.srezero.tuned import Share, TunedProgram, changed, refusing
from simcluster.engine import MILLISECOND, arithmetic
from simcluster.models.traffic.cluster.operations import ServiceSpec

#: Reads a second that the disk of one instance answers, by which requests make how many, and how busy it is at most.
READS_PER_S, BUSIEST = 130.0, 0.985
READS = {"product": 1.0, "orders": 1.0, "report": 4.0, "consume": 1.0}
#: How long a request takes with disks at rest; a query without its index.
AT_REST_NS = {
    "product": 4 * MILLISECOND,
    "orders": 12 * MILLISECOND,
    "report": 500 * MILLISECOND,
    "consume": 20 * MILLISECOND,
}
WRITE_NS, SCAN_NS = 8 * MILLISECOND, 1100 * MILLISECOND
WRITES = ("write",)
INDEXES = {"product": "INDEX_PRODUCTS_SKU", "orders": "INDEX_ORDERS_USER_ID"}
#: A query takes three quarters of its mean time at least, and an exponential rest.
FIXED = 0.75
#: Requests that wait for a connection at most.
QUEUE_BOUND = 60
#: Dead rows as a share of the live ones: so much more for each write, at most; so much of it a second is vacuumed.
BLOAT_PER_WRITE, BLOAT_MOST, VACUUMED = 0.00025, 1.5, 0.05
#: What is stored in the beginning, GB, and what an order adds.
STORED_GB, ORDER_GB = 120.0, 0.00002


class DatabaseProgram(TunedProgram):
    """The main process of the database.

    Attributes:
        bloat: dead rows for each live one.
        stored_gb: what it stores.
        consumed: reads that came from the message queue in this second.
    """

    SETTINGS: ClassVar[Mapping[str, int | bool | str]] = {
        "DB_POOL_SIZE": 50,
        "QUERY_TIMEOUT_MS": 2000,
        "DISK_QUOTA_GB": 200,
        "MAINTENANCE_MODE": False,
        "READ_REPLICA_ENABLED": True,
        "AUTOVACUUM_ENABLED": True,
        "INDEX_ORDERS_USER_ID": True,
        "INDEX_PRODUCTS_SKU": True,
    }
    METRICS: ClassVar[Mapping[str, str]] = {
        "active_connections": "Connections that run a statement.",
        "max_connections": "Connections that there may be.",
        "connection_wait_ms": "How long a request waits for a connection.",
        "query_p95_latency_ms": "The 95th percentile of the time of a statement.",
        "read_iops": "Reads a second of all instances.",
        "read_primary_utilization_pct": "How busy the disk of the primary is.",
        "disk_used_pct": "Of the quota.",
        "table_bloat_pct": "Dead rows for a hundred live ones.",
        "write_error_rate": "Share of the writes that are refused.",
        "query_timeout_rate": "Share of the reports that are cancelled.",
    }
    bloat = 0.0
    stored_gb = STORED_GB
    consumed = 0.0
    _consuming = 0.0

    @property
    def reads_per_s(self) -> float:
        """Reads of all kinds."""
        asked = math.fsum(self.rates.get(name, 0.0) * reads for name, reads in READS.items())
        return (asked + self._consuming) * (1.0 + self.bloat)

    @property
    def utilization(self) -> float:
        """How busy a disk is."""
        instances = 2.0 if self.switch("READ_REPLICA_ENABLED") else 1.0
        return min(BUSIEST, self.reads_per_s / (READS_PER_S * instances))

    def time_ns(self, name: str) -> float:
        """How long a request takes once it has a connection."""
        if name in WRITES:
            return float(WRITE_NS)
        rest = AT_REST_NS[name]
        if name in INDEXES and not self.switch(INDEXES[name]):
            rest = SCAN_NS
        return rest / (1.0 - self.utilization)

    def late(self, name: str) -> float:
        """Share of the queries that are cancelled."""
        mean, limit = self.time_ns(name), self.number("QUERY_TIMEOUT_MS") * MILLISECOND
        fixed = FIXED * mean
        return 1.0 if limit <= fixed else arithmetic.exp((fixed - limit) / (mean - fixed))

    @property
    def is_full(self) -> bool:
        """Whether its disk takes nothing more."""
        return self.stored_gb >= self.number("DISK_QUOTA_GB")

    def move(self) -> None:
        """Rows die and are vacuumed; the consumers' reads of this second; who waits for a connection."""
        self.crowd(self.number("DB_POOL_SIZE"), QUEUE_BOUND)
        writes = 0.0 if self.is_full or self.switch("MAINTENANCE_MODE") else self.rates.get("write", 0.0)
        self.stored_gb += writes * ORDER_GB
        self.bloat = min(BLOAT_MOST, self.bloat + BLOAT_PER_WRITE * writes)
        if self.switch("AUTOVACUUM_ENABLED"):
            self.bloat -= self.bloat * VACUUMED
        self._consuming += 0.2 * (self.consumed - self._consuming)
        self.consumed = 0.0

    def state(self) -> tuple[float, ...]:
        """How long queries take, and whether it takes writes."""
        late = (self.late("report"), self.late("orders"), self.late("product"))
        return (1.0 / (1.0 - self.utilization), *late, float(self.is_full), self.refused, self.wait_s)

    def tuned(self, spec: ServiceSpec) -> ServiceSpec:
        """Its pool; what queries take, and which are cancelled or refused."""
        limit_ns = self.number("QUERY_TIMEOUT_MS") * MILLISECOND
        for name in AT_REST_NS:
            spread = 1.0 - FIXED
            spec = changed(spec, name, latency_ns=int(min(self.time_ns(name), limit_ns)), latency_cv=spread)
            late = self.late(name)
            if late > 0.0005:
                line = f"{{time_s}} ERROR query={name} error=statement_timeout limit_ms={limit_ns // MILLISECOND}"
                spec = _cancelled(spec, name, late, "canceling statement due to statement timeout", line)
        if self.switch("MAINTENANCE_MODE"):
            line = "{time_s} ERROR query=insert_order error=read_only_transaction maintenance_mode=true"
            spec = refusing(spec, "write", [Share(1.0, "cannot execute INSERT in a read-only transaction", 503, line)])
        if self.is_full:
            line = "{time_s} ERROR query=insert_order error=no_space_left_on_device"
            spec = refusing(spec, "write", [Share(1.0, "could not extend file: No space left on device", 503, line)])
        size = self.number("DB_POOL_SIZE")
        line = f"{{time_s}} ERROR connection pool exhausted pool_size={size} waiters={QUEUE_BOUND}"
        return self.crowded(spec, "timeout waiting for a connection", 500, line)

    def metrics(self) -> dict[str, float]:
        """What it knows of itself."""
        pool = float(self.number("DB_POOL_SIZE"))
        refused = self.is_full or self.switch("MAINTENANCE_MODE")
        return {
            "active_connections": min(self.busy, pool),
            "max_connections": pool,
            "connection_wait_ms": 1000.0 * self.wait_s,
            "query_p95_latency_ms": self.p95_ms,
            "read_iops": self.reads_per_s,
            "read_primary_utilization_pct": 100.0 * self.utilization,
            "disk_used_pct": 100.0 * self.stored_gb / max(1, self.number("DISK_QUOTA_GB")),
            "table_bloat_pct": 100.0 * self.bloat,
            "write_error_rate": 1.0 if refused else 0.0,
            "query_timeout_rate": self.late("report"),
        }


def _cancelled(spec: ServiceSpec, name: str, share: float, answer: str, line: str) -> ServiceSpec:
    """A share of the requests is given up after they have waited."""
    found = next(op for op in spec.operations if op.name == name)
    thrown = refusing(replace(spec, operations=(found,)), name, [Share(share, answer, 500, line)]).operations[0]
    return changed(spec, name, steps=(*found.steps, *thrown.steps[:1]))
