"""Rolling upgrades: the operator lowers the StatefulSet's partition pod by pod, from the highest ordinal down.

The next pod follows only when the last one is a healthy member again. PD hands its leadership
over before its leader is replaced; TiKV waits for PD, TiDB for both.
Source: tidb-operator v1.6, {pd,tikv,tidb}_upgrader.go. Left out: evicting TiKV's region
leaders, forced upgrades.
"""

from __future__ import annotations

from simcluster.api.objects import ApiObject, Json, is_pod_ready, labels_of
from simcluster.apps.tidb.operator.cluster import UPGRADE, Cluster
from simcluster.apps.tidb.operator.databaseclient import DatabaseClient
from simcluster.apps.tidb.operator.statefulsets import last_applied, same_template
from simcluster.apps.tidb.operator.status import REVISION
from simcluster.control.operator.failure import ReconcileError, Requeue
from simcluster.control.operator.operator import Operator

_BEFORE = {"pd": (), "tikv": ("pd",), "tidb": ("pd", "tikv")}


class Upgrader:
    """Upgrades one component of one cluster during one reconcile."""

    def __init__(self, operator: Operator, cluster: Cluster, database: DatabaseClient) -> None:
        self.operator = operator
        self.cluster = cluster
        self.database = database

    def upgrade(self, kind: str, existing: ApiObject, wanted: Json) -> None:
        """Set template and partition of the StatefulSet that is about to be written.

        Raises:
            ReconcileError: not now.
        """
        cluster, state = self.cluster, self.cluster.state(kind)
        if any(cluster.component(k) is not None and cluster.state(k).get("phase") == UPGRADE for k in _BEFORE[kind]):
            before = last_applied(existing)
            if before.get("template"):
                wanted["spec"]["template"] = before["template"]
            self._keep_partition(existing, wanted)
            return
        if kind == "pd" and not state.get("synced"):
            raise ReconcileError(f"tidbcluster: [{cluster.shown}]'s pd status sync failed,can not to be upgraded")
        state["phase"] = UPGRADE
        if not same_template(wanted, existing):
            return  # first the new template, with the partition that upgrades nobody
        found = state.get("statefulSet") or {}
        if found.get("updateRevision") == found.get("currentRevision"):
            return
        strategy = existing["spec"].get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete" or not strategy.get("rollingUpdate"):
            wanted["spec"]["updateStrategy"] = dict(strategy)
            self.operator.log(
                "W",
                "upgrader.go:90",
                f"tidbcluster: [{cluster.shown}] {kind} statefulset {cluster.set_name(kind)} "
                "UpdateStrategy has been modified manually",
            )
            return
        self._keep_partition(existing, wanted)
        self._next(kind, existing, wanted, str(found.get("updateRevision", "")))

    def _keep_partition(self, existing: ApiObject, wanted: Json) -> None:
        strategy = existing["spec"].get("updateStrategy") or {}
        if wanted["spec"]["updateStrategy"].get("type") == "RollingUpdate" and strategy.get("rollingUpdate"):
            partition = strategy["rollingUpdate"].get("partition", 0)
            wanted["spec"]["updateStrategy"] = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}

    def _next(self, kind: str, existing: ApiObject, wanted: Json, revision: str) -> None:
        """Find the highest pod that is not upgraded; those above must be well."""
        cluster = self.cluster
        for ordinal in range(int(existing["spec"]["replicas"]) - 1, -1, -1):
            name = f"{cluster.set_name(kind)}-{ordinal}"
            pod = self.operator.get("pods", cluster.namespace, name)
            if pod is None:
                raise ReconcileError(f'pod "{name}" not found')
            if REVISION not in labels_of(pod):
                raise Requeue(f"tidbcluster: [{cluster.shown}]'s {kind} pod: [{name}] has no label: {REVISION}")
            if labels_of(pod)[REVISION] == revision:
                if not is_pod_ready(pod) or not self._is_well(kind, name):
                    raise Requeue(f"tidbcluster: [{cluster.shown}]'s {kind} upgraded pod: [{name}] is not ready")
                continue
            if kind == "pd":
                self._hand_over(ordinal, int(existing["spec"]["replicas"]))
            wanted["spec"]["updateStrategy"] = {"type": "RollingUpdate", "rollingUpdate": {"partition": ordinal}}
            return

    def _is_well(self, kind: str, pod: str) -> bool:
        state = self.cluster.state(kind)
        if kind == "tikv":
            return any(s["podName"] == pod and s["state"] == "Up" for s in (state.get("stores") or {}).values())
        member = (state.get("members") or {}).get(pod)
        return member is not None and bool(member["health"])

    def _hand_over(self, ordinal: int, replicas: int) -> None:
        cluster = self.cluster
        name = f"{cluster.set_name('pd')}-{ordinal}"
        if (cluster.state("pd").get("leader") or {}).get("name") != name or replicas < 2:
            return
        other = 0 if ordinal == replicas - 1 else replicas - 1
        target = f"{cluster.set_name('pd')}-{other}"
        self.database.pd(f"leader/transfer/{target}", "POST")
        self.operator.log("I", "pd_upgrader.go:152", f"pd upgrader: transfer pd leader to: {target} successfully")
        raise Requeue(
            f"tidbcluster: [{cluster.shown}]'s pd member: [{name}] is transferring leader to pd member: [{target}]"
        )
