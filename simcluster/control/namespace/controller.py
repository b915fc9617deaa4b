"""The namespace controller.

Deletes everything in a Terminating namespace, says in conditions what is left and why, and
takes off the namespace's finalizer when nothing is.
Source: kubernetes pkg/controller/namespace (namespace_controller.go, deletion/).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json, condition_status, is_terminating, name_of, thaw, transition_time
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.control.pods.status import is_terminal
from simcluster.engine import SECOND, Simulation, format_rfc3339

_API_SERVICES = "apiservices.apiregistration.k8s.io"
#: namespaceDeletionGracePeriod: so that other API servers learn of the deletion first.
GRACE_PERIOD_NS = 5 * SECOND
#: finalizerEstimateSeconds: how long content that is held by finalizers may take.
FINALIZER_ESTIMATE_S = 15
FINALIZER = "kubernetes"

_FALSE_WORDS = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


def remaining_text(counts: Mapping[str, int]) -> str:
    """The message of NamespaceContentRemaining.

    >>> remaining_text({"pods.": 2, "configmaps.": 1})
    'Some resources are remaining: configmaps. has 1 resource instances, pods. has 2 resource instances'
    """
    parts = [f"{name} has {counts[name]} resource instances" for name in sorted(counts)]
    return "Some resources are remaining: " + ", ".join(parts)


def finalizers_text(counts: Mapping[str, int]) -> str:
    """The message of NamespaceFinalizersRemaining."""
    parts = [f"{name} in {counts[name]} resource instances" for name in sorted(counts)]
    return "Some content in the namespace has finalizers remaining: " + ", ".join(parts)


class NamespaceController(Controller):
    """Work-queue keys are namespaces."""

    name = "namespace-controller"
    workers = 10

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.watch("namespaces", self._on_namespace)

    def _on_namespace(self, change: Change) -> None:
        if change.kind != "DELETED" and is_terminating(change.object):
            self.queue.add_after(f"/{name_of(change.object)}", GRACE_PERIOD_NS)

    def sync(self, namespace: str, name: str) -> None:
        """Empty one namespace, or remove it."""
        current = self.client.cache.get("namespaces", "", name)
        if current is None or not is_terminating(current):
            return
        if FINALIZER not in ((current.get("spec") or {}).get("finalizers") or ()):
            return
        failures = self._delete_content(name)
        stale = _stale_versions(self.client.cache.objects(_API_SERVICES))
        remaining, finalizers, estimate_s = self._take_stock(name)
        current = self._write_conditions(current, failures, stale, remaining, finalizers)
        if stale:
            raise ApiError(503, "", "unable to retrieve the complete list of server APIs")  # comes back with back-off
        if not remaining and not failures:
            body = thaw(current)
            kept = [entry for entry in body["spec"]["finalizers"] if entry != FINALIZER]
            body["spec"]["finalizers"] = kept
            self.client.finalize(body)
            return
        self.queue.add_after(f"/{name}", (estimate_s // 2 + 1) * SECOND)

    def _delete_content(self, namespace: str) -> list[str]:
        failures: list[str] = []
        done: dict[str, None] = {}
        for resource in self.api.resources.all:
            if not resource.namespaced or "delete" not in resource.verbs or resource.storage in done:
                continue
            done[resource.storage] = None
            for obj in self.client.cache.objects(resource.storage, namespace):
                if is_terminating(obj):
                    continue
                try:
                    self.client.delete(resource.storage, namespace, name_of(obj), propagation="Background")
                except ApiError as error:
                    if error.code not in (404, 409):
                        failures.append(error.message)
        return failures

    def _take_stock(self, namespace: str) -> tuple[dict[str, int], dict[str, int], int]:
        """(objects left per `plural.group`, finalizers left, seconds it may take)."""
        remaining: dict[str, int] = {}
        finalizers: dict[str, int] = {}
        estimate_s = 0
        seen: dict[str, None] = {}
        for resource in self.api.resources.all:
            if not resource.namespaced or "delete" not in resource.verbs or resource.storage in seen:
                continue
            seen[resource.storage] = None
            objects = self.client.cache.objects(resource.storage, namespace)
            if not objects:
                continue
            remaining[f"{resource.plural}.{resource.group}"] = len(objects)
            for obj in objects:
                for finalizer in obj["metadata"].get("finalizers") or ():
                    finalizers[finalizer] = finalizers.get(finalizer, 0) + 1
                    estimate_s = max(estimate_s, FINALIZER_ESTIMATE_S)
            if resource.storage == "pods":
                estimate_s = max(estimate_s, *(_grace_s(pod) for pod in objects))
        return remaining, finalizers, estimate_s

    def _write_conditions(
        self,
        namespace: ApiObject,
        failures: list[str],
        stale: list[str],
        remaining: dict[str, int],
        finalizers: dict[str, int],
    ) -> ApiObject:
        verdicts: dict[str, tuple[str, str]] = {}
        if stale:
            listed = ", ".join(f"{version}: stale GroupVersion discovery: {version}" for version in stale)
            text = f"Discovery failed for some groups, {len(stale)} failing: "
            text += f"unable to retrieve the complete list of server APIs: {listed}"
            verdicts["NamespaceDeletionDiscoveryFailure"] = ("DiscoveryFailed", text)
        if failures:
            text = "Failed to delete all resource types, "
            text += f"{len(failures)} remaining: {'; '.join(sorted(failures))}"
            verdicts["NamespaceDeletionContentFailure"] = ("ContentDeletionFailed", text)
        if remaining:
            verdicts["NamespaceContentRemaining"] = ("SomeResourcesRemain", remaining_text(remaining))
        if finalizers:
            verdicts["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", finalizers_text(finalizers))
        changed = thaw(namespace)
        old = {entry.get("type"): entry for entry in (changed["status"].get("conditions") or [])}
        conditions: list[Json] = []
        for kind, words in _FALSE_WORDS.items():
            status = "True" if kind in verdicts else "False"
            reason, message = verdicts.get(kind, words)
            before = old.get(kind)
            since = transition_time(before, status, format_rfc3339(self.sim.now))
            conditions.append(
                {"type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message}
            )
        if conditions == (changed["status"].get("conditions") or []):
            return namespace
        changed["status"]["conditions"] = conditions
        return self.client.update_status("namespaces", changed)


def _grace_s(pod: Mapping[str, Any]) -> int:
    """Seconds a pod may take to end; a pod that has ended takes none."""
    if is_terminal(pod):
        return 0
    return int(pod["spec"].get("terminationGracePeriodSeconds") or 0)


def _stale_versions(apis: list[ApiObject]) -> list[str]:
    """The group versions whose resources nobody can tell now."""
    found = []
    for api_service in apis:
        if api_service["spec"].get("service") and condition_status(api_service, "Available") != "True":
            found.append(f"{api_service['spec']['group']}/{api_service['spec']['version']}")
    return sorted(found)
