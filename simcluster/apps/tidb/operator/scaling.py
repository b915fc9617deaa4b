"""Scaling: one member at a time, and none is taken away before the database has let go of it.

Source: tidb-operator v1.6, {pd,tikv,tidb}_scaler.go. Left out: delete slots, scale policies,
waiting for TiDB's graceful shutdown.
"""

from __future__ import annotations

from simcluster.api.objects import ApiObject, Json, is_pod_ready
from simcluster.apps.tidb.operator.cluster import UPGRADE, Cluster
from simcluster.apps.tidb.operator.databaseclient import DatabaseClient
from simcluster.control.operator.failure import ReconcileError, Requeue
from simcluster.control.operator.operator import Operator
from simcluster.engine import SECOND, format_rfc3339, parse_rfc3339

DEFER_DELETING = "tidb.pingcap.com/pvc-defer-deleting"
#: A store that never registered is given up after five resyncs.
_NEVER_REGISTERED_NS = 5 * 30 * SECOND


class Scaler:
    """Scales one component of one cluster during one reconcile."""

    def __init__(self, operator: Operator, cluster: Cluster, database: DatabaseClient) -> None:
        self.operator = operator
        self.cluster = cluster
        self.database = database

    def scale(self, kind: str, existing: ApiObject, wanted: Json) -> None:
        """Set `replicas` of the StatefulSet that is about to be written, at most one step away from now.

        Raises:
            ReconcileError: not now.
        """
        now, target = int(existing["spec"]["replicas"]), int(wanted["spec"]["replicas"])
        if now == target:
            return
        wanted["spec"]["replicas"] = now
        ordinal = now if target > now else now - 1
        direction = "out" if target > now else "in"
        self._say(
            f"scaling {direction} {kind} statefulset {self.cluster.namespace}/{self.cluster.set_name(kind)}, "
            f"ordinal: {ordinal} (replicas: {now + (1 if target > now else -1)}, delete slots: [])"
        )
        if target > now:
            self._out(kind, now)
            wanted["spec"]["replicas"] = now + 1
        elif self._in(kind, ordinal):
            wanted["spec"]["replicas"] = now - 1

    def _out(self, kind: str, ordinal: int) -> None:
        """Whether another member may come; a claim that was put aside is removed first."""
        cluster = self.cluster
        if kind == "pd":
            if not cluster.state("pd").get("synced"):
                raise ReconcileError(f"TidbCluster: {cluster.shown}'s pd status sync failed,can't scale out now")
            healthy = cluster.healthy_members("pd")
            if healthy < ordinal:
                raise ReconcileError(
                    f"TidbCluster: {cluster.shown}'s pd {healthy}/{ordinal} is ready, can't scale out now"
                )
        if kind == "tidb":
            return
        claim = self._claim(kind, ordinal)
        if claim is not None and DEFER_DELETING in (claim["metadata"].get("annotations") or {}):
            name = claim["metadata"]["name"]
            self.operator.client.delete("persistentvolumeclaims", cluster.namespace, name)

    def _in(self, kind: str, ordinal: int) -> bool:
        if kind == "pd":
            self._remove_member(ordinal)
        elif kind == "tikv" and not self._remove_store(ordinal):
            return False
        if kind != "tidb":
            self._put_aside(kind, ordinal)
        return True

    def _remove_member(self, ordinal: int) -> None:
        """Take a PD member out of the cluster; a leader hands over first."""
        cluster = self.cluster
        if not cluster.state("pd").get("synced"):
            raise ReconcileError(f"TidbCluster: {cluster.shown}'s pd status sync failed,can't scale in now")
        name = f"{cluster.set_name('pd')}-{ordinal}"
        if self.database.pd("leader")["name"] == name and ordinal > 0:
            self.database.pd(f"leader/transfer/{cluster.set_name('pd')}-0", "POST")
        if name in (cluster.state("pd").get("members") or {}):
            self.database.pd(f"members/name/{name}", "DELETE")
            self._say(f"pd scale in: delete member {name} successfully")

    def _remove_store(self, ordinal: int) -> bool:
        """Have PD empty a store; whether it has become a tombstone."""
        cluster, operator = self.cluster, self.operator
        if cluster.state("tikv").get("phase") == UPGRADE:
            self._say(
                f"the TidbCluster: [{cluster.shown}]'s tikv is upgrading,can not scale in until upgrade have completed"
            )
            return False
        name = f"{cluster.set_name('tikv')}-{ordinal}"
        shown = f"{cluster.namespace}/{name}"
        for store in (cluster.state("tikv").get("stores") or {}).values():
            if store["podName"] != name:
                continue
            number, state = store["id"], store["state"]
            if state != "Offline":
                self.database.pd(f"store/{number}", "DELETE")
                self._say(f"tikv scale in: delete store {number} for tikv {shown} successfully")
            raise Requeue(f"TiKV {shown} store {number} is still in cluster, state: {state}")
        for store in (cluster.state("tikv").get("tombstoneStores") or {}).values():
            if store["podName"] == name:
                self._say(f"TiKV {shown} store {store['id']} becomes tombstone")
                return True
        pod = operator.get("pods", cluster.namespace, name)
        if pod is not None and not is_pod_ready(pod):
            age = operator.sim.now - parse_rfc3339(pod["metadata"]["creationTimestamp"])
            if age >= _NEVER_REGISTERED_NS:
                return True
            raise ReconcileError(f"TiKV {shown} is not ready, wait for some resync periods to synced its status")
        raise ReconcileError(f"TiKV {shown} not found in cluster")

    def _put_aside(self, kind: str, ordinal: int) -> None:
        claim = self._claim(kind, ordinal)
        if claim is None:
            return
        now, name = format_rfc3339(self.operator.sim.now), claim["metadata"]["name"]
        patch = {"metadata": {"annotations": {DEFER_DELETING: now}}}
        self.operator.client.patch("persistentvolumeclaims", self.cluster.namespace, name, patch, kind="merge")
        shown = f"{self.cluster.namespace}/{name}"
        self._say(f"{kind} scale in: set pvc {shown} annotation: {DEFER_DELETING} to {now}")

    def _claim(self, kind: str, ordinal: int) -> ApiObject | None:
        name = f"{kind}-{self.cluster.set_name(kind)}-{ordinal}"
        return self.operator.get("persistentvolumeclaims", self.cluster.namespace, name)

    def _say(self, text: str) -> None:
        self.operator.log("I", "scaler.go:87", text)
