"""One request to Loki, and what answering it reads."""

from __future__ import annotations

from typing import NamedTuple

from simcluster.telemetry.logql import answers
from simcluster.telemetry.logql.evaluation import Result
from simcluster.telemetry.logql.parameters import Parameters
from simcluster.telemetry.logql.storage import LogSource
from simcluster.telemetry.promql.answers import Answer


class Reading:
    """What answering has read: bytes of lines, and lines."""

    def __init__(self) -> None:
        self.size_bytes = self.lines = 0


class Request(NamedTuple):
    """One request, what answers it, and what that reads."""

    path: str
    values: Parameters
    source: LogSource
    reading: Reading

    def read(self, found: Result) -> None:
        """A query has been evaluated."""
        self.reading.size_bytes += found.context.size_bytes
        self.reading.lines += found.context.lines

    def result(self, found: Result) -> Answer:
        """The answer to a query."""
        self.read(found)
        return answers.result(found)
