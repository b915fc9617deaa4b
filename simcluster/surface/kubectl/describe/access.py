"""`kubectl describe` of roles and their bindings."""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.api.objects import Json
from simcluster.surface.kubectl.describe.page import Page


def role(page: Page, obj: Json) -> None:
    """A Role or ClusterRole and what it allows."""
    page.head(obj, namespace=False)
    page.meta(obj)
    page.line("PolicyRule:")
    rows = [
        ("Resources", "Non-Resource URLs", "Resource Names", "Verbs"),
        ("---------", "-----------------", "--------------", "-----"),
    ]
    found = _compact([piece for rule in obj.get("rules") or () for piece in _pieces(rule)])
    for piece in sorted(found, key=_printed):
        resource, slash, part = piece["resource"].partition("/")
        group = f".{piece['group']}" if piece["group"] else ""
        rows.append(
            (
                f"{resource}{group}{slash}{part}",
                _listed(piece["urls"]),
                _listed(piece["names"]),
                _listed(piece["verbs"]),
            )
        )
    page.rows(rows)


def _pieces(rule: Json) -> list[Json]:
    """A rule broken down to one verb and one resource, name or URL each (validation.BreakdownRule)."""
    pieces: list[Json] = [
        {"group": group, "resource": resource, "names": [name] if name else [], "urls": [], "verbs": [verb]}
        for group in rule.get("apiGroups") or ()
        for resource in rule.get("resources") or ()
        for verb in rule.get("verbs") or ()
        for name in rule.get("resourceNames") or ("",)
    ]
    pieces.extend(
        {"group": "", "resource": "", "names": [], "urls": [url], "verbs": [verb]}
        for url in rule.get("nonResourceURLs") or ()
        for verb in rule.get("verbs") or ()
    )
    return pieces


def _compact(pieces: Sequence[Json]) -> list[Json]:
    """Pieces about one resource become one rule; those about URLs stay apart (validation.CompactRules)."""
    found: list[Json] = []
    simple: dict[tuple[str, ...], Json] = {}
    for piece in pieces:
        key = (piece["group"], piece["resource"], *piece["names"])
        if piece["urls"] or key not in simple:
            found.append(piece)
            if not piece["urls"]:
                simple[key] = piece
        elif piece["verbs"][0] not in simple[key]["verbs"]:
            simple[key]["verbs"].append(piece["verbs"][0])
    return found


def _printed(piece: Json) -> str:
    """The rule as its message prints itself: kubectl sorts by this text."""
    resources = [] if piece["urls"] else [piece["resource"]]
    groups = [] if piece["urls"] else [piece["group"]]
    return (
        f"{{Verbs:{_listed(piece['verbs'])},APIGroups:{_listed(groups)},Resources:{_listed(resources)},"
        f"ResourceNames:{_listed(piece['names'])},NonResourceURLs:{_listed(piece['urls'])},}}"
    )


def binding(page: Page, obj: Json) -> None:
    """A RoleBinding or ClusterRoleBinding: which role, for whom."""
    page.head(obj, namespace=False)
    page.meta(obj)
    reference = obj["roleRef"]
    page.line("Role:")
    page.pair("Kind", reference["kind"], 1)
    page.pair("Name", reference["name"], 1)
    page.line("Subjects:")
    rows = [("Kind", "Name", "Namespace"), ("----", "----", "---------")]
    rows.extend((s["kind"], s["name"], s.get("namespace", "")) for s in obj.get("subjects") or ())
    page.rows(rows)


def _listed(words: Sequence[str]) -> str:
    return f"[{' '.join(words)}]"
