"""The status of a TidbCluster: what PD, the stores and the servers say, and the condition Ready.

Source: tidb-operator v1.6, sync*Status of the member managers and
pkg/controller/tidbcluster/tidb_cluster_condition_updater.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api.objects import ApiObject, Json, labels_of, name_of, thaw
from simcluster.apps.tidb.operator.cluster import COMPONENTS, NORMAL, SCALE, UPGRADE, Cluster
from simcluster.apps.tidb.operator.databaseclient import DatabaseClient
from simcluster.control.operator.failure import ReconcileError

REVISION = "controller-revision-hash"


def observe_set(cluster: Cluster, kind: str, existing: ApiObject, pods: list[ApiObject]) -> None:
    """Copy the StatefulSet's status and work out the phase. Scaling takes precedence over upgrading."""
    state = cluster.state(kind)
    found = thaw(existing.get("status") or {})
    state["statefulSet"] = found
    update = found.get("updateRevision", "")
    upgrading = bool(found.get("currentRevision")) and found["currentRevision"] != update
    replicas = existing["spec"]["replicas"]
    behind = existing["metadata"].get("generation", 0) > found.get("observedGeneration", 0)
    upgrading = upgrading or (behind and bool(found.get("currentRevision")) and replicas == found.get("replicas"))
    upgrading = upgrading or any(labels_of(pod).get(REVISION, update) != update for pod in pods)
    if cluster.replicas(kind) != replicas:
        state["phase"] = SCALE
    else:
        state["phase"] = UPGRADE if upgrading else NORMAL
    containers = existing["spec"]["template"]["spec"]["containers"]
    state["image"] = next((c["image"] for c in containers if c["name"] == kind), "")


def observe_pd(cluster: Cluster, database: DatabaseClient, now: str) -> None:
    """Members and leader, as PD tells. Raises ReconcileError when it does not answer."""
    state = cluster.state("pd")
    state["synced"] = False
    health = database.pd("health")
    cluster.status["clusterID"] = str(database.pd("cluster")["id"])
    leader = database.pd("leader")["name"]
    before = state.get("members") or {}
    members: Json = {}
    for member in health:
        name = member["name"]
        entry = {
            "name": name,
            "id": str(member["member_id"]),
            "clientURL": member["client_urls"][0],
            "health": member["health"],
        }
        members[name] = _since(entry, before.get(name), "health", now)
    state.update(synced=True, members=members, leader=members.get(leader, {}))


def observe_stores(cluster: Cluster, database: DatabaseClient, now: str) -> None:
    """The stores as PD knows them. Raises ReconcileError when it does not answer."""
    state = cluster.state("tikv")
    state["synced"] = False
    before = {**(state.get("stores") or {}), **(state.get("tombstoneStores") or {})}
    stores: Json = {}
    gone: Json = {}
    for entry in database.pd("stores")["stores"]:
        store = entry["store"]
        number, host = str(store["id"]), store["address"].partition(":")[0]
        found = {
            "id": number,
            "ip": host,
            "podName": host.partition(".")[0],
            "leaderCount": entry["status"]["leader_count"],
            "state": store["state_name"],
        }
        (gone if found["state"] == "Tombstone" else stores)[number] = _since(found, before.get(number), "state", now)
    state.update(synced=True, stores=stores, tombstoneStores=gone)
    if stores:
        state["bootStrapped"] = True


def observe_tidb(cluster: Cluster, database: DatabaseClient, pods: list[ApiObject], now: str) -> None:
    """Which servers answer."""
    state = cluster.state("tidb")
    before = state.get("members") or {}
    nodes = {name_of(pod): pod["spec"].get("nodeName", "") for pod in pods}
    members: Json = {}
    replicas = int((state.get("statefulSet") or {}).get("replicas") or 0)
    for ordinal in range(replicas):
        name = f"{cluster.set_name('tidb')}-{ordinal}"
        # Asking a pod that is not scheduled would only wait for its name; the answer is known.
        healthy = bool(nodes.get(name)) and database.tidb_is_healthy(name)
        entry: Json = {"name": name, "health": healthy}
        if nodes.get(name):
            entry["node"] = nodes[name]
        members[name] = _since(entry, before.get(name), "health", now)
    state["members"] = members


def _since(entry: Json, before: Mapping[str, Any] | None, key: str, now: str) -> Json:
    kept = before is not None and before.get(key) == entry[key]
    entry["lastTransitionTime"] = before["lastTransitionTime"] if before is not None and kept else now
    return entry


def update_conditions(cluster: Cluster, revisions: Mapping[str, tuple[str, str]], now: str) -> None:
    """Set the condition Ready; one of the same status and reason stays as it is."""
    status, reason, message = _readiness(cluster, revisions)
    conditions = cluster.status.get("conditions") or []
    before = next((c for c in conditions if c["type"] == "Ready"), None)
    if before is not None and (before["status"], before["reason"]) == (status, reason):
        return
    since = before["lastTransitionTime"] if before is not None and before["status"] == status else now
    condition = {
        "type": "Ready",
        "status": status,
        "lastUpdateTime": now,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }
    cluster.status["conditions"] = [*(c for c in conditions if c["type"] != "Ready"), condition]


def _readiness(cluster: Cluster, revisions: Mapping[str, tuple[str, str]]) -> tuple[str, str, str]:
    """`revisions`: current and update revision of each component's StatefulSet, if there is one."""
    for kind in COMPONENTS:
        if cluster.component(kind) is not None:
            current, update = revisions.get(kind, ("", ""))
            if not current or current != update:
                return "False", "StatefulSetNotUpToDate", "Statefulset(s) are in progress"
    if cluster.component("pd") is not None and not _all_healthy(cluster, "pd"):
        return "False", "PDUnhealthy", "PD(s) are not healthy"
    if cluster.component("tikv") is not None and cluster.stores_up() < cluster.replicas("tikv"):
        return "False", "TiKVStoreNotUp", "TiKV store(s) are not up"
    if cluster.component("tidb") is not None and not _all_healthy(cluster, "tidb"):
        return "False", "TiDBUnhealthy", "TiDB(s) are not healthy"
    return "True", "Ready", "TiDB cluster is fully up and running"


def _all_healthy(cluster: Cluster, kind: str) -> bool:
    members = cluster.state(kind).get("members") or {}
    return len(members) == cluster.replicas(kind) and cluster.healthy_members(kind) == len(members)


def pd_problem(error: ReconcileError, endpoints: ApiObject | None, cluster: Cluster) -> str:
    """Why PD's status is not known, with a hint if its Service leads nowhere."""
    if endpoints is not None and not any(subset.get("addresses") for subset in endpoints.get("subsets") or ()):
        return f"{error}, service {cluster.namespace}/{cluster.set_name('pd')} has no endpoints"
    return str(error)
