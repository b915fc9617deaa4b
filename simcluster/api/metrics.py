"""metrics.k8s.io: the resource metrics that `kubectl top` reads, from metrics-server.

Source of the forms: answers of metrics-server 0.7 behind kube-apiserver 1.32.
"""

from __future__ import annotations

from typing import Any

from simcluster.api import errors
from simcluster.api.backends import Measured, MetricsSource, Usage
from simcluster.api.encoding.representation import TABLE, negotiate
from simcluster.api.errors import ApiError
from simcluster.api.handlers.listing import selection_of
from simcluster.api.objects import ApiObject, Json
from simcluster.api.quantity import of_bytes, to_bytes
from simcluster.api.request import Request, Response
from simcluster.api.routing import Route
from simcluster.api.store import Store
from simcluster.engine import MILLISECOND, format_rfc3339

_VERSION = "metrics.k8s.io/v1beta1"
_COLUMNS = (("Name", "name"), ("cpu", "quantity"), ("memory", "quantity"), ("Window", "duration"))


def is_available(source: MetricsSource | None) -> bool:
    """Whether the aggregated API answers."""
    return source is not None and source.available()


def serve(store: Store, source: MetricsSource | None, request: Request, route: Route) -> Response:
    """GET of pod and node metrics. Raises ApiError."""
    if source is None:
        raise errors.page_not_found()
    if not source.available():
        raise ApiError(503, "ServiceUnavailable", "the server is currently unable to handle the request", {})
    if request.method != "GET":
        raise ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})
    plural = route.resource.plural
    if route.name:
        obj = store.get(plural, route.namespace, route.name)
        item = _item(store, source, plural, obj) if obj is not None else None
        if item is None:
            shown = f"{route.namespace}/{route.name}" if route.namespace else route.name
            raise errors.not_found(f"{plural}.metrics.k8s.io", shown)
        return Response(200, item)
    selection = selection_of(request, store_resource(route), route.namespace)
    items = []
    for obj in store.objects(plural, route.namespace):
        if selection.matches(obj):
            item = _item(store, source, plural, obj)
            if item is not None:
                items.append(item)
    if negotiate(request.accept) == TABLE:
        return Response(200, _table(items))
    kind = "PodMetricsList" if plural == "pods" else "NodeMetricsList"
    return Response(200, {"kind": kind, "apiVersion": _VERSION, "metadata": {}, "items": items})


def store_resource(route: Route) -> Any:
    """The resource whose objects are measured, for its selectors."""
    return route.resource._replace(group="", version="v1")


def _item(store: Store, source: MetricsSource, plural: str, obj: ApiObject) -> Json | None:
    metadata = obj["metadata"]
    name = metadata["name"]
    measured = source.pod(metadata["namespace"], name) if plural == "pods" else source.node(name)
    if measured is None:
        return None
    shown: Json = {"name": name}
    if "namespace" in metadata:
        shown["namespace"] = metadata["namespace"]
    shown["creationTimestamp"] = format_rfc3339(store.sim.now)
    if metadata.get("labels"):
        shown["labels"] = {key: metadata["labels"][key] for key in sorted(metadata["labels"])}
    item: Json = {
        "kind": "PodMetrics" if plural == "pods" else "NodeMetrics",
        "apiVersion": _VERSION,
        "metadata": shown,
        "timestamp": format_rfc3339(measured.t_ns),
        "window": _window(measured),
    }
    if plural == "nodes":
        return {**item, "usage": _usage(next(iter(measured.usage.values())))}
    containers = [{"name": container, "usage": _usage(usage)} for container, usage in measured.usage.items()]
    return {**item, "containers": containers}


def _usage(usage: Usage) -> Json:
    # Whole KiB, as the kernel accounts pages; the quantity then takes the largest fitting suffix.
    memory = str(of_bytes(usage.memory_bytes >> 10 << 10))
    return {"cpu": f"{usage.cpu_nanocores}n" if usage.cpu_nanocores else "0", "memory": memory}


def _window(measured: Measured) -> str:
    seconds, rest = divmod(measured.window_ns // MILLISECOND, 1000)
    minutes, seconds = divmod(seconds, 60)
    fraction = f".{rest:03d}".rstrip("0") if rest else ""
    return f"{minutes}m{seconds}{fraction}s" if minutes else f"{seconds}{fraction}s"


def _table(items: list[Json]) -> Json:
    columns = [
        {
            "name": name,
            "type": "string",
            "format": form,
            "description": "Name of the resource" if name == "Name" else "",
            "priority": 0,
        }
        for name, form in _COLUMNS
    ]
    rows = []
    for item in items:
        usages = [c["usage"] for c in item["containers"]] if "containers" in item else [item["usage"]]
        cpu = sum(int(u["cpu"].removesuffix("n")) for u in usages)
        memory = of_bytes(sum(to_bytes(u["memory"]) for u in usages))
        metadata = item["metadata"]
        cells = [metadata["name"], f"{cpu}n", str(memory), item["window"]]
        partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
        rows.append({"cells": cells, "object": partial})
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {},
        "columnDefinitions": columns,
        "rows": rows,
    }
