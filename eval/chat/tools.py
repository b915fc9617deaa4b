"""What a model may call, over a session: commands, queries through the API server's proxy, time, submission.

Whatever is wrong with a call is said in its answer; nothing that a model writes raises anything but BudgetExceeded.
"""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from simcluster.surface.observability import ALERTMANAGER, JAEGER_PORT, LOKI, PROMETHEUS
from simcluster.surface.protocols import BudgetExceeded, Outcome, Session
from simcluster.surface.undo import Undo

#: The longest arguments of one call that are taken, characters.
ARGUMENTS_MAX = 200_000
_SPENT = "error: {}. Only diagnose and finish are taken now."


class Tool(NamedTuple):
    """One tool: what it says of itself, its arguments (text each; those with `?` may be missing), what it does."""

    says: str
    arguments: dict[str, str]
    do: Callable[[Toolkit, dict[str, str]], str]


class Toolkit:
    """The tools of one run.

    Args:
        undo: whether writes of kubectl can be taken back. Each is tried on the server first, and what it would change
            is read: commands that are charged like any other.

    Attributes:
        finished: the model has said that it is done.
    """

    def __init__(self, session: Session, *, undo: bool = False) -> None:
        self._session = session
        self._undo = Undo(_Typed(session)) if undo else None
        self._jaeger = ""
        self._spent = False
        self.finished = False

    def call(self, name: object, arguments: object) -> str:
        """The answer of a call.

        Args:
            arguments: JSON of a map, or a map.

        Raises:
            BudgetExceeded: once more after the model was told that the budget is used up.
        """
        known = tools(undo=self._undo is not None)
        tool = known.get(name) if isinstance(name, str) else None
        if tool is None:
            return f"error: unknown tool {str(name)[:80]!r}; there are {', '.join(known)}"
        try:
            given = _read(tool, arguments)
            return tool.do(self, given)
        except ValueError as wrong:
            return f"error: {wrong}"
        except BudgetExceeded as reached:
            if self._spent:
                raise
            self._spent = True
            return _SPENT.format(reached)

    def kubectl(self, given: dict[str, str]) -> str:
        """A command of kubectl, with or without its name in front."""
        text = given["command"].strip().removeprefix("kubectl ")
        written = self._undo.prepare(_words(text), given["stdin"]) if self._undo else None
        result = self._session.kubectl(text, given["stdin"])
        if self._undo and written is not None and result.exit_code == 0:
            self._undo.done(written)
        return _said(result)

    def undo(self, given: dict[str, str]) -> str:
        """The newest write that was not taken back yet."""
        last = self._undo.last if self._undo else None
        if self._undo is None or last is None:
            return "there is nothing to take back"
        said = [_said(self._session.kubectl(text, stdin)) for text, stdin in self._undo.take_back()]
        return "\n".join([f"taken back: {last.command}", *said])

    def node(self, given: dict[str, str]) -> str:
        """A command line on a node."""
        return _said(self._session.node(given["node"]).sh(given["command"]))

    def promql(self, given: dict[str, str]) -> str:
        """An instant query."""
        return self._raw(f"{PROMETHEUS}/api/v1/query", query=given["query"])

    def logql(self, given: dict[str, str]) -> str:
        """The newest lines of the last hour."""
        return self._raw(f"{LOKI}/loki/api/v1/query_range", query=given["query"], limit=given["limit"] or "50")

    def alerts(self, given: dict[str, str]) -> str:
        """What fires."""
        return self._raw(f"{ALERTMANAGER}/api/v2/alerts")

    def traces(self, given: dict[str, str]) -> str:
        """The newest traces through a service."""
        if not self._jaeger:
            found = self._session.kubectl("get services -A -o json")
            self._jaeger = _jaeger_in(found.stdout)
        query = {"service": given["service"], "limit": given["limit"] or "5", "lookback": "1h"}
        return self._raw(f"{self._jaeger}/api/traces", **query)

    def wait(self, given: dict[str, str]) -> str:
        """Let time pass."""
        self._session.wait(given["duration"])
        return f"{given['duration']} have passed"

    def diagnose(self, given: dict[str, str]) -> str:
        """Submit; JSON of a map is a structured diagnosis."""
        answer: Any = given["diagnosis"]
        if answer.lstrip().startswith("{"):
            with contextlib.suppress(ValueError, RecursionError):  # a text that begins like JSON
                answer = json.loads(answer)
        self._session.diagnose(answer)
        return "taken; the last one counts"

    def finish(self, given: dict[str, str]) -> str:
        """The end."""
        self.finished = True
        return "the work is over"

    def _raw(self, path: str, **query: str) -> str:
        """What the API server's proxy answers to a GET."""
        asked = f"?{urlencode(query, quote_via=quote)}" if query else ""
        return _said(self._session.kubectl(f"get --raw {shlex.quote(path + asked)}"))


class _Typed:
    """kubectl as somebody types it."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def run(self, words: Sequence[str], stdin: str = "") -> Outcome:
        """Run one command."""
        return self._session.kubectl(shlex.join(words), stdin)


def _words(text: str) -> list[str]:
    """Words of a command line; none if a quote is open, which kubectl's answer tells."""
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _said(result: Outcome) -> str:
    text = (result.stdout + result.stderr).rstrip("\n") or "(no output)"
    return text if result.exit_code == 0 else f"{text}\n(exit status {result.exit_code})"


def _jaeger_in(text: str) -> str:
    """Where the query service of Jaeger is. Raises ValueError."""
    try:
        items = json.loads(text)["items"]
    except (ValueError, KeyError):
        raise ValueError("the Services cannot be listed") from None
    found = [
        (one["metadata"]["namespace"] == "observe", one["metadata"]["namespace"], one["metadata"]["name"])
        for one in items
        if any(port["port"] == JAEGER_PORT for port in one["spec"].get("ports", ()))
    ]
    if not found:
        raise ValueError(f"no Service of the cluster has port {JAEGER_PORT} (Jaeger)")
    _, namespace, name = min(found)
    return f"/api/v1/namespaces/{namespace}/services/{name}:{JAEGER_PORT}/proxy"


def _read(tool: Tool, arguments: object) -> dict[str, str]:
    """Arguments as texts, all of them. Raises ValueError, telling what is wrong."""
    if isinstance(arguments, str):
        if len(arguments) > ARGUMENTS_MAX:
            raise ValueError(f"arguments of {len(arguments)} characters: at most {ARGUMENTS_MAX} are taken")
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError) as problem:
            raise ValueError(f"the arguments are no JSON: {problem}") from None
    if not isinstance(arguments, dict):
        raise ValueError(f"the arguments are a {type(arguments).__name__}, not an object")
    names = [name.removesuffix("?") for name in tool.arguments]
    if unknown := [str(name)[:80] for name in arguments if name not in names]:
        raise ValueError(f"no such argument: {', '.join(unknown)}; there are {', '.join(names) or 'none'}")
    found: dict[str, str] = {}
    for name in tool.arguments:
        plain = name.removesuffix("?")
        value = arguments.get(plain, "" if name.endswith("?") else None)
        if value is None:
            raise ValueError(f"the argument {plain} is missing")
        found[plain] = value if isinstance(value, str) else json.dumps(value)
        if len(found[plain]) > ARGUMENTS_MAX:
            raise ValueError(f"{plain} has {len(found[plain])} characters: at most {ARGUMENTS_MAX} are taken")
    return found


TOOLS: dict[str, Tool] = {
    "kubectl": Tool(
        "Run a kubectl command (no shell, no pipes) as cluster administrator.",
        {"command": "such as: get pods -A", "stdin?": "what -f - reads"}, Toolkit.kubectl,
    ),
    "node_shell": Tool(
        "Run a command line as root on a node.", {"node": "its name", "command": "the command line"}, Toolkit.node
    ),
    "promql": Tool("Ask Prometheus an instant query.", {"query": "PromQL"}, Toolkit.promql),
    "logql": Tool(
        "Ask Loki for the newest log lines of the last hour.", {"query": "LogQL", "limit?": "lines"}, Toolkit.logql
    ),
    "traces": Tool(
        "Ask Jaeger for the newest traces through a service.", {"service": "its name", "limit?": "traces"},
        Toolkit.traces,
    ),
    "alerts": Tool("List the alerts that Alertmanager holds.", {}, Toolkit.alerts),
    "wait": Tool("Let time pass.", {"duration": "such as 30s or 5m"}, Toolkit.wait),
    "diagnose": Tool(
        "Submit what the cause is: component, mechanism, wrong values, whom it affects. The last one counts.",
        {"diagnosis": "a text, or a JSON object with component, mechanism, details and scope"}, Toolkit.diagnose,
    ),
    "finish": Tool("End the work, when the incident is diagnosed and mitigated.", {}, Toolkit.finish),
}  # fmt: skip


#: What the strategy `undo` adds.
UNDO = Tool("Take back the newest change that you made with kubectl.", {}, Toolkit.undo)


def tools(*, undo: bool = False) -> dict[str, Tool]:
    """The tools by name."""
    return {**TOOLS, "undo": UNDO} if undo else TOOLS


def schema(*, undo: bool = False) -> list[dict[str, Any]]:
    """The tools as chat completions take them."""
    return [
        {"type": "function", "function": {"name": name, "description": tool.says, "parameters": _parameters(tool)}}
        for name, tool in tools(undo=undo).items()
    ]


def _parameters(tool: Tool) -> dict[str, Any]:
    fields = {name.removesuffix("?"): {"type": "string", "description": says} for name, says in tool.arguments.items()}
    needed = [name for name in tool.arguments if not name.endswith("?")]
    return {"type": "object", "properties": fields, "required": needed, "additionalProperties": False}


def in_words(*, undo: bool = False) -> str:
    """The tools for a model that is told of them in its instructions."""
    lines = []
    for name, tool in tools(undo=undo).items():
        arguments = ", ".join(f'"{one.removesuffix("?")}": {says}' for one, says in tool.arguments.items())
        lines.append(f"- {name} {{{arguments}}}: {tool.says}")
    return "\n".join(lines)
