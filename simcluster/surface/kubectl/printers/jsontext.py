"""API objects as kubectl's JSON: four spaces, sorted keys."""

from __future__ import annotations

import json
from typing import Any


def to_json(value: Any, *, indent: int = 4, sort: bool = True) -> str:
    """The value as `-o json` prints it, ended by a newline. Source: printers.JSONPrinter."""
    return _escape(json.dumps(value, indent=indent, sort_keys=sort, ensure_ascii=False)) + "\n"


def compact_json(value: Any, *, sort: bool = True) -> str:
    """The value on one line without spaces, as Go's encoding/json writes it."""
    return _escape(json.dumps(value, separators=(",", ":"), sort_keys=sort, ensure_ascii=False))


def _escape(text: str) -> str:
    # Go's encoder makes JSON safe for HTML; these characters occur only inside strings.
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
