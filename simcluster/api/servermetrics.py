"""`/metrics` of the API server: writes it has answered, objects it stores, what it is.

Reads are not counted, because reading changes nothing here. Source of names and help texts: kube-apiserver 1.32.
"""

from __future__ import annotations

import functools
from typing import Protocol

import numpy as np

from simcluster.api.request import Request
from simcluster.api.resources import ResourceTable
from simcluster.api.routing import Route
from simcluster.api.store import Store
from simcluster.api.version import VERSION
from simcluster.telemetry.metrics.block import Sheet
from simcluster.telemetry.metrics.columns import Columns, Labels, counter, gauge
from simcluster.telemetry.metrics.sheets import Layouts, Sheets

#: Verb, group, version, resource, subresource, scope, code.
Counted = tuple[str, str, str, str, str, str, int]
_REQUESTS = Columns(
    (
        counter("apiserver_request_total", "[STABLE] Counter of apiserver requests broken out for each verb, dry run "
                "value, group, version, resource, scope, component, and HTTP response code."),
    )
)  # fmt: skip
_STORED = Columns(
    (
        gauge("apiserver_storage_objects", "[STABLE] Number of stored objects at the time of last check split by kind. "
              "In case of a fetching error, the value will be -1."),
    )
)  # fmt: skip
_BUILD = Columns(
    (
        gauge("kubernetes_build_info", "[ALPHA] A metric with a constant '1' value labeled by major, minor, git "
              "version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was "
              "built, and platform on which it is running."),
    )
)  # fmt: skip
_VERBS = {"POST": "POST", "PUT": "PUT", "PATCH": "PATCH", "DELETE": "DELETE"}


class Durations(Protocol):
    """Who knows how long writes take."""

    def server(self) -> dict[Columns, Sheet]:
        """Histograms of the server's."""


class ServedRequests:
    """How many writes the server has answered, by what they were.

    Attributes:
        durations: who knows how long they took, if anybody does.
        layouts: of what was shown last.
    """

    def __init__(self) -> None:
        self.counts: dict[Counted, int] = {}
        self.durations: Durations | None = None
        self.layouts = Layouts()

    def count(self, request: Request, route: Route, code: int) -> None:
        """One write has been answered."""
        verb = _VERBS.get(request.method)
        if verb is None or (request.query and request.param("dryRun")) or not request.upgraded:
            return
        resource = route.resource
        scope = "resource" if route.name or verb == "POST" else "namespace" if route.namespace else "cluster"
        if verb == "DELETE" and not route.name:
            verb = "DELETECOLLECTION"
        elif verb == "PATCH" and request.content_type.startswith("application/apply-patch"):
            verb = "APPLY"
        self.add((verb, resource.group, resource.version, resource.plural, route.subresource, scope, code))

    def add(self, key: Counted, count: int = 1) -> None:
        """Writes of one sort have been answered."""
        self.counts[key] = self.counts.get(key, 0) + count


def samples(served: ServedRequests, store: Store, resources: ResourceTable) -> Sheets:
    """What `/metrics` exposes."""
    found = {} if served.durations is None else served.durations.server()
    layouts = served.layouts
    if served.counts:
        counts = np.array([list(served.counts.values())], dtype=np.float64)
        found[_REQUESTS] = layouts.table(_REQUESTS, [_requests(counted) for counted in served.counts], counts)
    stored = list(dict.fromkeys(one.name for one in resources.all if one.storage == one.name and "watch" in one.verbs))
    numbers = np.array([[store.count(name) for name in stored]], dtype=np.float64)
    found[_STORED] = layouts.table(_STORED, [(("resource", name),) for name in stored], numbers)
    found[_BUILD] = layouts.sheet(_BUILD, {_build(): _BUILD.row((1,))})
    return Sheets(found)


@functools.lru_cache(maxsize=4096)
def _requests(counted: Counted) -> Labels:
    verb, group, version, resource, subresource, scope, code = counted
    own = {
        "code": str(code),
        "component": "apiserver",
        "dry_run": "",
        "group": group,
        "resource": resource,
        "scope": scope,
        "subresource": subresource,
        "verb": verb,
        "version": version,
    }
    return tuple(own.items())


@functools.cache
def _build() -> tuple[tuple[str, str], ...]:
    names = {
        "build_date": "buildDate",
        "compiler": "compiler",
        "git_commit": "gitCommit",
        "git_tree_state": "gitTreeState",
        "git_version": "gitVersion",
        "go_version": "goVersion",
        "major": "major",
        "minor": "minor",
        "platform": "platform",
    }
    return tuple((name, str(VERSION[key])) for name, key in names.items())
