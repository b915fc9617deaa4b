"""The API as components inside the cluster use it: typed verbs over `Api.handle`.

Every controller, the scheduler, each kubelet and kube-proxy has a `Client` of its own.
Writes are real requests (admission, validation, conflicts); reads of whole collections
are served like an informer's cache, straight from the store, and must not be changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json, name_of, namespace_of
from simcluster.api.request import (
    APPLY_PATCH,
    JSON,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Query,
    Request,
    User,
)
from simcluster.api.routing import Route
from simcluster.api.serving import Serving
from simcluster.api.shortways import heartbeat, podcopies, recording, renewal, reporting
from simcluster.api.store import Store
from simcluster.api.subresources import binding

_PATCH_TYPES = {"merge": MERGE_PATCH, "strategic": STRATEGIC_MERGE_PATCH, "json": JSON_PATCH}


class Client:
    """One component's connection to the API server.

    Args:
        api: the server.
        user: its identity, such as `system:node:worker-1`.
        agent: its user agent and default field manager, such as `kubelet`.
    """

    def __init__(self, api: Serving, user: User, agent: str) -> None:
        self.api = api
        self.user = user
        self.agent = agent
        self.writes = 0
        self.waited_ns = 0  # for admission webhooks

    @property
    def cache(self) -> Store:
        """Reads without a request, as from an informer's cache. Read only."""
        return self.api.store

    def get(self, resource: str, namespace: str, name: str) -> ApiObject:
        """The object. Raises ApiError 404."""
        return _frozen(self._call("GET", resource, namespace, name))

    def create(self, resource: str, namespace: str, obj: Json) -> ApiObject:
        """Create; returns what was stored. Raises ApiError."""
        return _frozen(self._call("POST", resource, namespace, "", body=obj))

    def create_copy(self, owner: Json, make: Callable[[ApiObject], Json]) -> ApiObject:
        """Create a pod of the owner's `spec.template`, in its namespace. Raises ApiError.

        Args:
            owner: as it is stored.
            make: makes the pod; it looks at nothing else, and gives it no name.
        """
        manager = self.agent.partition("/")[0]
        stored = podcopies.create_copy(self.api, self.user, manager, owner) if self._reaches() else None
        if stored is not None:
            self.writes += 1
            return stored
        made = self.create("pods", namespace_of(owner), make(ApiObject(owner)))
        stored = self.api.store.get("pods", namespace_of(made), name_of(made))
        if stored is not None:
            self.api.pod_models.remember(owner, manager, stored)
        return made

    def update(self, resource: str, obj: Json) -> ApiObject:
        """Replace; a `metadata.resourceVersion` that is not the stored one is a conflict."""
        return _frozen(self._call("PUT", resource, namespace_of(obj), name_of(obj), body=obj))

    def update_status(self, resource: str, obj: Json) -> ApiObject:
        """Replace `status` only."""
        if resource in reporting.REPORTED and self._reaches():
            stored = reporting.replaced(self.api, self.user, self.agent.partition("/")[0], resource, obj)
            if stored is not None:
                self.writes += 1
                return stored
        return _frozen(self._call("PUT", resource, namespace_of(obj), name_of(obj), "status", body=obj))

    def finalize(self, namespace: Json) -> ApiObject:
        """Replace `spec.finalizers` of a Namespace (the `finalize` subresource)."""
        return _frozen(self._call("PUT", "namespaces", "", name_of(namespace), "finalize", body=namespace))

    def patch(
        self, resource: str, namespace: str, name: str, patch: Any, *, kind: str = "strategic", subresource: str = ""
    ) -> ApiObject:
        """Patch; `kind` is strategic, merge or json."""
        answer = self._call(
            "PATCH", resource, namespace, name, subresource, body=patch, content_type=_PATCH_TYPES[kind]
        )
        return _frozen(answer)

    def patch_status(self, resource: str, namespace: str, name: str, patch: Json) -> None:
        """Merge `patch` into `status`. Raises ApiError."""
        if resource in reporting.REPORTED and self._reaches():
            manager, key = self.agent.partition("/")[0], (namespace, name)
            if reporting.merged(self.api, self.user, manager, resource, key, patch) is not None:
                self.writes += 1
                return
        self.patch(resource, namespace, name, {"status": patch}, kind="merge", subresource="status")

    def renew(self, namespace: str, name: str, renew_time: str) -> None:
        """Patch nothing but `spec.renewTime` of a Lease (`2026-03-02T09:00:00.000000Z`). Raises ApiError."""
        if self._reaches() and renewal.renew(
            self.api, self.user, self.agent.partition("/")[0], (namespace, name), renew_time
        ):
            self.writes += 1
        else:
            self.patch(renewal.LEASES, namespace, name, {"spec": {"renewTime": renew_time}}, kind="merge")

    def beat(self, node: str, conditions: list[Json]) -> None:
        """Patch nothing but `status.conditions` of a Node. Raises ApiError."""
        if self._reaches() and heartbeat.beat(self.api, self.user, self.agent.partition("/")[0], node, conditions):
            self.writes += 1
        else:
            patch = {"status": {"conditions": conditions}}
            self.patch("nodes", "", node, patch, kind="merge", subresource="status")

    def record(self, namespace: str, event: Json) -> None:
        """Create an Event as `EventRecorder` writes it, which is the server's from here on. Raises ApiError."""
        if self._reaches() and recording.record(self.api, self.user, self.agent.partition("/")[0], event):
            self.writes += 1
        else:
            self.create(recording.EVENTS, namespace, event)

    def _reaches(self) -> bool:
        """Whether a request made now certainly arrives."""
        return True

    def apply(self, resource: str, namespace: str, name: str, wanted: Json, *, manager: str) -> ApiObject:
        """Server-side apply of what `manager` wants, taking over what others own."""
        query = (("fieldManager", manager), ("force", "true"))
        return _frozen(
            self._call("PATCH", resource, namespace, name, body=wanted, query=query, content_type=APPLY_PATCH)
        )

    def delete(
        self,
        resource: str,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        grace_period_s: int | None = None,
        propagation: str = "",
    ) -> None:
        """Delete; with `uid`, only the object of that uid. Raises ApiError 404, 409."""
        options: Json = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if uid:
            options["preconditions"] = {"uid": uid}
        if grace_period_s is not None:
            options["gracePeriodSeconds"] = grace_period_s
        if propagation:
            options["propagationPolicy"] = propagation
        self._call("DELETE", resource, namespace, name, body=options)

    def execute(self, namespace: str, pod: str, container: str, words: Sequence[str], stdin: str = "") -> Json:
        """Run a command in a container (the `exec` subresource): `stdout`, `stderr`, `code`. Raises ApiError."""
        query = [("command", word) for word in words] + [("container", container)]
        query += [("stdin", "true")] * bool(stdin) + [("stderr", "true"), ("stdout", "true")]
        body = {"stdin": stdin} if stdin else None
        return self._call("POST", "pods", namespace, pod, "exec", body=body, query=tuple(query))

    def bind(self, pod: ApiObject, node: str) -> None:
        """Bind a pod to a node (the `binding` subresource)."""
        if self._reaches() and binding.bind(self.api, self.user, pod, node):
            self.writes += 1
            return
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name_of(pod), "namespace": namespace_of(pod), "uid": pod["metadata"]["uid"]},
            "target": {"kind": "Node", "name": node},
        }
        self._call("POST", "pods", namespace_of(pod), name_of(pod), "binding", body=body)

    def _call(
        self,
        method: str,
        resource: str,
        namespace: str,
        name: str,
        subresource: str = "",
        *,
        body: Any = None,
        query: Query = (),
        content_type: str = JSON,
    ) -> Json:
        resources = self.api.resources
        path = resources.path(resource, namespace, name, subresource)
        entry = resources.by_name[resource]
        route = None
        if "/" not in name and "/" not in namespace:  # else the path means something else
            route = Route(entry, namespace if entry.namespaced else "", name, subresource)
        response = self.api.handle(
            Request(method, path, query, body, content_type, JSON, self.user, self.agent, None, "", route)
        )
        self.waited_ns += response.latency_ns
        if method != "GET":
            self.writes += 1
        if not response.ok:
            status = response.body
            raise ApiError(response.code, status.get("reason", ""), status["message"], status.get("details"))
        answer: Json = response.body
        return answer


def _frozen(answer: Json) -> ApiObject:
    """What the server has stored, or a made-up answer, as nobody may change it."""
    return answer if type(answer) is ApiObject else ApiObject(answer)
