"""The API server: one entry, `Api.handle(request) -> response`."""

from __future__ import annotations

from simcluster.api import errors
from simcluster.api.errors import ApiError
from simcluster.api.objects import Json, thaw
from simcluster.api.request import Request, Response
from simcluster.api.resources import BUILT_IN, Resource, ResourceTable
from simcluster.api.store import Store
from simcluster.engine import Simulation, format_rfc3339


class Api:
    """The API server of one cluster.

    INTERIM: just enough semantics for controllers and kubelets to be written against.
    """

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.store = Store(sim)
        self.resources: ResourceTable = BUILT_IN
        self._uids = sim.stream("uid")

    def handle(self, request: Request) -> Response:
        """Serve one request at the present instant."""
        try:
            return self._serve(request)
        except ApiError as error:
            return Response(error.code, error.status())

    def _serve(self, request: Request) -> Response:
        resource, namespace, name, subresource = self._route(request.path)
        store = self.store
        if request.method == "POST" and subresource == "binding":
            pod = thaw(self._need(resource, namespace, name))
            pod["spec"]["nodeName"] = request.body["target"]["name"]
            conditions = pod.setdefault("status", {}).setdefault("conditions", [])
            conditions.append(
                {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": self._time()}
            )
            store.put(resource.name, pod)
            return Response(201, {"kind": "Status", "apiVersion": "v1", "status": "Success", "code": 201})
        if request.method == "POST":
            obj = thaw(request.body)
            metadata = obj.setdefault("metadata", {})
            if "generateName" in metadata and not metadata.get("name"):
                metadata["name"] = metadata["generateName"] + self._uids.text("bcdfghjklmnpqrstvwxz2456789", 5)
            if resource.namespaced:
                metadata["namespace"] = namespace
            if store.get(resource.name, namespace, metadata["name"]):
                raise errors.already_exists(resource.name, metadata["name"])
            metadata["uid"] = f"{self._uids.bits():016x}"
            metadata["creationTimestamp"] = self._time()
            metadata["generation"] = 1
            obj.setdefault("apiVersion", resource.api_version)
            obj.setdefault("kind", resource.kind)
            return Response(201, store.put(resource.name, obj))
        if request.method == "GET" and not name:
            items = store.objects(resource.name, namespace)
            return Response(
                200,
                {
                    "kind": resource.kind + "List",
                    "apiVersion": resource.api_version,
                    "metadata": {"resourceVersion": str(store.version)},
                    "items": items,
                },
            )
        current = self._need(resource, namespace, name)
        if request.method == "GET":
            return Response(200, current)
        if request.method in ("PUT", "PATCH"):
            new = thaw(request.body) if request.method == "PUT" else _merge(thaw(current), request.body)
            version = new["metadata"].get("resourceVersion")
            if version and version != current["metadata"]["resourceVersion"]:
                raise errors.stale(resource.name, name)
            if subresource == "status":
                new = {**thaw(current), "status": new.get("status", {})}
            else:
                if "status" in resource.subresources:
                    new["status"] = thaw(current).get("status", {})
                if new.get("spec") != current.get("spec"):
                    new["metadata"]["generation"] = current["metadata"].get("generation", 1) + 1
            if new == current:
                return Response(200, current)
            return Response(200, store.put(resource.name, new))
        if request.method == "DELETE":
            options: Json = request.body or {}
            if resource.plural == "pods" and current["spec"].get("nodeName") and options.get("gracePeriodSeconds") != 0:
                grace = options.get("gracePeriodSeconds", current["spec"].get("terminationGracePeriodSeconds", 30))
                pod = thaw(current)
                pod["metadata"]["deletionTimestamp"] = format_rfc3339(self.sim.now + grace * 10**9)
                pod["metadata"]["deletionGracePeriodSeconds"] = grace
                return Response(200, store.put(resource.name, pod))
            return Response(200, store.remove(resource.name, namespace, name))
        raise errors.method_not_supported(resource.name, request.method.lower())

    def _need(self, resource: Resource, namespace: str, name: str) -> Json:
        found = self.store.get(resource.name, namespace if resource.namespaced else "", name)
        if found is None:
            raise errors.not_found(resource.name, name)
        return found

    def _time(self) -> str:
        return format_rfc3339(self.sim.now)

    def _route(self, path: str) -> tuple[Resource, str, str, str]:
        parts = path.strip("/").split("/")
        group, version, rest = ("", parts[1], parts[2:]) if parts[0] == "api" else (parts[1], parts[2], parts[3:])
        namespace = ""
        if rest[0] == "namespaces" and len(rest) > 2 and (group, version, rest[2]) in self.resources.by_plural:
            namespace, rest = rest[1], rest[2:]
        resource = self.resources.by_plural.get((group, version, rest[0]))
        if resource is None:
            raise errors.page_not_found()
        rest += ["", ""]
        return resource, namespace, rest[1], rest[2]


def _merge(target: Json, patch: Json) -> Json:
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict) and isinstance(target.get(key), dict):
            _merge(target[key], value)
        else:
            target[key] = value
    return target
