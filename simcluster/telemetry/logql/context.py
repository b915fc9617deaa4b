"""What an evaluation needs besides the tree, and how it fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from simcluster.telemetry.logql.files import FileLines
from simcluster.telemetry.logql.storage import Line, LogSource, Stream
from simcluster.telemetry.promql.storage import Labels, Matcher

#: A value for each step, None where there is none.
Row = list[float | None]
Rows = dict[Labels, Row]
#: `max_query_series` of Loki's limits.
MAX_SERIES = 500
#: `max_query_bytes_read`: what can be looked through, and taken apart, in the two seconds that a query may take here.
MAX_BYTES_READ, MAX_BYTES_PARSED = 64 << 20, 8 << 20
#: What is worded when it is read costs so many times what is only looked through.
WORDING = 3


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

    def select(self, matchers: Sequence[Matcher], from_ns: int, to_ns: int, needle: str = "") -> list[Stream]:
        """Streams of a selector with their lines in [from_ns, to_ns), of which those with `needle` are wanted.

        Reading them raises QueryError where it is more than a query may read.
        """
        found = self.source.select(matchers, from_ns, to_ns, needle)
        self.streams += len(found)
        return found

    def read(self, lines: Iterable[Line], *, lazily: bool) -> Iterator[Line]:
        """Lines as they are read.

        Raises:
            QueryError: it is more than a query may read.
        """
        weight = WORDING if lazily else 1
        for line in lines:
            self._read += weight * len(line[1])
            if self._read > MAX_BYTES_READ:
                raise _too_much(self._read, MAX_BYTES_READ)
            yield line

    def forward(self, stream: Stream) -> Iterator[Line]:
        """A stream's lines, oldest first."""
        return self.read(stream.entries, lazily=isinstance(stream.entries, FileLines))

    def backward(self, stream: Stream) -> Iterator[Line]:
        """A stream's lines, newest first."""
        return self.read(reversed(stream.entries), lazily=isinstance(stream.entries, FileLines))

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
