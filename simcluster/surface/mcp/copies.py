"""What is tried on copies of a cluster: command by command, with what each printed there."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TypedDict

from simcluster.surface.http.door import Door
from simcluster.surface.mcp import rules

#: Commands that are tried at once, and seconds that a copy lives on afterwards.
MOST_TRIED, LONGEST_COPY_S = 20, 600


class Tried(TypedDict):
    """A command, what it printed and its exit status."""

    command: str
    output: str
    exit_code: int


def tried(door: Door, commands: Sequence[str]) -> list[Tried]:
    """Run commands one after the other.

    Raises:
        ValueError: one of them is refused, or makes no sense.
    """
    return [_tried(door, command) for command in commands]


def _tried(door: Door, command: str) -> Tried:
    tool, _, rest = command.strip().partition(" ")
    if tool == "kubectl":
        words, stdin = rules.words_of(command)
        found = door.run("kubectl", shlex.join(rules.unattended(words)), "", stdin)
    elif tool == "node":
        name, _, text = rest.strip().partition(" ")
        found = door.run("node", text, name)
    elif tool == "sh":
        found = door.run("sh", rest.strip())
    elif tool == "wait":
        found = door.run("wait", rest.strip())
    else:
        raise ValueError(f"a command begins with kubectl, node, sh or wait: {command!r}")
    return {"command": command, "output": rules.shown(found.stdout + found.stderr), "exit_code": found.exit_code}
