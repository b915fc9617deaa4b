"""Rule files as Prometheus loads them, and their groups on their schedules.

Source: rules/manager.go and rules/group.go of Prometheus 3. An evaluation that would last longer than its interval
is missed. Left out: rules of a group that run side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from simcluster.control.process import Process
from simcluster.control.webclient import slowed
from simcluster.engine import MICROSECOND
from simcluster.models.machine.container import Container
from simcluster.models.machine.shell.files import FileError
from simcluster.models.machine.shell.tree import FileTree
from simcluster.telemetry.metrics.columns import Columns, Group, Samples, counter, gauge, labels
from simcluster.telemetry.metrics.config import Config
from simcluster.telemetry.metrics.store import MetricStore
from simcluster.telemetry.rules import answers
from simcluster.telemetry.rules.alerts import Notice
from simcluster.telemetry.rules.groups import GroupState, Rules

#: CPU time of one rule on an idle server, and of one series that it finds (magnitudes; `telemetry/rules/answers`).
RULE_NS, SERIES_NS = 200 * MICROSECOND, 2 * MICROSECOND
_GROUP = Columns(
    (
        counter("prometheus_rule_evaluations_total", "The total number of rule evaluations."),
        counter("prometheus_rule_evaluation_failures_total", "The total number of rule evaluation failures."),
        counter("prometheus_rule_group_iterations_missed_total", "The total number of rule group evaluations missed."),
        gauge("prometheus_rule_group_rules", "The number of rules."),
    )
)


class RuleManager:
    """The rules of a Prometheus process.

    Args:
        send: takes what Alertmanagers are to hear.

    Attributes:
        rules: groups, with what they found.
        sources: the files, by path, as they were read last.
    """

    def __init__(
        self, container: Container, process: Process, store: MetricStore, send: Callable[[Sequence[Notice]], None]
    ) -> None:
        self.container, self.process, self.store = container, process, store
        self.rules = Rules(url=f"http://{container.spec.pod_name}:9090")
        self.sources: dict[str, str] = {}
        self._send = send
        self._round = 0  # timers of groups that were planned before the last reload do nothing
        self._counts: dict[tuple[str, str], list[int]] = {}  # evaluations, failures, missed; by file and group

    def load(self, config: Config, folder: str) -> None:
        """Take on the rule files of a configuration in a folder.

        Raises:
            RuleFileError: one of them is wrong; then nothing changes.
            FileError: one of them cannot be read; likewise.
        """
        sources = read_sources(FileTree(self.container), config.rule_files, folder)
        if self.rules.interval_ns != config.evaluation_ns:
            self.rules.groups = []
        self.rules.interval_ns, self.rules.external = config.evaluation_ns, dict(config.external_labels)
        self.rules.offset_ms = config.offset_ms
        self.rules.load(sources)
        self.sources = sources
        self._round += 1
        for group in self.rules.groups:
            self._plan(group)

    def _plan(self, group: GroupState) -> None:
        now = self.container.sim.now
        key = (group.group.file, group.group.name)
        self.process.after(group.next_ns(now) - now, self._evaluate, key, self._round)

    def _evaluate(self, key: tuple[str, str], planned: int) -> None:
        group = next((one for one in self.rules.groups if (one.group.file, one.group.name) == key), None)
        if group is None or planned != self._round:
            return
        counts = self._counts.setdefault(key, [0, 0, 0])
        work_ns = RULE_NS * len(group.rules)
        if slowed(self.container, work_ns) > group.interval_ns:
            counts[2] += 1
            self._plan(group)
            return
        done = self.rules.evaluate(group, self.container.sim.now, self.store, self.store.record, self.store)
        counts[0] += len(group.rules)
        counts[1] += sum(state.health == "err" for state in group.rules)  # integers
        found = sum(state.cost for state in group.rules)  # integers
        self.container.use_cpu(work_ns + SERIES_NS * found)
        if done.notices:
            self._send(done.notices)
        self._plan(group)

    def exposition(self) -> Samples:
        """What it counts."""
        found = {}
        for group in self.rules.groups:
            key = (group.group.file, group.group.name)
            row = _GROUP.row((*self._counts.get(key, (0, 0, 0)), len(group.rules)))
            found[Group(_GROUP, labels(rule_group=";".join(key)))] = row
        return found

    def shown(self, kind: str, names: Sequence[Sequence[str]], with_alerts: bool) -> dict[str, Any]:
        """`/api/v1/rules`."""
        return answers.groups(self.rules, kind, names, with_alerts)

    def alerts(self) -> dict[str, Any]:
        """`/api/v1/alerts`."""
        return answers.alerts(self.rules)


def read_sources(tree: FileTree, patterns: Sequence[str], folder: str) -> dict[str, str]:
    """Texts of the files that match any of some patterns (of names in a folder, not of folders). Raises FileError."""
    found: dict[str, str] = {}
    for pattern in patterns:
        path = pattern if pattern.startswith("/") else f"{folder}/{pattern}"
        where, _, name = path.rpartition("/")
        try:
            entries = tree.entries(where)
        except FileError:
            continue  # a pattern that matches nothing is no mistake
        for entry in entries:
            if fnmatchcase(entry, name) and (name.startswith(".") or not entry.startswith(".")):
                found.setdefault(f"{where}/{entry}", tree.read(f"{where}/{entry}"))
    return found
