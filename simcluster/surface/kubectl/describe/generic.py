"""`kubectl describe` of kinds without a describer of their own: every field, in words."""

from __future__ import annotations

import re
from typing import Any

from simcluster.api.objects import Json
from simcluster.surface.kubectl.describe.page import Page, events_of
from simcluster.surface.kubectl.printers.go_value import go_text

_SKIPPED = (
    "metadata.managedFields",
    "metadata.name",
    "metadata.namespace",
    "metadata.labels",
    "metadata.annotations",
)
_ACRONYMS = ("api", "url", "uid", "osb", "guid")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^A-Za-z0-9]+")


def generic(page: Page, obj: Json) -> None:
    """Any object."""
    page.head(obj, namespace=True)
    page.meta(obj)
    _content(page, 0, obj, "")
    page.events(events_of(page.invocation, obj))


def _content(page: Page, level: int, content: Json, prefix: str) -> None:
    for field in sorted(content):
        path = prefix + field
        if path in _SKIPPED:
            continue
        value: Any = content[field]
        if isinstance(value, dict):
            page.line(f"{label_for(field)}:", level)
            _content(page, level + 1, value, path + ".")
        elif isinstance(value, list):
            page.line(f"{label_for(field)}:", level)
            for child in value:
                if isinstance(child, dict):
                    _content(page, level + 1, child, path + ".")
                else:
                    page.line(go_text(child), level + 1)
        else:
            page.pair(label_for(field), go_text(value), level)


def label_for(field: str) -> str:
    """A field's name as a title.

    >>> label_for("creationTimestamp"), label_for("apiVersion"), label_for("uid")
    ('Creation Timestamp', 'API Version', 'UID')
    >>> label_for("x-kubernetes-map-type"), label_for("openAPIV3Schema")
    ('X - Kubernetes - Map - Type', 'openAPIV3Schema')
    """
    # A name with anything but letters and hyphens is shown as it is.
    if re.search(r"[^A-Za-z-]", field):
        return field
    words = [word for word in _WORDS.findall(field) if word.strip()]
    shown = [word.upper() if word.lower() in _ACRONYMS else word[:1].upper() + word[1:] for word in words]
    return " ".join(shown)
