"""What an agent types in one step, and what it is answered.

A line begins with what it is for: `kubectl …`, `ssh NODE COMMAND`, `promql QUERY`, `logql QUERY`, `alerts`,
`wait DURATION`, `diagnose TEXT`, `finish`. Anything else is a command that is not there, as a shell says it.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from simcluster.engine.content import UnknownName
from simcluster.eval.episode import Episode
from simcluster.surface.observability import QueryError
from simcluster.surface.protocols import BudgetExceeded

TOOLS = ("kubectl", "ssh", "promql", "logql", "alerts", "wait", "diagnose", "finish")
#: As a shell ends: a command that is not there, one that is too long, used wrongly, and cut off.
ABSENT, TOO_LONG, WRONG, CUT = 127, 126, 2, 130


class Outcome(NamedTuple):
    """What one action came to.

    Attributes:
        output: as a terminal shows it.
        over: whether the work is over: finished, or nothing is left of the budget (`truncated`).
    """

    output: str
    exit_code: int
    over: bool = False
    truncated: bool = False


def perform(episode: Episode, line: str) -> Outcome:
    """Do what a line says. Never raises: what is wrong with it is the answer."""
    tool, _, rest = line.strip().partition(" ")
    rest = rest.strip()
    try:
        return _performed(episode, tool, rest)
    except BudgetExceeded as problem:
        return Outcome(f"{problem}\n", CUT, over=True, truncated=True)
    except (QueryError, UnknownName, ValueError, KeyError, RecursionError) as problem:
        return Outcome(f"{tool}: {problem}\n", WRONG)


def _performed(episode: Episode, tool: str, rest: str) -> Outcome:
    match tool:
        case "kubectl":
            answer = episode.kubectl(rest)
        case "ssh":
            node, _, command = rest.partition(" ")
            if not node or not command:
                return Outcome("usage: ssh NODE COMMAND\n", WRONG)
            answer = episode.node(node).sh(command)
        case "promql" | "logql" | "alerts":
            found = episode.alerts() if tool == "alerts" else getattr(episode, tool)(rest)
            return Outcome(json.dumps(found) + "\n", 0)
        case "wait":
            episode.wait(rest or "30s")
            return Outcome("", 0)
        case "diagnose":
            episode.diagnose(rest)
            return Outcome("", 0)
        case "finish":
            return Outcome("", 0, over=True)
        case "":
            return Outcome("", 0)
        case _:
            return Outcome(f"{tool[:64]}: command not found\n", ABSENT)
    return Outcome(str(answer), answer.exit_code)
