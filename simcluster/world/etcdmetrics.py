"""Metrics of etcd: what it has committed and keeps.

Names and help texts: etcd 3.5. A single member always leads while it runs. Latencies of its disk: `durations`. Left
out: sizes, the network between members.
"""

from __future__ import annotations

from simcluster.api.store import Store
from simcluster.telemetry.metrics.columns import Columns, Group, Samples, counter, gauge

_ETCD = Columns(
    (
        gauge("etcd_server_has_leader", "Whether or not a leader exists. 1 is existence, 0 is not."),
        gauge("etcd_server_is_leader", "Whether or not this member is a leader. 1 if is, 0 otherwise."),
        counter("etcd_server_leader_changes_seen_total", "The number of leader changes seen."),
        gauge("etcd_server_proposals_committed_total", "The total number of consensus proposals committed."),
        gauge("etcd_server_proposals_applied_total", "The total number of consensus proposals applied."),
        gauge("etcd_server_proposals_pending", "The current number of pending proposals to commit."),
        counter("etcd_server_proposals_failed_total", "The total number of failed proposals seen."),
        gauge("etcd_debugging_mvcc_current_revision", "The current revision of store."),
        gauge("etcd_debugging_mvcc_keys_total", "Total number of keys."),
    )
)


def samples(store: Store) -> Samples:
    """Everything now."""
    version, keys = store.version, store.count_all(store.resources())
    return {Group(_ETCD): _ETCD.row((1, 1, 1, version, version, 0, 0, version, keys))}
