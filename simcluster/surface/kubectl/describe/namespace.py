"""`kubectl describe` of namespaces, resource quotas and limit ranges."""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.api.objects import Json
from simcluster.surface.kubectl.describe.page import Page, rfc1123
from simcluster.surface.kubectl.errors import StatusError
from simcluster.surface.kubectl.invocation import query_of

_LIMIT_HEAD = (
    ("Type", "Resource", "Min", "Max", "Default Request", "Default Limit", "Max Limit/Request Ratio"),
    ("----", "--------", "---", "---", "---------------", "-------------", "-----------------------"),
)

#: What kubectl says of a quota's scopes.
_SCOPES = {
    "Terminating": "Matches all pods that have an active deadline. These pods have a limited lifespan on a node "
    "before being actively terminated by the system.",
    "NotTerminating": "Matches all pods that do not have an active deadline. These pods usually include long running "
    "pods whose container command is not expected to terminate.",
    "BestEffort": "Matches all pods that do not have resource requirements set. These pods have a best effort "
    "quality of service.",
    "NotBestEffort": "Matches all pods that have at least one resource requirement set. These pods have a burstable "
    "or guaranteed quality of service.",
}


def namespace(page: Page, obj: Json) -> None:
    """A namespace with its quotas and limits."""
    name = obj["metadata"]["name"]
    status = obj.get("status") or {}
    page.head(obj, namespace=False)
    page.meta(obj)
    page.pair("Status", status.get("phase", ""))
    if status.get("conditions"):
        page.line("Conditions:")
        rows = [
            ("Type", "Status", "LastTransitionTime", "Reason", "Message"),
            ("----", "------", "------------------", "------", "-------"),
        ]
        for entry in status["conditions"]:
            changed = rfc1123(entry.get("lastTransitionTime"))
            rows.append((entry["type"], entry["status"], changed, entry.get("reason", ""), entry.get("message", "")))
        page.rows(rows)
    quotas = _related(page, name, "resourcequotas")
    if quotas is not None:
        page.line("")
        _quotas(page, quotas)
    limits = _related(page, name, "limitranges")
    if limits is not None:
        page.line("")
        _limit_ranges(page, limits)


def _related(page: Page, name: str, plural: str) -> list[Json] | None:
    try:
        return page.items(f"/api/v1/namespaces/{name}/{plural}", query_of(limit=500))
    except StatusError as error:
        # Servers without the resource: as if there were none.
        return [] if error.reason == "NotFound" else None


def _quotas(page: Page, quotas: Sequence[Json]) -> None:
    if not quotas:
        page.line("No resource quota.")
        return
    page.line("Resource Quotas")
    for obj in quotas:
        page.pair("Name", obj["metadata"]["name"], 1)
        _scopes(page, obj, 1, "* ")
        page.rows([("Resource", "Used", "Hard"), ("--------", "---", "---"), *_usage(obj)])


def _usage(obj: Json) -> list[tuple[str, str, str]]:
    status = obj.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    return [(name, used.get(name, "0"), hard[name]) for name in sorted(hard)]


def _scopes(page: Page, obj: Json, level: int, mark: str) -> None:
    scopes = sorted((obj.get("spec") or {}).get("scopes") or ())
    if not scopes:
        return
    page.pair("Scopes", ", ".join(scopes), level)
    for scope in scopes:
        if scope in _SCOPES:
            page.line(mark + _SCOPES[scope], level)


def quota(page: Page, obj: Json) -> None:
    """A resource quota."""
    page.head(obj)
    _scopes(page, obj, 0, " * ")
    page.rows([("Resource", "Used", "Hard"), ("--------", "----", "----"), *_usage(obj)], 0)


def limit_range(page: Page, obj: Json) -> None:
    """A limit range."""
    page.head(obj)
    page.rows([*_LIMIT_HEAD, *_limits(obj)], 0)


def _limit_ranges(page: Page, ranges: Sequence[Json]) -> None:
    if not ranges:
        page.line("No LimitRange resource.")
        return
    page.line("Resource Limits")
    for row in [*_LIMIT_HEAD, *(row for obj in ranges for row in _limits(obj))]:
        page.line(" " + "\t".join(row))


def _limits(obj: Json) -> list[tuple[str, ...]]:
    rows = []
    keys = ("min", "max", "defaultRequest", "default", "maxLimitRequestRatio")
    for item in obj["spec"].get("limits") or ():
        names: dict[str, None] = {}
        for key in keys:
            names.update(dict.fromkeys(item.get(key) or ()))
        for name in names:
            rows.append((item["type"], name, *[str((item.get(key) or {}).get(name, "-")) for key in keys]))
    return rows
