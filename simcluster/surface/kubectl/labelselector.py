"""Label selectors on this side: which manifests of `-f` a `-l` means."""

from __future__ import annotations

import re

from simcluster.api.objects import Json

_SET = re.compile(r"\s*([\w./-]+)\s+(in|notin)\s*\(([^)]*)\)\s*")
_PART = re.compile(r"[^,(]+(?:\([^)]*\))?[^,(]*")


def matches(selector: str, obj: Json) -> bool:
    """Whether an object's labels fit `a=b,c!=d,e in (f,g),!h`."""
    labels = (obj.get("metadata") or {}).get("labels") or {}
    return all(_fits(part.strip(), labels) for part in _PART.findall(selector) if part.strip())


def _fits(part: str, labels: dict[str, str]) -> bool:
    match = _SET.fullmatch(part)
    if match:
        values = [value.strip() for value in match[3].split(",")]
        return (labels.get(match[1]) in values) == (match[2] == "in")
    for operator in ("!=", "==", "="):
        key, found, value = part.partition(operator)
        if found:
            return (labels.get(key.strip()) == value.strip()) == (operator != "!=")
    return part[1:].strip() not in labels if part.startswith("!") else part in labels
