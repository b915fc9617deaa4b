"""What an evaluation needs besides the tree, and how it fails."""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.telemetry.logql.storage import LogSource, Stream
from simcluster.telemetry.promql.storage import Labels, Matcher

#: A value for each step, None where there is none.
Row = list[float | None]
Rows = dict[Labels, Row]
#: `max_query_series` of Loki's limits.
MAX_SERIES = 500
#: `max_query_bytes_read`: what can be looked through, and taken apart, in the two seconds that a query may take here.
MAX_BYTES_READ, MAX_BYTES_PARSED = 64 << 20, 8 << 20


class QueryError(ValueError):
    """A query that cannot be answered; the message is the body of the answer.

    Attributes:
        status: of HTTP.
    """

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class Context:
    """A query under way.

    Attributes:
        steps: instants for which values are wanted, in nanoseconds.
        streams, lines, size_bytes, passed: what was looked at, for the statistics.
    """

    def __init__(self, source: LogSource, steps: Sequence[int]) -> None:
        self.source, self.steps = source, steps
        self.streams = self.lines = self.size_bytes = self.passed = 0
        self._read = self._parsed = 0

    def select(self, matchers: Sequence[Matcher], from_ns: int, to_ns: int) -> list[Stream]:
        """Streams of a selector with their lines in [from_ns, to_ns).

        Raises:
            QueryError: it is more than a query may read.
        """
        found = self.source.select(matchers, from_ns, to_ns)
        self.streams += len(found)
        self._read += sum(len(line) for one in found for _, line in one.entries)  # integers
        if self._read > MAX_BYTES_READ:
            raise _too_much(self._read, MAX_BYTES_READ)
        return found

    def parse(self, text: str) -> None:
        """Count a line that is taken apart.

        Raises:
            QueryError: it is more than a query may.
        """
        self._parsed += len(text)
        if self._parsed > MAX_BYTES_PARSED:
            raise _too_much(self._parsed, MAX_BYTES_PARSED)


def _too_much(size: int, limit: int) -> QueryError:
    return QueryError(
        f"the query would read too many bytes (query: {size / 1e6:.0f} MB, limit: {limit / 1e6:.0f} MB); "
        "consider adding more specific stream selectors or reduce the time range of the query"
    )


def limited(rows: Rows) -> Rows:
    """The same rows.

    Raises:
        QueryError: there are too many.
    """
    if len(rows) > MAX_SERIES:
        raise QueryError(
            f"maximum number of series ({MAX_SERIES}) reached for a single query; consider reducing query cardinality "
            "by adding more specific stream selectors, reducing the time range, or aggregating results with functions "
            "like sum(), count() or topk()"
        )
    return rows


def braces(labels: Labels) -> str:
    """Labels as messages show them.

    >>> braces((("app", "geo"), ("pod", "a")))
    '{app="geo", pod="a"}'
    """
    return "{" + ", ".join(f'{name}="{value}"' for name, value in labels) + "}"
