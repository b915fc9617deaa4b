"""A node's journal: what systemd, the kernel and the node's daemons wrote, bounded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from simcluster.engine import AppendLog


class JournalLine(NamedTuple):
    """One line: instant, unit (`kubelet.service`; empty for the kernel), identifier, PID and text."""

    t_ns: int
    unit: str
    identifier: str
    pid: int
    text: str


class Journal:
    """Append-only; the oldest lines are lost when it is full (SystemMaxUse)."""

    def __init__(self) -> None:
        self._lines: AppendLog[JournalLine] = AppendLog(block=128, keep_blocks=48)

    def write(self, t_ns: int, unit: str, identifier: str, pid: int, text: str) -> None:
        """Append one line."""
        self._lines.append(JournalLine(t_ns, unit, identifier, pid, text))

    def __iter__(self) -> Iterator[JournalLine]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)
