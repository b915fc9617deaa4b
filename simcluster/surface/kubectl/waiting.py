"""Following one object while simulated time passes: list, then watch, as informers do."""

from __future__ import annotations

from collections.abc import Iterator

from simcluster.api.objects import Json
from simcluster.api.resources import Resource
from simcluster.engine import SECOND
from simcluster.surface.kubectl.errors import StatusError, plain
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
        return invocation.named(path)
    except StatusError as error:
        if error.reason == "NotFound":
            return None
        raise


#: How long somebody waits for the end of an object whose successor is to be made, without --timeout.
_PATIENCE_NS = 3600 * SECOND


def wait_until_gone(invocation: Invocation, path: str, timeout_ns: int = 0) -> None:
    """Let time pass until a path answers 404. Raises KubectlError at the timeout."""
    if not invocation.wait(_Gone(invocation, path).check, timeout_ns or _PATIENCE_NS):
        raise plain("timed out waiting for the condition")


class _Gone:
    """Whether a path answers 404."""

    def __init__(self, invocation: Invocation, path: str) -> None:
        self.invocation = invocation
        self.path = path

    def check(self) -> bool:
        return _present(self.invocation, self.path) is None
