"""Which pods a Service selects, kept up to date from watches.

An index of the cache, as informers keep them: it can be rebuilt from the API at any time
and only saves scanning a namespace for every pod that changes.
"""

from __future__ import annotations

from abc import abstractmethod

from simcluster.api.objects import ApiObject, is_pod_ready, is_terminating, labels_of, name_of, namespace_of
from simcluster.api.server import Api
from simcluster.api.store import Change, matches_labels
from simcluster.control.controller import Controller
from simcluster.control.pods.status import is_terminal
from simcluster.engine import Simulation, format_rfc3339, parse_rfc3339

LAST_CHANGE = "endpoints.kubernetes.io/last-change-trigger-time"
HEADLESS = "service.kubernetes.io/headless"


def pod_ip(pod: ApiObject) -> str:
    """`status.podIP`, or an empty text."""
    return str((pod.get("status") or {}).get("podIP") or "")


def belongs_to_endpoints(pod: ApiObject, *, with_terminating: bool) -> bool:
    """Whether a selected pod is an endpoint at all (endpointutil.ShouldPodBeInEndpoints)."""
    if is_terminal(pod) or not pod_ip(pod):
        return False
    return with_terminating or not is_terminating(pod)


def endpoint_changed(old: ApiObject, new: ApiObject) -> bool:
    """Whether a pod update matters to endpoints (endpointutil.podEndpointsChanged)."""
    return _endpoint_facts(old) != _endpoint_facts(new)


def _endpoint_facts(pod: ApiObject) -> tuple[object, ...]:
    spec = pod["spec"]
    return (
        pod_ip(pod),
        is_pod_ready(pod),
        is_terminal(pod),
        is_terminating(pod),
        spec.get("nodeName"),
        spec.get("hostname"),
        spec.get("subdomain"),
        labels_of(pod),
    )


def last_change(service: ApiObject, pods: list[ApiObject]) -> str:
    """RFC 3339 text of the latest change that the pods' conditions or the Service show."""
    latest = parse_rfc3339(service["metadata"]["creationTimestamp"])
    for pod in pods:
        for entry in (pod.get("status") or {}).get("conditions") or ():
            if entry.get("type") == "Ready" and entry.get("lastTransitionTime"):
                latest = max(latest, parse_rfc3339(entry["lastTransitionTime"]))
    return format_rfc3339(latest)


class SelectingController(Controller):
    """Base of the two controllers that follow a Service's pods. Keys are Services."""

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self._members: dict[str, dict[str, dict[str, None]]] = {}  # namespace -> service -> pods
        self._selectors: dict[str, dict[str, dict[str, str]]] = {}  # namespace -> service -> selector
        # (namespace, first label of the selector) -> services: who may select a pod at all
        self._by_label: dict[tuple[str, str, str], dict[str, None]] = {}
        self.watch("services", self._on_service)
        self.watch("pods", self._on_pod)
        self.watch(self.resource, self._on_result)

    @property
    @abstractmethod
    def resource(self) -> str:
        """What the controller writes."""

    @abstractmethod
    def service_of(self, result: ApiObject) -> str:
        """Name of the Service that an object of `resource` belongs to, or an empty text."""

    def selected(self, service: ApiObject) -> list[ApiObject]:
        """The pods that the Service selects, by name."""
        namespace = namespace_of(service)
        names = self._members.get(namespace, {}).get(name_of(service), {})
        found = [self.client.cache.get("pods", namespace, name) for name in sorted(names)]
        selector = service["spec"].get("selector") or {}
        return [pod for pod in found if pod is not None and matches_labels(pod, selector)]

    def _on_service(self, change: Change) -> None:
        namespace, name = namespace_of(change.object), name_of(change.object)
        selector = change.object["spec"].get("selector") or {}
        known = self._selectors.setdefault(namespace, {})
        if name in known and (known[name] != selector or change.kind == "DELETED"):
            label = (namespace, *next(iter(known[name].items())))
            self._by_label[label].pop(name)
            if not self._by_label[label]:
                del self._by_label[label]
        members = self._members.setdefault(namespace, {})
        if change.kind == "DELETED" or not selector:
            known.pop(name, None)
            members.pop(name, None)
        elif known.get(name) != selector:
            known[name] = selector
            self._by_label.setdefault((namespace, *next(iter(selector.items()))), {})[name] = None
            pods = self.client.cache.objects("pods", namespace)
            members[name] = {name_of(pod): None for pod in pods if matches_labels(pod, selector)}
        if not known:
            del self._selectors[namespace], self._members[namespace]
        self.enqueue(namespace, name)

    def _on_pod(self, change: Change) -> None:
        pod, old = change.object, change.previous
        namespace, name = namespace_of(pod), name_of(pod)
        members, selectors = self._members.get(namespace, {}), self._selectors.get(namespace)
        if not selectors or (change.kind == "MODIFIED" and old is not None and not endpoint_changed(old, pod)):
            return
        for service in self._candidates(namespace, pod, old):
            was = name in members[service]
            now = change.kind != "DELETED" and matches_labels(pod, selectors[service])
            if now:
                members[service][name] = None
            elif was:
                del members[service][name]
            if was or now:
                self.enqueue(namespace, service)

    def _candidates(self, namespace: str, pod: ApiObject, old: ApiObject | None) -> dict[str, None]:
        """Services whose selector may match the pod, as it is or as it was."""
        pairs = dict.fromkeys(labels_of(pod).items())
        if old is not None:
            pairs.update(dict.fromkeys(labels_of(old).items()))
        found: dict[str, None] = {}
        for key, value in pairs:
            found.update(self._by_label.get((namespace, key, value), {}))
        return found

    def _on_result(self, change: Change) -> None:
        """Somebody deleted or edited what this controller owns: put it right."""
        if change.kind == "ADDED":
            return
        name = self.service_of(change.object)
        if name:
            self.enqueue(namespace_of(change.object), name)
