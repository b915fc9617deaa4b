"""`/healthz`, `/livez`, `/readyz`: the checks of kube-apiserver 1.32, by name and all together.

Every check passes unless the caller says otherwise: a simulated API server that serves at all
is well, but for the etcd behind it. Source of names and order: a 1.32.13 server's own list.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.api.request import NO_SNIFF, Request, Response
from simcluster.telemetry.exposition import Family

TEXT = "text/plain; charset=utf-8"
ENDPOINTS = ("healthz", "livez", "readyz")
_HOOK = "poststarthook/"
_STARTED = (
    "start-apiserver-admission-initializer",
    "generic-apiserver-start-informers",
    "priority-and-fairness-config-consumer",
    "priority-and-fairness-filter",
    "storage-object-count-tracker-hook",
    "start-apiextensions-informers",
    "start-apiextensions-controllers",
    "crd-informer-synced",
    "start-system-namespaces-controller",
    "start-cluster-authentication-info-controller",
    "start-kube-apiserver-identity-lease-controller",
    "start-kube-apiserver-identity-lease-garbage-collector",
    "start-legacy-token-tracking-controller",
    "start-service-ip-repair-controllers",
    "rbac/bootstrap-roles",
    "scheduling/bootstrap-system-priority-classes",
    "priority-and-fairness-config-producer",
    "bootstrap-controller",
    "aggregator-reload-proxy-client-cert",
    "start-kube-aggregator-informers",
    "apiservice-status-local-available-controller",
    "apiservice-status-remote-available-controller",
    "apiservice-registration-controller",
    "apiservice-wait-for-first-sync",
    "apiservice-discovery-controller",
    "kube-apiserver-autoregistration",
)
_HOOKS = (
    *(_HOOK + name for name in _STARTED),
    "autoregister-completion",
    f"{_HOOK}apiservice-openapi-controller",
    f"{_HOOK}apiservice-openapiv3-controller",
)
_CHECKS: dict[str, tuple[str, ...]] = {
    "healthz": ("ping", "log", "etcd", *_HOOKS),
    "livez": ("ping", "log", "etcd", *_HOOKS),
    "readyz": ("ping", "log", "etcd", "etcd-readiness", "informer-sync", *_HOOKS, "shutdown"),
}
#: Checks that have a path which the server does not list.
_UNLISTED = (("readyz", "etcd"), ("readyz", "etcd-readiness"))


def serve(request: Request, path: str, failing: Sequence[str] = ()) -> Response | None:
    """Answer `livez?verbose&exclude=etcd`, `livez/etcd`, ...; None if there is no such check.

    Args:
        failing: names of checks that do not pass; clients do not learn why.
    """
    endpoint, _, name = path.partition("/")
    checks = _CHECKS[endpoint]
    if name:
        if name not in checks:
            return None
        if name in failing:
            why = f"internal server error: {name} failed: reason withheld\n"
            return _text(500, why)
        return _text(200, "ok")
    excluded = request.params("exclude")
    failed = [check for check in checks if check in failing and check not in excluded]
    if not failed and not any(key == "verbose" for key, _ in request.query):
        return _text(200, "ok")
    lines = [_line(check, check in excluded, check in failing) for check in checks]
    unknown = [name for name in excluded if name not in checks]
    if unknown:
        listed = ", ".join(f'"{name}"' for name in sorted(unknown))
        lines.append(f"warn: some health checks cannot be excluded: no matches for {listed}\n")
    if failed:
        return _text(500, "".join(lines) + f"{endpoint} check failed\n")
    return _text(200, "".join(lines) + f"{endpoint} check passed\n")


def _line(check: str, excluded: bool, failing: bool) -> str:
    if excluded:
        return f"[+]{check} excluded: ok\n"
    return f"[-]{check} failed: reason withheld\n" if failing else f"[+]{check} ok\n"


def _text(code: int, text: str) -> Response:
    return Response(code, text=text, content_type=TEXT, headers=NO_SNIFF)


def indicators() -> list[Family]:
    """`/metrics/slis`: every check, as it is now."""
    samples = tuple(
        ((("name", check), ("type", endpoint)), 1)
        for endpoint in ENDPOINTS
        for check in dict.fromkeys(_CHECKS[endpoint])
    )
    text = "[STABLE] This metric records the result of a single healthcheck."
    return [Family("kubernetes_healthcheck", "gauge", text, samples)]


def paths() -> list[str]:
    """The paths of checks, as the server lists them."""
    found = [f"/{endpoint}" for endpoint in ENDPOINTS]
    listed = ((endpoint, check) for endpoint in ENDPOINTS for check in _CHECKS[endpoint])
    return found + [f"/{endpoint}/{check}" for endpoint, check in listed if (endpoint, check) not in _UNLISTED]
