"""A live cluster under one operator: what an episode and a sandbox share. Implements `surface.protocols.Session`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from simcluster.api.request import ADMIN, User
from simcluster.api.request import Request as HttpRequest
from simcluster.engine import MICROSECOND, AppendLog, Snapshot, fork, parse_duration
from simcluster.engine.clock import unix_us
from simcluster.session import http, log, plainjson
from simcluster.session.clock import UNLIMITED, Budget, Clock
from simcluster.session.inbox import INTERRUPTED, Inbox
from simcluster.session.kinds import Effect, Request
from simcluster.surface import observability
from simcluster.surface.protocols import HttpAnswer, Outcome
from simcluster.world import World

#: What a query raises that was refused, or that nobody answers.
QueryError = observability.QueryError
#: What is typed at a terminal.
_TYPED = ("kubectl", "sh", "node", "container")
_SURROGATE = re.compile("[\ud800-\udfff]")


def typed(text: str) -> str:
    """A text as a terminal sends it: for lone surrogates, which no encoding has, the character that stands for such.

    >>> typed("get \\ud800")
    'get \\ufffd'
    """
    return _SURROGATE.sub("\ufffd", text) if type(text) is str else text


class RemoteShell:
    """A shell on a node (over ssh) or in a container (by exec). Implements `surface.protocols.Shell`."""

    def __init__(self, live: Live, tool: str, name: str) -> None:
        self._live = live
        self._tool = tool
        self.name = name

    def sh(self, command: str, stdin: str = "") -> Outcome:
        """Run one command line. A container's reads `stdin`. Raises BudgetExceeded."""
        return self._live.submit(self._tool, command, self.name, stdin)


class Live:
    """A cluster, a clock policy, a budget and the record of what was done.

    Attributes:
        world: the cluster.
        inbox: through which everything from outside comes; it keeps the policy, the budget and the commands.
        tools: kinds of requests that are taken, of `session.kinds.KINDS`.
    """

    tools: tuple[str, ...] = ("kubectl", "http", "follow", "sh", "node", "container", "wait")

    def __init__(self, world: World, policy: Clock, budget: Budget = UNLIMITED, operator: User = ADMIN) -> None:
        self.world = world
        self.inbox = Inbox(world, policy, budget, self, self.tools, operator)

    @property
    def operator(self) -> User:
        """Who works on it, as the API server knows him."""
        return self.inbox.executor.operator

    @property
    def now_s(self) -> float:
        """Simulated seconds since the cluster was started."""
        return self.world.sim.now / 1e9

    @property
    def digest(self) -> str:
        """The digest of everything committed and answered so far."""
        return self.inbox.digest

    @property
    def world_digest(self) -> str:
        """The digest of the world alone: writes, transitions and samples, whatever was asked and answered."""
        return self.world.sim.digest.hex()

    @property
    def submission(self) -> str | dict[str, Any] | None:
        """The last diagnosis; None if there was none."""
        return self.inbox.executor.submission

    @property
    def commands(self) -> AppendLog[log.Command]:
        """Every outside command so far."""
        return self.inbox.commands

    def submit(self, tool: str, text: str, target: str = "", stdin: str = "") -> Outcome:
        """Hand in one request: see `Inbox.submit`. It arrives now, by the administrator."""
        at_ns = self.world.sim.now if self.inbox.policy.realtime else None
        if tool in _TYPED:
            text, stdin = typed(text), typed(stdin)
        return self.inbox.submit(Request(tool, text, target, stdin, at_ns=at_ns))

    def kubectl(self, command: str, stdin: str = "") -> Outcome:
        """Run `kubectl COMMAND` as the cluster's administrator.

        Raises:
            ValueError: the command is no text.
            BudgetExceeded: the commands or the time of the episode are used up.
        """
        return self.submit("kubectl", command, stdin=stdin)

    def sh(self, command: str, stdin: str = "") -> Outcome:
        """Run a command line at the operator's desk: a shell with kubectl, ssh, jq, curl and files of its own.

        Raises:
            ValueError: the command is no text.
            BudgetExceeded: the commands or the time of the episode are used up.
        """
        return self.submit("sh", command, stdin=stdin)

    def promql(
        self, query: str, *, start: float | None = None, end: float | None = None, step: float | str = 15
    ) -> list[dict[str, Any]] | list[Any]:
        """Ask the cluster's Prometheus, as an operator does through the API server; a look like any HTTP look.

        Args:
            start, end: of a range, Unix seconds; without them the query is of now. step: seconds or a duration.

        Returns:
            The `result` as Prometheus' HTTP API gives it: series with `value` or `values`, of a scalar or a string a
            pair of time and text.

        Raises:
            QueryError: it refused the query, or there is none (see `sandbox(telemetry=True)`).
            ValueError: a range without an end or a begin.
            BudgetExceeded: as of `kubectl`.
        """
        asked = [("query", query)]
        if (start is None) != (end is None):
            raise ValueError("a range has a start and an end")
        if start is not None:
            asked += [("start", str(start)), ("end", str(end)), ("step", str(step))]
        path = "/api/v1/query" if start is None else "/api/v1/query_range"
        found: list[Any] = self._asked(observability.prometheus(path, asked))["result"]
        return found

    def logql(
        self,
        query: str,
        *,
        start: float | None = None,
        end: float | None = None,
        step: float | str | None = None,
        limit: int = 100,
        direction: str = "backward",
    ) -> list[dict[str, Any]] | list[Any]:
        """Ask the cluster's Loki, as `promql` asks Prometheus.

        Args:
            start, end: Unix seconds. Lines are looked for in the last hour, if nothing else is said; a metric query
                without a start is of now. step: between values of a range, seconds or a duration.
            limit: most lines, the newest of them unless `direction` is `forward`.

        Returns:
            The `result` as Loki's HTTP API gives it: streams with `values` (pairs of Unix nanoseconds and line), or
            series with `value` or `values`.

        Raises:
            QueryError: it refused the query, or there is none.
            BudgetExceeded: as of `kubectl`.
        """
        given = {"query": query, "start": start, "end": end, "step": step, "limit": limit, "direction": direction}
        lines = query.lstrip(" \t\n(").startswith("{")
        path = "/loki/api/v1/query_range"
        if not lines and start is None:
            path = "/loki/api/v1/query"
            given = {"query": query, "time": end}
        asked = [(name, _text(value)) for name, value in given.items() if value is not None]
        found: list[Any] = self._asked(observability.loki(path, asked))["result"]
        return found

    def alerts(self) -> list[dict[str, Any]]:
        """Alerts that are pending or firing in the cluster's Prometheus. Raises as `promql`."""
        found: list[dict[str, Any]] = self._asked(observability.prometheus("/api/v1/alerts"))["alerts"]
        return found

    def traces(
        self, trace_id: str = "", *, service: str = "", lookback: str = "1h", limit: int = 20, **query: str
    ) -> list[dict[str, Any]]:
        """Ask the cluster's Jaeger for traces, as an operator does through the API server; a look like any HTTP look.

        Args:
            trace_id: of one trace; else those of which a span of `service` began in the last `lookback` (a Go
                duration), the newest `limit` of them.
            query: further parameters of Jaeger's `/api/traces`: `operation`, `tags` (JSON), `minDuration`, ...

        Returns:
            Traces as its HTTP API gives them: `traceID`, `spans`, `processes`.

        Raises:
            QueryError: it refused the query, knows no such trace, or there is none.
            ValueError: a lookback that is no duration.
            BudgetExceeded: as of `kubectl`.
        """
        path = f"/api/traces/{quote(trace_id, safe='')}" if trace_id else "/api/traces"
        end_us = unix_us(self.world.sim.now)
        asked = {"service": service, "start": str(end_us - parse_duration(lookback) // MICROSECOND)}
        asked |= {"end": str(end_us), "limit": str(limit), **query}
        request = observability.jaeger(self.world.api.handle, path, () if trace_id else tuple(asked.items()))
        answer = self._looked(request)
        return observability.traces_of(answer.wire.code, answer.wire.body)

    def _asked(self, request: HttpRequest) -> Any:
        """The data of an answer of Prometheus or Loki."""
        answer = self._looked(request)
        return observability.data_of(answer.wire.code, answer.wire.body)

    def _looked(self, request: HttpRequest) -> HttpAnswer:
        """An answer. Raises QueryError: there is none."""
        answer = self.submit("http", http.written(request, "look", counts=True))
        if not isinstance(answer, HttpAnswer):
            raise observability.QueryError(answer.stderr.strip() or "interrupted")
        return answer

    def node(self, name: str) -> RemoteShell:
        """A root shell on a node."""
        return RemoteShell(self, "node", name)

    def container(self, name: str) -> RemoteShell:
        """A shell in a container: `NAMESPACE/POD` or `NAMESPACE/POD/CONTAINER`."""
        return RemoteShell(self, "container", name)

    def wait(self, duration: str) -> None:
        """Let simulated time pass.

        Raises:
            ValueError: no Go duration, negative, or over a day.
            BudgetExceeded: the time of the episode is used up.
        """
        if self.submit("wait", duration).exit_code == INTERRUPTED:
            raise self.inbox.out_of_time()

    def think(self, duration: str) -> None:
        """Let simulated time pass that is not counted as a command, up to the end of the budget. Raises ValueError."""
        span_ns = parse_duration(duration)
        if span_ns < 0:
            raise ValueError(f"time does not run backwards: {duration}")
        if span_ns:
            self.inbox.follow(bool, span_ns, span_ns)

    def diagnose(self, answer: str | dict[str, Any]) -> None:
        """Submit the diagnosis: a free text, or `{component, mechanism, details, scope}`. The last one counts.

        Raises:
            ValueError: neither a text nor a dictionary, or nothing that JSON can carry.
        """
        self.submit("diagnose", plainjson.dumps(answer, "the diagnosis"))

    def snapshot(self) -> Snapshot[Self]:
        """A copy at rest, from which any number of live ones can be restored."""
        return Snapshot(self)

    def fork(self) -> Self:
        """A second one with the same past; both futures are real."""
        return fork(self)

    def log_header(self) -> dict[str, Any]:
        """The header of the replay log."""
        inbox = self.inbox
        return {
            "clock": inbox.policy.model_dump(),
            "budget": inbox.budget.model_dump(),
            "versions": log.versions(),
        }

    def end(self, outcome: str = "done") -> log.End:
        """The last line of the replay log, if the session ends now."""
        return log.End(outcome, self.world.sim.now, False, self.digest)

    def write_log(self, path: Path, outcome: str = "done", **header: Any) -> None:
        """Write the replay log. Raises OSError, and ValueError if the header is no plain JSON.

        Args:
            outcome: how the session ended.
            header: what else stands in the header.
        """
        log.write(path, {**self.log_header(), **header}, self.commands, self.end(outcome))

    # What the inbox tells its owner.

    def admit(self, request: Request) -> None:
        """Everything is taken."""

    def before_write(self) -> None:
        """Nothing to be done."""

    def answered(self, command: log.Command, effect: Effect, result: Outcome) -> None:
        """Nothing to be done."""


def _text(value: object) -> str:
    """A parameter: instants with all their digits, as Loki reads them."""
    return f"{value:.9f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
