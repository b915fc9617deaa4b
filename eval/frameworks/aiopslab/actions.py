"""The actions: logs, metrics, traces, a shell. All but the reading of files are commands that are charged.

Files of metrics and traces are kept with the session, under AIOpsLab's names and columns.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from collections.abc import Callable
from typing import Any

from simcluster.engine.clock import unix_us
from simcluster.eval.episode import Episode
from simcluster.surface.observability import QueryError
from simcluster.surface.protocols import BudgetExceeded, Outcome

#: Labels by which the applications name the service of a pod.
_LABELS = ("app", "io.kompose.service", "app.kubernetes.io/name")
#: Seconds between two samples of a metric.
STEP_S = 15
#: What the shell refuses: it would wait for somebody to type, or for ever.
_BLOCKED = {
    r"kubectl\s+(\S+\s+)*edit\b": "kubectl edit needs an editor: use kubectl patch or apply",
    r"kubectl\s+(\S+\s+)*port-forward\b": "kubectl port-forward does not end",
    r"(kubectl|docker)\s+(\S+\s+)*logs\s+(\S+\s+)*(-f|--follow)\b": "logs that are followed do not end",
}
#: Digits and what stands between them in instants: lines that differ in nothing else are shown once.
_MASKED = re.compile(r"[0-9]+([:.,TZ+-]*[0-9]+)*")


class ActionError(Exception):
    """An action that makes no sense; the message is the agent's."""


class Actions:
    """What an agent may do besides submitting.

    Args:
        episode: what it works on.
    """

    def __init__(self, episode: Episode) -> None:
        self._episode = episode
        self._files: dict[str, str] = {}

    def get_logs(self, namespace: str, service: str) -> str:
        """Logs of a service's pods.

        Args:
            namespace (str): where it runs.
            service (str): its name.

        Returns:
            str: lines; those that differ in their instants alone are shown once.
        """
        found = self._episode.kubectl(f"get pods -n {shlex.quote(namespace)} -o json")
        if found.exit_code:
            return f"Error: {found.stderr.strip()}"
        pods = [
            one["metadata"]["name"]
            for one in json.loads(found.stdout)["items"]
            if service in (one["metadata"].get("labels", {}).get(label) for label in _LABELS)
        ]
        if not pods:
            return f"Error: no pod of service {service} in namespace {namespace}"
        texts = [
            str(self._episode.kubectl(f"logs {pod} -n {shlex.quote(namespace)} --all-containers --tail=200"))
            for pod in pods
        ]
        return deduplicated("".join(texts))

    def get_metrics(self, namespace: str, duration: int = 5) -> str:
        """Metrics of the containers of a namespace.

        Args:
            namespace (str): where they run.
            duration (int): minutes until now.

        Returns:
            str: the names of the files, which read_metrics reads.
        """
        end_s = unix_us(self._episode.world.sim.now) / 1e6
        query = f'{{__name__=~"container_.+",namespace={json.dumps(namespace)}}}'
        series = self._episode.promql(query, start=end_s - 60 * duration, end=end_s, step=STEP_S)
        folder = f"metrics_output/metric_{int(end_s)}/container"
        rows: dict[str, list[tuple[Any, ...]]] = {}
        for one in series:
            labels = one["metric"]
            name = labels["__name__"]
            whose = f"{labels.get('instance', '')}.{labels.get('pod', '')}"
            rows.setdefault(name, []).extend((int(at), whose, name, value) for at, value in one["values"])
        for name, values in sorted(rows.items()):
            columns = ("timestamp", "cmdb_id", "kpi_name", "value")
            self._files[f"{folder}/kpi_{name}.csv"] = _csv(columns, values)
        listed = "\n".join(f"{folder}/kpi_{name}.csv" for name in sorted(rows))
        return listed or f"No metrics of namespace {namespace}."

    def read_metrics(self, file_path: str) -> str:
        """A file of get_metrics.

        Args:
            file_path (str): its name.

        Returns:
            str: CSV.
        """
        return self._read(file_path)

    def get_traces(self, namespace: str, duration: int = 5) -> str:
        """Traces through the services of a namespace.

        Args:
            namespace (str): where they run.
            duration (int): minutes until now.

        Returns:
            str: the name of the file, which read_traces reads.
        """
        found = self._episode.kubectl(f"get services -n {shlex.quote(namespace)} -o name")
        rows: dict[tuple[str, str], tuple[Any, ...]] = {}
        for service in found.stdout.split():
            for trace in self._episode.traces(service=service.rpartition("/")[2], lookback=f"{duration}m"):
                rows |= {(span["traceID"], span["spanID"]): _span(span, trace) for span in trace["spans"]}
        name = f"trace_output/traces_{unix_us(self._episode.world.sim.now) // 10**6}.csv"
        self._files[name] = _csv(_SPAN, [rows[key] for key in sorted(rows)])
        return f"Traces data exported to: {name}"

    def read_traces(self, file_path: str) -> str:
        """A file of get_traces.

        Args:
            file_path (str): its name.

        Returns:
            str: CSV.
        """
        return self._read(file_path)

    def exec_shell(self, command: str, timeout: int = 30) -> str:
        """A command line at the operator's desk: kubectl, ssh, curl, jq, files.

        Args:
            command (str): the line.
            timeout (int): simulated seconds it may take, where it waits.

        Returns:
            str: what it printed.
        """
        for pattern, why in _BLOCKED.items():
            if re.search(pattern, command):
                return f"Error: {why}"
        done: Outcome = self._episode.sh(command)
        if done.exit_code:
            return f"[ERROR] Command execution failed: {done.stderr or done.stdout}"
        return deduplicated(done.stdout) if re.search(r"\blogs\b", command) else done.stdout

    def call(self, name: str, arguments: list[Any], named: dict[str, Any]) -> str:
        """Do an action.

        Raises:
            ActionError: there is no such action, or it does not take these arguments.
            BudgetExceeded: of the episode.
        """
        if name not in ACTIONS:
            raise ActionError(f"there is no action {name}; there are {', '.join((*ACTIONS, 'submit'))}")
        action: Callable[..., str] = getattr(self, name)
        try:
            return action(*arguments, **named)
        except BudgetExceeded:
            raise
        except (
            QueryError,
            TypeError,
            ValueError,
            AttributeError,
            LookupError,
            ArithmeticError,
            RecursionError,
        ) as problem:
            raise ActionError(f"{name}: {problem}") from None

    def _read(self, name: str) -> str:
        return self._files.get(name, f"Error: there is no file {name}")


#: Actions besides `submit`, in AIOpsLab's order.
ACTIONS = ("get_logs", "get_metrics", "read_metrics", "get_traces", "read_traces", "exec_shell")
_SPAN = (
    *("trace_id", "span_id", "parent_span", "service_name", "operation_name", "start_time", "duration"),
    *("has_error", "response"),
)


def _span(span: dict[str, Any], trace: dict[str, Any]) -> tuple[Any, ...]:
    tags = {tag["key"]: tag["value"] for tag in span.get("tags", ())}
    above = next((one["spanID"] for one in span.get("references", ()) if one["refType"] == "CHILD_OF"), "ROOT")
    response = tags.get("http.status_code", tags.get("rpc.grpc.status_code", ""))
    service = trace["processes"][span["processID"]]["serviceName"]
    failed = str(tags.get("error", False)).lower() == "true"
    times = (span["startTime"], span["duration"])
    return (span["traceID"], span["spanID"], above, service, span["operationName"], *times, failed, response)


def _csv(columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([columns, *rows])
    return text.getvalue()


def deduplicated(text: str) -> str:
    """Lines that differ from the one before in numbers alone are left out."""
    kept, last = [], None
    for line in text.splitlines():
        masked = _MASKED.sub("#", line)
        if masked != last:
            kept.append(line)
        last = masked
    return "\n".join(kept)
