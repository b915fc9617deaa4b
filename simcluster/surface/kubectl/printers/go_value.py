"""Values as Go's `%v` and `%#v` print them, where kubectl shows them to people."""

from __future__ import annotations

import json
from typing import Any

from simcluster.surface.kubectl.printers.yaml import number_text


def go_syntax(value: Any) -> str:
    """A decoded JSON value in Go syntax (`%#v`)."""
    if isinstance(value, dict):
        inner = ", ".join(f"{json.dumps(key)}:{go_syntax(value[key])}" for key in sorted(value))
        return "map[string]interface {}{" + inner + "}"
    if isinstance(value, (list, tuple)):
        return "[]interface {}{" + ", ".join(go_syntax(item) for item in value) + "}"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value)


def go_text(value: Any) -> str:
    """A decoded JSON value as `%v`: `map[a:1 b:[x y]]`, `<nil>`."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{go_text(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, (list, tuple)):
        return "[" + " ".join(go_text(item) for item in value) + "]"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else number_text(value)
