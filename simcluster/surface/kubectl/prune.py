"""`kubectl apply --prune`: deletes what was applied before with these labels and is not in the files any more.

Source: k8s.io/kubectl/pkg/cmd/apply/prune.go and pkg/util/prune.
"""

from __future__ import annotations

from simcluster.api.objects import Json
from simcluster.api.resources import Resource
from simcluster.surface.kubectl import klog
from simcluster.surface.kubectl.changing import Change
from simcluster.surface.kubectl.errors import StatusError, plain
from simcluster.surface.kubectl.flags import Arguments
from simcluster.surface.kubectl.invocation import Invocation, object_path, query_of

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

_NAMESPACED = (
    ("v1", "ConfigMap"),
    ("v1", "Endpoints"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "Pod"),
    ("v1", "ReplicationController"),
    ("v1", "Secret"),
    ("v1", "Service"),
    ("batch/v1", "Job"),
    ("batch/v1", "CronJob"),
    ("networking.k8s.io/v1", "Ingress"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
)
_CLUSTER = (("v1", "Namespace"), ("v1", "PersistentVolume"))
_DEPRECATED = (
    "Deprecated: kubectl apply will no longer prune non-namespaced resources by default when used with the "
    "--namespace flag in a future release. To preserve the current behaviour, list the resources you want to target "
    "explicitly in the --prune-allowlist flag."
)
POLICIES = {
    "background": "Background",
    "true": "Background",
    "orphan": "Orphan",
    "false": "Orphan",
    "foreground": "Foreground",
}


def check(arguments: Arguments) -> None:
    """Refuse a prune that is not limited by a selector or --all. Raises KubectlError."""
    if not arguments.on("prune"):
        return
    if not arguments.text("selector") and not arguments.on("all"):
        raise plain(
            "all resources selected for prune without explicitly passing --all. To prune all resources, pass the "
            "--all flag. If you did not mean to prune all resources, specify a label selector"
        )


class Pruning:
    """One run of a prune.

    Args:
        kept: uids of the objects that were applied just now, and `namespaces` where they are.
    """

    def __init__(self, change: Change, kept: list[str], namespaces: list[str]) -> None:
        self.change = change
        self.invocation: Invocation = change.invocation
        self.kept = kept
        self.namespaces = namespaces

    def run(self) -> None:
        """Prune everything of the allowed kinds."""
        resources = self._resources()
        for namespace in sorted(self.namespaces):
            for resource in resources:
                if resource.namespaced:
                    self._prune(resource, namespace)
        for resource in resources:
            if not resource.namespaced:
                self._prune(resource, "")

    def _resources(self) -> list[Resource]:
        allowed = self.change.arguments.texts("prune-allowlist")
        wanted = [_kind(text) for text in allowed] if allowed else [*_NAMESPACED, *_CLUSTER]
        if not allowed and self.invocation.explicit_namespace:
            self.invocation.note(klog.line(self.invocation.clock.now, "W", "prune.go:71", _DEPRECATED))
        found = []
        for version, kind in wanted:
            resource = self.invocation.discovery.of_kind(self.invocation.send_free, version, kind)
            if resource is not None:
                found.append(resource)
        return found

    def _prune(self, resource: Resource, namespace: str) -> None:
        query = query_of(labelSelector=self.change.arguments.text("selector"), limit=500)
        for obj in self.invocation.items(object_path(resource, namespace), query):
            metadata = obj["metadata"]
            if LAST_APPLIED not in (metadata.get("annotations") or {}) or metadata["uid"] in self.kept:
                continue
            self._delete(resource, namespace, obj)
            self.change.report(resource, obj, "pruned")

    def _delete(self, resource: Resource, namespace: str, obj: Json) -> None:
        arguments = self.change.arguments
        if self.change.mode == "client":
            return
        options = delete_options(arguments)
        if self.change.mode == "server":
            options["dryRun"] = ["All"]
        try:
            self.invocation.ask("DELETE", object_path(resource, namespace, obj["metadata"]["name"]), body=options)
        except StatusError as error:
            if error.reason != "NotFound":
                raise


def delete_options(arguments: Arguments) -> Json:
    """What `--cascade` and `--grace-period` mean; no grace at all is one second, unless a delete is forced."""
    options: Json = {"propagationPolicy": POLICIES.get(arguments.text("cascade"), "Background")}
    if arguments.number("grace-period") >= 0:
        options["gracePeriodSeconds"] = max(1, arguments.number("grace-period"))
    return options


def _kind(text: str) -> tuple[str, str]:
    parts = text.split("/")
    if len(parts) != 3:
        raise plain(f"invalid GroupVersionKind format: {text}, please follow <group/version/kind>")
    group, version, kind = parts
    return (f"{group}/{version}" if group not in ("", "core") else version), kind
