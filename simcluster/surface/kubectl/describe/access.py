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
    found: dict[tuple[str, str, str], list[str]] = {}
    for rule in obj.get("rules") or ():
        names = rule.get("resourceNames") or ()
        urls = _listed(rule.get("nonResourceURLs") or ())
        shown = [
            f"{resource}.{group}" if group else resource
            for group in rule.get("apiGroups") or ("",)
            for resource in rule.get("resources") or ()
        ]
        for resource in shown or [""]:
            for name in names or ("",):
                key = (resource, urls, f"[{name}]")
                verbs = found.setdefault(key, [])
                verbs.extend(verb for verb in rule.get("verbs") or () if verb not in verbs)
    rows.extend((*key, _listed(found[key])) for key in sorted(found))
    page.rows(rows)


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
