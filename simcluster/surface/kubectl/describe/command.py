"""`kubectl describe`: finds the objects and lets the describer of their kind fill a page."""

from __future__ import annotations

from collections.abc import Callable

from simcluster.api.objects import Json
from simcluster.surface.kubectl.describe import (
    access,
    autoscaling,
    batch,
    certificates,
    config,
    generic,
    namespace,
    network,
    node,
    pod,
    policies,
    sets,
    storage,
    workloads,
)
from simcluster.surface.kubectl.describe.page import Page
from simcluster.surface.kubectl.errors import KubectlError, StatusError, plain
from simcluster.surface.kubectl.flags import ALL_NAMESPACES, FILES, SELECTOR, Arguments, Flag, switch
from simcluster.surface.kubectl.invocation import Failures, Invocation, query_of
from simcluster.surface.kubectl.printers.tabwriter import align
from simcluster.surface.kubectl.selection import (
    Target,
    Wanted,
    check_given,
    nest,
    of_arguments,
    of_files,
)
from simcluster.surface.kubectl.typedforms import walkable

FLAGS = (
    ALL_NAMESPACES,
    Flag("chunk-size", kind="int", default="500"),
    *FILES,
    SELECTOR,
    switch("show-events", default="true"),
)

Describer = Callable[[Page, Json], None]

DESCRIBERS: dict[str, Describer] = {
    "certificatesigningrequests.certificates.k8s.io": certificates.signing_request,
    "clusterrolebindings.rbac.authorization.k8s.io": access.binding,
    "clusterroles.rbac.authorization.k8s.io": access.role,
    "configmaps": config.config_map,
    "cronjobs.batch": batch.cron_job,
    "daemonsets.apps": sets.daemon_set,
    "deployments.apps": workloads.deployment,
    "endpoints": network.endpoints,
    "endpointslices.discovery.k8s.io": network.endpoint_slice,
    "horizontalpodautoscalers.autoscaling": autoscaling.autoscaler,
    "ingressclasses.networking.k8s.io": policies.ingress_class,
    "ingresses.networking.k8s.io": policies.ingress,
    "jobs.batch": batch.job,
    "limitranges": namespace.limit_range,
    "namespaces": namespace.namespace,
    "networkpolicies.networking.k8s.io": policies.network_policy,
    "nodes": node.node,
    "persistentvolumeclaims": storage.claim,
    "persistentvolumes": storage.volume,
    "poddisruptionbudgets.policy": policies.disruption_budget,
    "pods": pod.pod,
    "priorityclasses.scheduling.k8s.io": policies.priority_class,
    "replicasets.apps": workloads.replica_set,
    "replicationcontrollers": workloads.replication_controller,
    "resourcequotas": namespace.quota,
    "rolebindings.rbac.authorization.k8s.io": access.binding,
    "roles.rbac.authorization.k8s.io": access.role,
    "secrets": config.secret,
    "serviceaccounts": config.service_account,
    "services": network.service,
    "statefulsets.apps": sets.stateful_set,
    "storageclasses.storage.k8s.io": storage.storage_class,
}


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl describe`."""
    words = arguments.positional
    files = bool(arguments.texts("filename") or arguments.text("kustomize"))
    if not words and not files:
        raise plain(
            'You must specify the type of resource to describe. Use "kubectl api-resources" for a complete list of '
            "supported resources."
        )
    check_given(arguments, words)
    everywhere = arguments.on("all-namespaces")
    failures = Failures()
    if files:
        wanted = of_files(invocation, arguments, failures)
        nest(failures)
    else:
        wanted = of_arguments(invocation, words, all_namespaces=everywhere)
    targets: list[Target] = []
    for entry in wanted:
        failures.attempt(_Gather(invocation, entry, arguments, targets, by_prefix=len(words) == 2).gather)
    pages: list[str] = []
    for target in targets:
        failures.attempt(_Description(invocation, target, arguments.on("show-events"), pages).make)
    by_prefix = bool(targets) and any(
        entry.name and entry.name != target.name for entry in wanted for target in targets
    )
    invocation.write("".join(page + "\n" for page in pages) if by_prefix and len(wanted) == 1 else "\n\n".join(pages))
    if not targets and not failures.errors:
        where = "" if everywhere else f" in {invocation.namespace} namespace."
        invocation.note(f"No resources found{where}")
    failures.raise_all()


class _Gather:
    """Reads the objects of one entry; a name that does not exist may be a prefix."""

    def __init__(
        self, invocation: Invocation, entry: Wanted, arguments: Arguments, targets: list[Target], *, by_prefix: bool
    ) -> None:
        self.invocation = invocation
        self.entry = entry
        self.query = query_of(labelSelector=arguments.text("selector"), limit=arguments.number("chunk-size"))
        self.targets = targets
        self.by_prefix = by_prefix

    def gather(self) -> None:
        entry = self.entry
        if not entry.name:
            self._take(self.invocation.items(entry.path, self.query))
            return
        try:
            self._take([self.invocation.named(entry.path)])
        except StatusError as error:
            if error.reason != "NotFound" or not self.by_prefix:
                raise
            self._take(self._with_prefix(error))

    def _with_prefix(self, error: KubectlError) -> list[Json]:
        collection = Wanted(self.entry.resource, self.entry.namespace).path
        items = self.invocation.items(collection, query_of(limit=500))
        found = [obj for obj in items if obj["metadata"]["name"].startswith(self.entry.name)]
        if not found:
            raise error
        return found

    def _take(self, objects: list[Json]) -> None:
        for obj in objects:
            metadata = obj["metadata"]
            self.targets.append(Target(self.entry.resource, metadata.get("namespace", ""), metadata["name"], obj))


class _Description:
    """Fills one page."""

    def __init__(self, invocation: Invocation, target: Target, show_events: bool, pages: list[str]) -> None:
        self.page = Page(invocation, show_events=show_events)
        self.target = target
        self.pages = pages

    def make(self) -> None:
        describer, obj = DESCRIBERS.get(self.target.resource.name), self.target.obj
        if describer is None:
            generic.generic(self.page, obj)
        else:
            describer(self.page, walkable(obj))
        self.pages.append(align(self.page.raw))
