"""`/healthz`, `/livez`, `/readyz`: the checks of kube-apiserver 1.32, by name and all together.

Every check passes: a simulated API server that serves at all is well. Source of names and
order: a 1.32.13 server's own list.
"""

from __future__ import annotations

from simcluster.api.request import Request, Response

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


def serve(request: Request, path: str) -> Response | None:
    """Answer `livez?verbose&exclude=etcd`, `livez/etcd`, ...; None if there is no such check."""
    endpoint, _, name = path.partition("/")
    checks = _CHECKS[endpoint]
    if name:
        return Response(200, text="ok", content_type=TEXT) if name in checks else None
    excluded = request.params("exclude")
    if not any(key == "verbose" for key, _ in request.query):
        return Response(200, text="ok", content_type=TEXT)
    lines = [f"[+]{check} {'excluded: ok' if check in excluded else 'ok'}\n" for check in checks]
    unknown = [name for name in excluded if name not in checks]
    if unknown:
        listed = ", ".join(f'"{name}"' for name in sorted(unknown))
        lines.append(f"warn: some health checks cannot be excluded: no matches for {listed}\n")
    return Response(200, text="".join(lines) + f"{endpoint} check passed\n", content_type=TEXT)


def paths() -> list[str]:
    """Every path of a check."""
    found = [f"/{endpoint}" for endpoint in ENDPOINTS]
    return found + [f"/{endpoint}/{check}" for endpoint in ENDPOINTS for check in _CHECKS[endpoint]]
