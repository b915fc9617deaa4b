"""What an agent reads of its node's journal, and under which labels."""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.control.logs.config import JournalConfig
from simcluster.engine import FlatDict
from simcluster.models.machine.journal import Journal, JournalLine
from simcluster.telemetry.logql.store import labelled
from simcluster.telemetry.logql.units import EPOCH_NS
from simcluster.telemetry.metrics.relabel import relabelled
from simcluster.telemetry.promql.storage import Labels

#: journald's PRIORITY as promtail spells it.
PRIORITIES = ("emerg", "alert", "crit", "error", "warning", "notice", "info", "debug")
#: Read at once.
READ_LINES = 4096
Line = tuple[Labels, int, str]


class JournalTail:
    """The journal, read on from a position.

    Args:
        host: name of the node.
    """

    def __init__(self, journal: Journal, host: str, configs: Sequence[JournalConfig], position: int) -> None:
        self.journal, self.host, self.configs = journal, host, tuple(configs)
        self.position = position
        self._labels: dict[tuple[str, str, int], tuple[Labels, ...]] = FlatDict()

    def read(self, external: Labels) -> list[Line]:
        """What is new: labels, instant (Unix nanoseconds), text."""
        if self.journal.end <= self.position or not self.configs:
            return []
        found: list[Line] = []
        fresh = list(self.journal.since(self.position))[:READ_LINES]
        self.position = max(self.position, self.journal.end - len(self.journal)) + len(fresh)
        for line in fresh:
            key = (line.unit, line.identifier, line.priority)
            known = self._labels.get(key)
            if known is None:
                made = (self._of(line, config, external) for config in self.configs)
                known = self._labels[key] = tuple(labels for labels in made if labels is not None)
            found += [(labels, EPOCH_NS + line.t_ns, line.text) for labels in known]
        return found

    def _of(self, line: JournalLine, config: JournalConfig, external: Labels) -> Labels | None:
        fields = {
            "__journal__systemd_unit": line.unit,
            "__journal__hostname": self.host,
            "__journal__transport": "journal" if line.unit else "kernel",
            "__journal_syslog_identifier": line.identifier,
            "__journal_priority": str(line.priority),
            "__journal_priority_keyword": PRIORITIES[line.priority],
        }
        found = relabelled({**fields, **dict(config.labels)}, config.rules)
        if found is None:
            return None
        shown = {name: value for name, value in found.items() if not name.startswith("__")}
        return labelled({**dict(external), **shown})
