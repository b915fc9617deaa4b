"""The API as components inside the cluster use it: typed verbs over `Api.handle`.

Every controller, the scheduler, each kubelet and kube-proxy has a `Client` of its own.
Writes are real requests (admission, validation, conflicts); reads of whole collections
are served like an informer's cache, straight from the store, and must not be changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from simcluster.api.store import Store

if TYPE_CHECKING:
    from simcluster.api.server import Api

_PATCH_TYPES = {"merge": MERGE_PATCH, "strategic": STRATEGIC_MERGE_PATCH, "json": JSON_PATCH}


class Client:
    """One component's connection to the API server.

    Args:
        api: the server.
        user: its identity, such as `system:node:worker-1`.
        agent: its user agent and default field manager, such as `kubelet`.
    """

    def __init__(self, api: Api, user: User, agent: str) -> None:
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
        return ApiObject(self._call("GET", resource, namespace, name))

    def create(self, resource: str, namespace: str, obj: Json) -> ApiObject:
        """Create; returns what was stored. Raises ApiError."""
        return ApiObject(self._call("POST", resource, namespace, "", body=obj))

    def update(self, resource: str, obj: Json) -> ApiObject:
        """Replace; a `metadata.resourceVersion` that is not the stored one is a conflict."""
        return ApiObject(self._call("PUT", resource, namespace_of(obj), name_of(obj), body=obj))

    def update_status(self, resource: str, obj: Json) -> ApiObject:
        """Replace `status` only."""
        return ApiObject(self._call("PUT", resource, namespace_of(obj), name_of(obj), "status", body=obj))

    def finalize(self, namespace: Json) -> ApiObject:
        """Replace `spec.finalizers` of a Namespace (the `finalize` subresource)."""
        return ApiObject(self._call("PUT", "namespaces", "", name_of(namespace), "finalize", body=namespace))

    def patch(
        self, resource: str, namespace: str, name: str, patch: Any, *, kind: str = "strategic", subresource: str = ""
    ) -> ApiObject:
        """Patch; `kind` is strategic, merge or json."""
        answer = self._call(
            "PATCH", resource, namespace, name, subresource, body=patch, content_type=_PATCH_TYPES[kind]
        )
        return ApiObject(answer)

    def apply(self, resource: str, namespace: str, name: str, wanted: Json, *, manager: str) -> ApiObject:
        """Server-side apply of what `manager` wants, taking over what others own."""
        query = (("fieldManager", manager), ("force", "true"))
        return ApiObject(
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

    def bind(self, pod: ApiObject, node: str) -> None:
        """Bind a pod to a node (the `binding` subresource)."""
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
        path = self.api.resources.path(resource, namespace, name, subresource)
        request = Request(method, path, query, body, content_type=content_type, user=self.user, user_agent=self.agent)
        response = self.api.handle(request)
        self.waited_ns += response.latency_ns
        if method != "GET":
            self.writes += 1
        if not response.ok:
            status = response.body
            raise ApiError(response.code, status.get("reason", ""), status["message"], status.get("details"))
        answer: Json = response.body
        return answer
