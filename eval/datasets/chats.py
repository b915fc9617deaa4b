"""Runs as conversations: `messages` and `tools` as chat completions have them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from simcluster.eval.chat.tools import schema
from simcluster.eval.datasets.runs import Recorded, definitions, messages_of, recorded


def chats(folder: Path) -> Iterator[dict[str, Any]]:
    """One line a run. A model's is what it said and read, word for word; others' calls are written as a model's.

    Raises:
        RunDirectoryError, ValueError: as `recorded`.
    """
    for one in recorded(folder):
        talk = one.path.with_name(f"{one.run.name}.model.jsonl")
        said = _said(talk) if talk.exists() else None
        messages = said if said is not None else _acted(one)
        tools = schema(undo=True) if said is not None else definitions()
        worth = one.record["process"]["srezero"]["reward"]
        yield {**one.name(), "reward": worth, "messages": messages, "tools": tools}


def _acted(one: Recorded) -> list[dict[str, Any]]:
    over = {"id": "call-finish", "type": "function", "function": {"name": "finish", "arguments": "{}"}}
    return [*messages_of(one.head, one.turns), {"role": "assistant", "content": "", "tool_calls": [over]}]


def _said(path: Path) -> list[dict[str, Any]]:
    """All messages of a model's run, those that it had forgotten in between, too."""
    found: list[dict[str, Any]] = []
    for text in path.read_text().splitlines():
        line = json.loads(text)
        found += line["messages"]
        if "reply" in line:
            kept = {name: value for name, value in line["reply"].items() if name in ("content", "tool_calls") and value}
            found.append({"role": "assistant", "content": "", **kept})
    return found
