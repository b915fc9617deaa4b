"""kube-state-metrics' process: it lists under its own account, and shows what its informers have seen.

Objects that have not changed keep what was made of them; a scrape in a calm cluster costs nothing. Left out: leases,
roles, certificates, webhook configurations, limit ranges, volume attachments; sharding; telemetry of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, name_of, namespace_of
from simcluster.api.server import Api
from simcluster.control.kubestatemetrics import infrastructure, pods, workloads
from simcluster.control.kubestatemetrics.sheet import Sheet
from simcluster.control.operator.connection import PodConnection
from simcluster.control.operator.failure import ConfigurationError
from simcluster.control.process import Process
from simcluster.engine import SECOND, FlatDict
from simcluster.models.machine.container import Container
from simcluster.models.machine.process import Answer, Call
from simcluster.models.machine.program import Program, WrappedProgram
from simcluster.telemetry.klog import klog_text
from simcluster.telemetry.metrics.columns import Exposed, Group, Row, Samples

PORT = 8080
#: What is watched, and what is made of an object.
MAKERS: Mapping[str, Callable[[ApiObject], Sheet]] = {
    "configmaps": infrastructure.configmap,
    "cronjobs.batch": workloads.cronjob,
    "daemonsets.apps": workloads.daemonset,
    "deployments.apps": workloads.deployment,
    "endpoints": infrastructure.endpoints,
    "horizontalpodautoscalers.autoscaling": workloads.autoscaler,
    "ingresses.networking.k8s.io": infrastructure.ingress,
    "jobs.batch": workloads.job,
    "namespaces": infrastructure.namespace,
    "networkpolicies.networking.k8s.io": infrastructure.networkpolicy,
    "nodes": infrastructure.node,
    "persistentvolumeclaims": infrastructure.claim,
    "persistentvolumes": infrastructure.volume,
    "poddisruptionbudgets.policy": workloads.budget,
    "pods": pods.pod,
    "replicasets.apps": workloads.replicaset,
    "resourcequotas": infrastructure.quota,
    "secrets": infrastructure.secret,
    "services": infrastructure.service,
    "statefulsets.apps": workloads.statefulset,
    "storageclasses.storage.k8s.io": infrastructure.storageclass,
}
#: A list that fails is tried again after so long (client-go's reflector starts at 0.8 s and doubles to 30 s).
_RETRY_NS = 5 * SECOND
Key = tuple[str, str, str]  # resource, namespace, name


class StateMetricsProgram(WrappedProgram):
    """The main process of a kube-state-metrics container."""

    def __init__(self, container: Container, inner: Program, api: Api) -> None:
        super().__init__(container, inner)
        self.api = api
        self.process = Process(container.sim)
        self._connection: PodConnection | None = None
        self._listed: dict[str, int] = FlatDict()  # resource -> version of its last change that was looked at
        self._known: dict[Key, tuple[ApiObject, dict[Group, Row]]] = FlatDict()
        self._shown = Exposed({}, (container.container_id, 0))

    def start(self) -> None:
        """The process was started."""
        self.inner.start()
        if self.container.running:
            self.process.after(SECOND, self._begin)

    def stop(self) -> None:
        """The process is gone."""
        self.process.end(self.api.store)
        self.inner.stop()

    def _begin(self) -> None:
        try:
            self._connection = PodConnection(self.api, self.container, "kube-state-metrics", qps=50, burst=100)
        except ConfigurationError as error:
            self._say("F", f'"Failed to run kube-state-metrics" err="{error}"')
            self.container.exit(1)
            return
        self._say("I", '"Starting kube-state-metrics self metrics server" telemetryAddress="[::]:8081"')
        self._list()

    def _list(self) -> None:
        connection = self._connection
        assert connection is not None
        for resource in MAKERS:
            if resource in self._listed:
                continue
            try:
                connection.list_once(resource)
            except ApiError as error:
                self._say("E", f'"Unhandled Error" err="failed to list {resource}: {error.message}"')
            else:
                self._listed[resource] = -1
        if len(self._listed) < len(MAKERS):
            self.process.after(_RETRY_NS, self._list)

    def exposition(self, call: Call) -> Samples | Answer | None:
        """All objects, as they were last seen."""
        if call.path != "/metrics" or call.port != PORT:
            return None
        if self._connection is not None and not self._connection.problem() and getattr(self.api, "available", True):
            self._look()
        return self._shown

    def _look(self) -> None:
        """See what has changed since the last scrape."""
        store, changed = self.api.store, dict[Group, Row | None]()
        for resource, seen in list(self._listed.items()):
            version = store.changed_at(resource)
            if version != seen:
                self._listed[resource] = version
                self._compare(resource, changed)
        if changed:
            before = self._shown
            samples = dict(before)
            for group, row in changed.items():
                if row is None:
                    samples.pop(group, None)
                else:
                    samples[group] = row
            mark = (before.mark[0], before.mark[1] + 1)
            self._shown = Exposed(samples, mark, before.mark, changed.items())

    def _compare(self, resource: str, changed: dict[Group, Row | None]) -> None:
        store, known, make = self.api.store, self._known, MAKERS[resource]
        objects = store.objects(resource)
        for obj in objects:
            key = (resource, namespace_of(obj), name_of(obj))
            entry = known.get(key)
            if entry is not None and entry[0] is obj:
                continue
            groups, before = make(obj).groups(), entry[1] if entry is not None else {}
            changed.update((group, None) for group in before if group not in groups)
            changed.update((group, row) for group, row in groups.items() if before.get(group) != row)
            known[key] = (obj, groups)
        if len(objects) < sum(key[0] == resource for key in known):  # integers
            there = {(resource, namespace_of(obj), name_of(obj)) for obj in objects}
            for key in [key for key in known if key[0] == resource and key not in there]:
                for group in known.pop(key)[1]:
                    changed.setdefault(group, None)

    def _say(self, level: str, text: str) -> None:
        self.container.write(klog_text(level, self.container.sim.now, "server.go:72", text), "stderr")
