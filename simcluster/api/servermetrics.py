"""`/metrics` of the API server: writes it has answered, objects it stores, what it is.

Reads are not counted, because reading changes nothing here; nor are latencies, because a
request takes no simulated time. Source of names and help texts: kube-apiserver 1.32.
"""

from __future__ import annotations

from simcluster.api.request import Request
from simcluster.api.resources import ResourceTable
from simcluster.api.routing import Route
from simcluster.api.store import Store
from simcluster.api.version import VERSION
from simcluster.telemetry.exposition import Family

#: Verb, group, version, resource, subresource, scope, code.
Counted = tuple[str, str, str, str, str, str, int]
_VERBS = {"POST": "POST", "PUT": "PUT", "PATCH": "PATCH", "DELETE": "DELETE"}


class ServedRequests:
    """How many writes the server has answered, by what they were."""

    def __init__(self) -> None:
        self.counts: dict[Counted, int] = {}

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


def families(served: ServedRequests, store: Store, resources: ResourceTable) -> list[Family]:
    """What `/metrics` exposes."""
    requests = tuple(
        (
            (
                ("code", str(code)),
                ("component", "apiserver"),
                ("dry_run", ""),
                ("group", group),
                ("resource", resource),
                ("scope", scope),
                ("subresource", subresource),
                ("verb", verb),
                ("version", version),
            ),
            count,
        )
        for (verb, group, version, resource, subresource, scope, code), count in served.counts.items()
    )
    stored = tuple(
        ((("resource", resource.name),), store.count(resource.name))
        for resource in resources.all
        if resource.storage == resource.name and "watch" in resource.verbs
    )
    return [
            Family("apiserver_request_total", "counter", "[STABLE] Counter of apiserver requests broken out for "
                   "each verb, dry run value, group, version, resource, scope, component, and HTTP response code.",
                   requests),
            Family("apiserver_storage_objects", "gauge", "[STABLE] Number of stored objects at the time of last check "
                   "split by kind. In case of a fetching error, the value will be -1.", tuple(dict(stored).items())),
            Family("kubernetes_build_info", "gauge", "[ALPHA] A metric with a constant '1' value labeled by major, "
                   "minor, git version, git commit, git tree state, build date, Go version, and compiler from which "
                   "Kubernetes was built, and platform on which it is running.", ((_build(), 1),)),
    ]  # fmt: skip


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
