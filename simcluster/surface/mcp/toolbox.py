"""The tools: what each does with the session. Every call is one turn at the door, charged as the command that it is."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import quote

from simcluster.api.request import Request
from simcluster.engine import format_rfc3339, parse_rfc3339
from simcluster.engine.clock import unix_us
from simcluster.models.userland.outcome import Outcome
from simcluster.surface.http.desk import Incident
from simcluster.surface.http.door import Caller, Turns
from simcluster.surface.mcp import rules
from simcluster.surface.mcp.copies import LONGEST_COPY_S, MOST_TRIED, Tried, tried
from simcluster.surface.mcp.trials import free_kubectl
from simcluster.surface.observability import QueryError, data_of, jaeger, loki, prometheus, traces_of
from simcluster.surface.protocols import BudgetExceeded
from simcluster.surface.undo import Undo

Found = TypeVar("Found")
#: Seconds that one `wait` takes at most, as agents of SREGym know it.
LONGEST_WAIT_S = 120
#: Lines that `get_logs` shows at most.
MOST_LINES = 100
_EPOCH_NS = -parse_rfc3339("1970-01-01T00:00:00Z")
#: Traces of one answer.
MOST_TRACES = 20


class Refused(Exception):
    """A tool does not do what was asked; the message is the agent's."""


class Toolbox:
    """One session's tools. All methods raise Refused where nothing was done.

    Attributes:
        undo: what the kubectl tool has written.
    """

    def __init__(self, turns: Turns, incident: Incident) -> None:
        self._turns = turns
        self._incident = incident
        self.undo = Undo(free_kubectl(turns.door))

    async def exec_kubectl_cmd_safely(self, cmd: str) -> str:
        """Run a kubectl command. It must start with `kubectl`; no pipes, no interactive commands. Writes can be taken
        back with rollback_command. The answer is cut after 10,000 characters.
        """
        try:
            words, stdin = rules.words_of(cmd)
        except ValueError as problem:
            raise Refused(str(problem)) from None
        words = rules.unattended(words)

        def run() -> Outcome:
            written = self.undo.prepare(words, stdin)
            result = self._turns.door.run("kubectl", shlex.join(words), "", stdin)
            if written is not None and result.exit_code == 0:
                self.undo.done(written)
            return result

        return _printed(await self._take(run))

    async def rollback_command(self) -> str:
        """Take the last write of exec_kubectl_cmd_safely back."""
        last = self.undo.last
        if last is None:
            return "No more actions to rollback."

        def run() -> list[Outcome]:
            commands = self.undo.take_back()
            return [self._turns.door.run("kubectl", text, "", stdin) for text, stdin in commands]

        text = "".join(_printed(result) for result in await self._take(run))
        return f"Rolled back: {last.command}\n{text}"

    async def get_previous_rollbackable_cmd(self) -> str:
        """The command that rollback_command would take back."""
        last = self.undo.last
        return last.command if last is not None else "No previous command is rollbackable."

    async def run_on_node(self, node: str, cmd: str) -> str:
        """Run a command line as root on a node (ssh)."""
        return _printed(await self._take(lambda: self._turns.door.run("node", cmd, node)))

    async def run_at_desk(self, cmd: str) -> str:
        """Run a command line of a shell at the operator's desk: kubectl, ssh, jq, curl, pipes, files."""
        return _printed(await self._take(lambda: self._turns.door.run("sh", cmd)))

    async def get_metrics(self, query: str) -> str:
        """The instant value of a PromQL query, as Prometheus answers it (JSON)."""
        return await self._prometheus("/api/v1/query", [("query", query)])

    async def get_alerts(self) -> str:
        """Alerts that are pending or firing in Prometheus (JSON)."""
        return await self._prometheus("/api/v1/alerts", [])

    async def get_logs(self, query: str, last_n_minutes: int = 15) -> str:
        """Lines of a LogQL query in the last minutes, oldest first: at most the 100 newest. Of a metric query (rate,
        count_over_time, ...) its value now (JSON).
        """
        if last_n_minutes <= 0:
            raise Refused(f"last_n_minutes must be a positive number: {last_n_minutes}")
        since = [("since", f"{last_n_minutes}m"), ("limit", str(MOST_LINES))]
        lines = query.lstrip(" \t\n(").startswith("{")
        path, more = ("/loki/api/v1/query_range", since) if lines else ("/loki/api/v1/query", [])
        found = await self._data(loki(path, [("query", query), *more]))
        return rules.shown(_lines(found["result"]) if lines else json.dumps(found))

    async def get_labels(self) -> str:
        """Names of the labels that streams in Loki have (JSON)."""
        return rules.shown(json.dumps(await self._data(loki("/loki/api/v1/labels")) or []))

    async def get_label_values(self, label: str) -> str:
        """Values of a label of streams in Loki (JSON)."""
        path = f"/loki/api/v1/label/{quote(label, safe='')}/values"
        return rules.shown(json.dumps(await self._data(loki(path)) or []))

    async def get_services(self) -> str:
        """Names of the services that have sent traces to Jaeger (JSON)."""
        return await self._jaeger("/api/services", {})

    async def get_operations(self, service: str) -> str:
        """Names of a service's operations in Jaeger (JSON)."""
        return await self._jaeger(f"/api/services/{quote(service, safe='')}/operations", {})

    async def get_traces(self, service: str, last_n_minutes: int) -> str:
        """The newest traces of a service in the last minutes, at most 20, as Jaeger answers them (JSON)."""
        if last_n_minutes <= 0:
            raise Refused(f"last_n_minutes must be positive: {last_n_minutes}")
        end_us = unix_us(self._turns.door.now_ns)
        start_us = end_us - last_n_minutes * 60_000_000
        return await self._jaeger(
            "/api/traces", {"service": service, "limit": MOST_TRACES, "start": max(0, start_us), "end": end_us}
        )

    async def get_dependency_graph(self, last_n_minutes: int = 30) -> str:
        """Which service called which how often in the last minutes, by the traces in Jaeger (JSON)."""
        if last_n_minutes <= 0:
            raise Refused(f"last_n_minutes must be positive: {last_n_minutes}")
        return await self._jaeger("/api/dependencies", {"lookback": last_n_minutes * 60_000})

    async def _jaeger(self, path: str, query: dict[str, str | int]) -> str:
        """The data of an answer of Jaeger."""
        door = self._turns.door
        try:
            asked = jaeger(door.look, path, [(key, str(value)) for key, value in query.items()])
            answer = await self._take(lambda: door.exchange(asked, Caller()))
            return rules.shown(json.dumps(traces_of(answer.wire.code, answer.wire.body)))
        except QueryError as problem:
            raise Refused(str(problem)) from None

    async def _prometheus(self, path: str, query: list[tuple[str, str]]) -> str:
        return rules.shown(json.dumps(await self._data(prometheus(path, query))))

    async def _data(self, asked: Request) -> Any:
        answer = await self._take(lambda: self._turns.door.exchange(asked, Caller()))
        try:
            return data_of(answer.wire.code, answer.wire.body)
        except QueryError as problem:
            raise Refused(str(problem)) from None

    async def wait_tool(self, seconds: int) -> str:
        """Let simulated time pass: at most 120 seconds a call."""
        if seconds < 0:
            raise Refused(f"time does not run backwards: {seconds}")
        span = min(seconds, LONGEST_WAIT_S)
        await self._take(lambda: self._turns.door.run("wait", f"{span}s"))
        return f"Waited {span} seconds."

    def offers(self, tool: str) -> bool:
        """Whether the task has it: those that work on copies of the cluster it must allow."""
        return tool not in ("fork", "counterfactual") or tool in self._incident.allowed

    async def fork(self, commands: list[str]) -> str:
        """Try commands on a copy of the cluster that is thrown away: `kubectl ...`, `node NAME COMMAND`, `wait 30s`.
        What each printed there (JSON). The cluster itself stays as it is, and no time passes in it.
        """
        self._check_copies("fork", [*commands])
        return rules.shown(json.dumps(await self._take(lambda: tried(self._turns.door.fork(), commands))))

    async def counterfactual(self, commands: list[str], looks: list[str], seconds: int = 60) -> str:
        """What would be after some seconds (at most 600) if these commands were run now, and if nothing were done: the
        answers to the looks on two copies of the cluster that are thrown away (JSON: `done`, `with`, `without`).
        """
        self._check_copies("counterfactual", [*commands, *looks])
        if not 0 <= seconds <= LONGEST_COPY_S:
            raise Refused(f"seconds must lie between 0 and {LONGEST_COPY_S}: {seconds}")

        def both() -> dict[str, list[Tried]]:
            mended, alone, span = self._turns.door.fork(), self._turns.door.fork(), f"wait {seconds}s"
            done = tried(mended, commands)
            return {
                "done": done,
                "with": tried(mended, [span, *looks])[1:],
                "without": tried(alone, [span, *looks])[1:],
            }

        return rules.shown(json.dumps(await self._take(both)))

    def _check_copies(self, tool: str, commands: list[str]) -> None:
        if not self.offers(tool):
            raise Refused(f"the task does not allow {tool!r}")
        if not 0 < len(commands) <= MOST_TRIED:
            raise Refused(f"from 1 to {MOST_TRIED} commands: {len(commands)}")

    async def get_alert(self) -> str:
        """The page that called you."""
        return self._incident.alert

    async def diagnose(self, diagnosis: str) -> str:
        """Submit a diagnosis; the last one counts. A JSON object or a text."""
        try:
            found = json.loads(diagnosis)
        except ValueError:
            found = diagnosis
        text = json.dumps(found if isinstance(found, (dict, str)) else diagnosis)
        await self._take(lambda: self._turns.door.run("diagnose", text))
        return "Diagnosis received."

    async def submit(self, ans: str) -> str:
        """Submit the present stage: first the diagnosis, then that the work is done."""
        stage = self._incident.stage
        if stage == "done":
            return "All stages completed"
        if stage not in ("diagnosis", "mitigation"):
            raise Refused(f"Cannot submit at stage: {stage!r}")
        await self._take(lambda: self._incident.submit(ans))
        return "Submission received"

    async def _take(self, what: Callable[[], Found]) -> Found:
        try:
            return await self._turns.take_long(what)
        except (ValueError, BudgetExceeded) as problem:
            raise Refused(str(problem)) from None


def _printed(result: Outcome) -> str:
    """What a command printed, its errors after its output."""
    text = rules.shown(result.stdout + result.stderr)
    return text if result.exit_code == 0 or result.stderr else f"{text}\n(exit code {result.exit_code})"


def _lines(streams: list[dict[str, Any]]) -> str:
    """Lines of all streams by time, each with its instant and whose it is."""
    listed = [
        (int(at), _whose(one["stream"]), text) for one in streams for at, text in one["values"]
    ]  # as Loki gives them: by stream
    listed.sort()
    found = [f"{format_rfc3339(at - _EPOCH_NS, digits=9)} {whose} {text}" for at, whose, text in listed]
    return "\n".join(found) if found else "No logs found."


def _whose(labels: dict[str, str]) -> str:
    known = [labels[name] for name in ("namespace", "pod", "container") if labels.get(name)]
    return "/".join(known) or labels.get("unit") or labels.get("service_name", "")
