"""Following one object while simulated time passes: list, then watch, as informers do."""

from __future__ import annotations

from collections.abc import Iterator

from simcluster.api.objects import Json
from simcluster.api.resources import Resource
from simcluster.surface.kubectl.errors import StatusError
from simcluster.surface.kubectl.invocation import STEP_NS, Invocation, object_path, query_of


def follow(
    invocation: Invocation, resource: Resource, namespace: str, name: str, timeout_ns: int
) -> Iterator[Json | None]:
    """States of an object, oldest first: None when it is gone.

    The first state is the present one; then the clock moves in small steps until the caller
    stops or the time is up.
    """
    path = object_path(resource, namespace)
    selector = f"metadata.name={name}"
    listed = invocation.get(path, query_of(fieldSelector=selector, limit=500, resourceVersion="0"))
    items = [item for item in listed.get("items") or () if item["metadata"]["name"] == name]
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    yield {**kind, **items[0]} if items else None
    version = (listed.get("metadata") or {}).get("resourceVersion", "")
    query = query_of(allowWatchBookmarks="true", fieldSelector=selector, resourceVersion=version, watch="true")
    deadline = invocation.clock.now + timeout_ns
    stream = invocation.ask("GET", path, query).stream
    try:
        while True:
            if stream is not None:
                for event in stream.poll():
                    if event["type"] in ("ADDED", "MODIFIED", "DELETED"):
                        yield None if event["type"] == "DELETED" else event["object"]
            else:
                yield _present(invocation, object_path(resource, namespace, name))
            if invocation.clock.now >= deadline:
                return
            invocation.clock.advance(min(STEP_NS, deadline - invocation.clock.now))
    finally:
        if stream is not None:
            stream.close()


def _present(invocation: Invocation, path: str) -> Json | None:
    try:
        return invocation.get(path)
    except StatusError as error:
        if error.reason == "NotFound":
            return None
        raise
