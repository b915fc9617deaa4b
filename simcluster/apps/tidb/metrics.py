"""Programs of TiDB that count what they are asked for, and what they show to who scrapes them.

Names, labels and help texts: `metrics` of pingcap/tidb and pingcap/pd 4.0, tikv/tikv 4.0, client_golang's process
collector. Of a cluster's members only PD's leader knows of the stores. Left out: what the models do not know (plans,
regions and their peers, raft, RocksDB, durations).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simcluster.engine import SECOND
from simcluster.models.apps.server import ServerProgram
from simcluster.models.machine.container import Container
from simcluster.models.machine.process import Answer, Call
from simcluster.models.traffic.cluster.server import Server
from simcluster.telemetry.exposition import instant
from simcluster.telemetry.metrics.columns import Columns, Group, Row, Samples, counter, gauge, labels

_PROCESS = Columns(
    (
        counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds."),
        gauge("process_open_fds", "Number of open file descriptors."),
        gauge("process_resident_memory_bytes", "Resident memory size in bytes."),
        gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds."),
    )
)
_STATEMENTS = Columns((counter("tidb_executor_statement_total", "Counter of StmtNode by type."),))
_QUERIES = Columns((counter("tidb_server_query_total", "Counter of queries.", labels(result="OK", type="Query")),))
_COMMANDS = Columns((counter("tikv_storage_command_total", "Total number of commands received."),))
_ETCD = Columns(
    (
        gauge("etcd_server_has_leader", "Whether or not a leader exists. 1 is existence, 0 is not."),
        gauge("etcd_server_is_leader", "Whether or not this member is a leader. 1 if is, 0 otherwise."),
    )
)
#: States of stores, and what counts them.
_STATES = {
    "Up": "store_up_count",
    "Disconnected": "store_disconnected_count",
    "Down": "store_down_count",
    "Offline": "store_offline_count",
    "Tombstone": "store_tombstone_count",
}
_CLUSTER = Columns(
    (gauge("pd_cluster_status", "Status of the cluster.", *(labels(type=name) for name in _STATES.values())),)
)
#: What clients call the statements that this application's users send, and stores the commands.
_TYPES = {"select": "Select", "update": "Update", "insert": "Insert"}


class MeteredProgram(ServerProgram):
    """A program that counts its requests.

    Attributes:
        metrics_port: where it shows them.
    """

    metrics_port = 0

    def build_server(self) -> Server:
        """One that counts."""
        server = super().build_server()
        server.counts = [0] * len(server.spec.operations)
        return server

    def exposition(self, call: Call) -> Samples | Answer | None:
        """Its metrics, once it serves."""
        if self.server is None or (call.path, call.port) != ("/metrics", self.metrics_port):
            return None
        return self.samples()

    def samples(self) -> dict[Group, Row]:
        """All of them."""
        return of_process(self.container)


def of_process(container: Container) -> dict[Group, Row]:
    """What every program of Go and Rust shows of itself."""
    kernel = container.kernel
    numbers = (
        container.cpu_ns / SECOND, 0 if kernel is None else kernel.descriptors.held(container), container.memory_bytes,
        instant(container.started_ns),
    )  # fmt: skip
    return {Group(_PROCESS): _PROCESS.row(numbers)}


def of_tidb(container: Container, server: Server | None) -> dict[Group, Row]:
    """Statements by type, and all of them as queries of the text protocol."""
    found, total = of_process(container), 0
    for operation, count in _counted(server):
        found[Group(_STATEMENTS, labels(type=_TYPES.get(operation, operation)))] = _STATEMENTS.row((count,))
        total += count
    found[Group(_QUERIES)] = _QUERIES.row((total,))
    return found


def of_tikv(container: Container, server: Server | None) -> dict[Group, Row]:
    """Commands of its storage, by type; reads go to the coprocessor."""
    commands = [(operation, count) for operation, count in _counted(server) if operation != "coprocessor"]
    return of_process(container) | {
        Group(_COMMANDS, labels(type=operation)): _COMMANDS.row((count,)) for operation, count in commands
    }


def of_pd(container: Container, leader: str, states: Sequence[str]) -> dict[Group, Row]:
    """Whether there is a leader, by name; from him, `states` of stores."""
    leads = leader == container.spec.pod_name
    found = {**of_process(container), Group(_ETCD): _ETCD.row((bool(leader), leads))}
    if leads:
        found[Group(_CLUSTER)] = _CLUSTER.row([states.count(state) for state in _STATES])
    return found


def _counted(server: Server | None) -> Iterable[tuple[str, int]]:
    """Operations of a server and how many it was asked for."""
    if server is None or server.counts is None:
        return ()
    return zip([operation.name for operation in server.spec.operations], server.counts, strict=True)
