"""`-o custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[*].image`.

Source: k8s.io/kubectl/pkg/cmd/get/customcolumn.go.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from simcluster.api.objects import Json
from simcluster.surface.kubectl.errors import plain
from simcluster.surface.kubectl.printers.go_value import go_text
from simcluster.surface.kubectl.printers.jsonpath import JsonPathError, Template, parse, relaxed
from simcluster.surface.kubectl.printers.tabwriter import ColumnWriter


class CustomColumns:
    """A parsed column list."""

    def __init__(self, spec: str, *, no_headers: bool) -> None:
        if not spec:
            raise plain("custom-columns format specified but no custom columns given")
        self.no_headers = no_headers
        self.headings: list[str] = []
        self.paths: list[Template] = []
        for part in _split(spec):
            heading, colon, path = part.partition(":")
            if not colon or ":" in re.sub(r"\[[^]]*\]", "", path):
                raise plain(f"unexpected custom-columns spec: {part}, expected <header>:<json-path-expr>")
            self.headings.append(heading)
            self.paths.append(_template(path))

    def text(self, objects: Sequence[Json]) -> str:
        """The table of some objects."""
        writer = ColumnWriter()
        if not self.no_headers:
            writer.row(self.headings)
        for obj in objects:
            writer.row([_cell(path, obj) for path in self.paths])
        return writer.flush()


def from_file(text: str) -> str:
    """The column list in a template file: a line of headings, a line of paths.

    >>> from_file("NAME IMAGE\\n.metadata.name .spec.image\\n")
    'NAME:.metadata.name,IMAGE:.spec.image'
    """
    lines = text.split("\n")
    headings, paths = lines[0].split(), lines[1].split() if len(lines) > 1 else []
    if len(headings) != len(paths):
        raise plain(f"number of columns mismatch: {len(headings)} headings, {len(paths)} paths")
    return ",".join(f"{heading}:{path}" for heading, path in zip(headings, paths, strict=True))


def _split(spec: str) -> list[str]:
    """Parts between commas that stand outside of brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(spec):
        depth += (c in "[(") - (c in "])")
        if c == "," and depth == 0:
            parts.append(spec[start:i])
            start = i + 1
    return [*parts, spec[start:]]


def _template(path: str) -> Template:
    try:
        return parse(relaxed(path))
    except JsonPathError as error:
        raise plain(str(error)) from None


def _cell(path: Template, obj: Json) -> str:
    try:
        values: list[Any] = path.find(obj)
    except JsonPathError as error:
        raise plain(str(error)) from None
    if not values:
        return "<none>"
    return ",".join(go_text(value) if value is not None else "<none>" for value in values)
