"""`tidb-controller-manager`: reconciles TidbClusters.

Source: tidb-operator v1.6, pkg/controller/tidbcluster. Components start one after the other:
PD, TiKV once PD has a majority, TiDB once a store is up. Left out: failover, TiFlash, TiCDC,
Pump, backups, volume resizing, TLS.
"""

from __future__ import annotations

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json, is_terminating, labels_of, name_of, thaw
from simcluster.apps.tidb.operator import status as observed
from simcluster.apps.tidb.operator.cluster import COMPONENTS, UPGRADE, Cluster
from simcluster.apps.tidb.operator.databaseclient import DatabaseClient
from simcluster.apps.tidb.operator.discovery import discovery_objects
from simcluster.apps.tidb.operator.scaling import Scaler
from simcluster.apps.tidb.operator.services import config_map, services
from simcluster.apps.tidb.operator.statefulsets import (
    LAST_APPLIED,
    applied,
    last_applied,
    same_template,
    stateful_set,
)
from simcluster.apps.tidb.operator.upgrading import Upgrader
from simcluster.apps.tidb.operator.validation import aggregate, problems
from simcluster.control.operator.failure import ReconcileError, Requeue
from simcluster.control.operator.operator import Operator, covers
from simcluster.engine import SECOND, format_rfc3339

SETS = "statefulsets.apps"
_ROLES = "rbac.authorization.k8s.io"


class TidbOperator(Operator):
    """TiDB Operator."""

    name = "tidb-controller-manager"
    resource = "tidbclusters.pingcap.com"
    kind = "*v1alpha1.TidbCluster"
    owns = (SETS,)
    reads = ("services", "configmaps", "endpoints", "pods", "persistentvolumeclaims", "persistentvolumes",
             "deployments.apps", "serviceaccounts", f"roles.{_ROLES}", f"rolebindings.{_ROLES}")  # fmt: skip
    lease = "tidb-controller-manager"
    #: ResyncDuration of its informers.
    resync_ns = 30 * SECOND

    def identity(self) -> str:
        """The pod's host name."""
        return self.container.spec.pod_name

    def started(self) -> None:
        """All caches are filled."""
        self.log("I", "main.go:235", "cache of informer factories sync successfully")
        self.log("I", "tidb_cluster_controller.go:79", "Starting tidbcluster controller")

    def on_error(self, key: str, error: Exception) -> None:
        """Requeue errors are no errors."""
        if isinstance(error, Requeue):
            text = f"TidbCluster: {key}, still need sync: {error}, requeuing"
            self.log("I", "tidb_cluster_controller.go:131", text)
        else:
            self.log("E", "tidb_cluster_controller.go:133", f"TidbCluster: {key}, sync failed {error}, requeuing")

    def sync(self, namespace: str, name: str) -> None:
        """Reconcile one TidbCluster."""
        found = self.get(self.resource, namespace, name)
        if found is None:
            self.log("I", "tidb_cluster_controller.go:153", f"TidbCluster has been deleted {namespace}/{name}")
            return
        if is_terminating(found):
            return
        cluster = Cluster(found)
        wrong = problems(cluster)
        if wrong:
            said = aggregate(wrong)
            text = f"tidb cluster {cluster.shown} is not valid and must be fixed first, aggregated error: {said}"
            self.log("E", "tidb_cluster_control.go:129", text)
            self.event(found, "Warning", "FailedValidation", said)
            return
        failures: list[ApiError | ReconcileError] = []
        try:
            self._reconcile(cluster)
        except (ApiError, ReconcileError) as error:
            failures.append(error)
        observed.update_conditions(cluster, self._revisions(cluster), self._now())
        try:
            self._write_status(cluster)
        except ApiError as error:
            failures.append(error)
        if failures:
            said = aggregate([str(failure) for failure in failures])
            calm = all(isinstance(failure, Requeue) for failure in failures)
            raise Requeue(said) if calm else ReconcileError(said)

    # One reconcile.

    def _reconcile(self, cluster: Cluster) -> None:
        self._sync_reclaim_policy(cluster)
        self._sync_discovery(cluster)
        database = DatabaseClient(self.client, cluster)
        for kind in COMPONENTS:
            if cluster.component(kind) is not None:
                self._sync_component(cluster, kind, database)

    def _sync_component(self, cluster: Cluster, kind: str, database: DatabaseClient) -> None:
        if kind == "tikv" and cluster.component("pd") is not None and not cluster.pd_is_available():
            raise Requeue(f"TidbCluster: [{cluster.shown}], waiting for PD cluster running")
        if kind == "tidb" and cluster.component("tikv") is not None and not cluster.tikv_is_available():
            raise Requeue(f"TidbCluster: [{cluster.shown}], waiting for TiKV cluster running")
        paused = bool(cluster.spec.get("paused"))
        if not paused:
            for service in services(cluster, kind):
                self._sync_service(cluster, service)
        existing = self.get(SETS, cluster.namespace, cluster.set_name(kind))
        if existing is not None:
            self._observe(cluster, kind, existing, database)
        if paused:
            return
        settings = config_map(cluster, kind)
        self._sync_config_map(cluster, settings)
        wanted = stateful_set(cluster, kind, name_of(settings))
        if existing is None:
            self._create_set(cluster, kind, wanted)
            return
        Scaler(self, cluster, database).scale(kind, existing, wanted)
        if not same_template(wanted, existing) or cluster.state(kind).get("phase") == UPGRADE:
            Upgrader(self, cluster, database).upgrade(kind, existing, wanted)
        self._update_set(cluster, existing, wanted)

    def _observe(self, cluster: Cluster, kind: str, existing: ApiObject, database: DatabaseClient) -> None:
        """Bring the component's part of the status up to date; what cannot be learnt stays as it was."""
        pods = self._pods(cluster, kind)
        observed.observe_set(cluster, kind, existing, pods)
        try:
            if kind == "pd":
                observed.observe_pd(cluster, database, self._now())
            elif kind == "tikv":
                observed.observe_stores(cluster, database, self._now())
            else:
                observed.observe_tidb(cluster, database, pods, self._now())
        except ReconcileError as error:
            endpoints = self.get("endpoints", cluster.namespace, cluster.set_name("pd"))
            why = observed.pd_problem(error, endpoints, cluster)
            self.log(
                "E",
                f"{kind}_member_manager.go:205",
                f"failed to sync TidbCluster: [{cluster.shown}]'s status, error: {why}",
            )

    def _create_set(self, cluster: Cluster, kind: str, wanted: Json) -> None:
        wanted["metadata"]["annotations"] = {LAST_APPLIED: applied(wanted["spec"])}
        self._create(cluster, SETS, wanted)
        cluster.state(kind)["statefulSet"] = {"replicas": 0}
        if kind == "pd":
            raise Requeue(f"TidbCluster: [{cluster.shown}], waiting for PD cluster running")

    def _update_set(self, cluster: Cluster, existing: ApiObject, wanted: Json) -> None:
        """Write replicas, template and strategy; claim templates cannot be changed and stay."""
        before, spec = last_applied(existing), wanted["spec"]
        same = all(before.get(key) == spec[key] for key in ("replicas", "template", "updateStrategy"))
        drifted = existing["spec"]["replicas"] != spec["replicas"]
        if same and not drifted:
            return
        changed = thaw(existing)
        for key in ("replicas", "template", "updateStrategy"):
            changed["spec"][key] = spec[key]
        annotations = changed["metadata"].setdefault("annotations", {})
        annotations[LAST_APPLIED] = applied({**before, **spec})
        where = f"{cluster.namespace}/{name_of(existing)}"
        try:
            self.client.update(SETS, changed)
        except ApiError as error:
            text = f"failed to update TidbCluster: [{cluster.shown}]'s StatefulSet: [{where}], error: {error}"
            self.log("E", "statefulset_control.go:89", text)
            raise
        text = f"TidbCluster: [{cluster.shown}]'s StatefulSet: [{where}] updated successfully"
        self.log("I", "statefulset_control.go:86", text)

    def _sync_service(self, cluster: Cluster, wanted: Json) -> None:
        existing = self.get("services", cluster.namespace, name_of(wanted))
        if existing is None:
            self._create(cluster, "services", wanted)
        elif not covers(existing["spec"], wanted["spec"]):
            patch = {"spec": wanted["spec"]}
            self.client.patch("services", cluster.namespace, name_of(wanted), patch, kind="merge")
            self._say(cluster, "update", wanted)

    def _sync_config_map(self, cluster: Cluster, wanted: Json) -> None:
        existing = self.get("configmaps", cluster.namespace, name_of(wanted))
        if existing is None:
            self.client.create("configmaps", cluster.namespace, wanted)
            self._say_generic(cluster, wanted)
        elif existing.get("data") != wanted["data"]:
            patch = {"data": wanted["data"]}
            self.client.patch("configmaps", cluster.namespace, name_of(wanted), patch, kind="merge")

    def _sync_discovery(self, cluster: Cluster) -> None:
        for resource, wanted in discovery_objects(cluster, self.container.spec.image):
            if self.get(resource, cluster.namespace, name_of(wanted)) is None:
                self.client.create(resource, cluster.namespace, wanted)
                self._say_generic(cluster, wanted)

    def _sync_reclaim_policy(self, cluster: Cluster) -> None:
        """The volumes of the cluster's claims get the cluster's reclaim policy."""
        policy = cluster.spec.get("pvReclaimPolicy") or "Retain"
        for claim in self.listed("persistentvolumeclaims", cluster.namespace):
            if labels_of(claim).get("app.kubernetes.io/instance") != cluster.name:
                continue
            volume = self.get("persistentvolumes", "", claim["spec"].get("volumeName") or "")
            if volume is not None and volume["spec"].get("persistentVolumeReclaimPolicy") != policy:
                patch = {"spec": {"persistentVolumeReclaimPolicy": policy}}
                self.client.patch("persistentvolumes", "", name_of(volume), patch, kind="merge")

    # Writing.

    def _create(self, cluster: Cluster, resource: str, wanted: Json) -> None:
        kind, name = wanted["kind"], name_of(wanted)
        said = f"create {kind} {name} in TidbCluster {cluster.name}"
        try:
            self.client.create(resource, cluster.namespace, wanted)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                self.event(cluster.object, "Warning", "FailedCreate", f"{said} failed error: {error}")
            raise
        self.event(cluster.object, "Normal", "SuccessfulCreate", f"{said} successful")

    def _say(self, cluster: Cluster, verb: str, obj: Json) -> None:
        said = f"{verb} {obj['kind']} {name_of(obj)} in TidbCluster {cluster.name} successful"
        self.event(cluster.object, "Normal", f"Successful{verb.title()}", said)

    def _say_generic(self, cluster: Cluster, obj: Json) -> None:
        """How its generic control words a creation."""
        said = f"create {obj['kind']}/{name_of(obj)} for controller TidbCluster/{cluster.name} successfully"
        self.event(cluster.object, "Normal", "Successfully Create", said)

    def _write_status(self, cluster: Cluster) -> None:
        if cluster.status == (cluster.object.get("status") or {}):
            return
        # The definition has no status subresource: the whole object is written.
        body = thaw(cluster.object)
        body["status"] = cluster.status
        self.client.update(self.resource, body)

    def _pods(self, cluster: Cluster, kind: str) -> list[ApiObject]:
        labels = cluster.labels(kind).items()
        return [pod for pod in self.listed("pods", cluster.namespace) if labels <= labels_of(pod).items()]

    def _revisions(self, cluster: Cluster) -> dict[str, tuple[str, str]]:
        found = {}
        for kind in COMPONENTS:
            existing = self.get(SETS, cluster.namespace, cluster.set_name(kind))
            if existing is not None:
                status = existing.get("status") or {}
                found[kind] = (status.get("currentRevision", ""), status.get("updateRevision", ""))
        return found

    def _now(self) -> str:
        return format_rfc3339(self.sim.now)
