"""The tree of a LogQL query."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from simcluster.telemetry.promql.storage import Matcher


class LineFilter(NamedTuple):
    """`|= "a" or "b"`: one of `|=`, `!=`, `|~`, `!~`, `|>`, `!>`, and what is looked for (`ip("…")` is marked)."""

    op: str
    texts: tuple[tuple[str, bool], ...]


class LabelParser(NamedTuple):
    """`| json`, `| logfmt --strict a="b"`, `| pattern "…"`, `| regexp "…"`, `| unpack`.

    Attributes:
        fields: new labels and what is taken for them; empty for all there is.
    """

    kind: str
    text: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    flags: tuple[str, ...] = ()


class Condition(NamedTuple):
    """`| status >= 500`.

    Attributes:
        kind: `string`, `number`, `duration` (ns), `bytes` or `ip`.
    """

    name: str
    op: str
    kind: str
    value: float | str


class Both(NamedTuple):
    """Two label filters with `and` or `or` between them."""

    word: str
    left: LabelFilter
    right: LabelFilter


LabelFilter: TypeAlias = Condition | Both


class LineFormat(NamedTuple):
    """`| line_format "{{.a}}"`."""

    template: str


class LabelFormat(NamedTuple):
    """`| label_format a=b, c="{{.d}}"`: name, source, and whether that is a template."""

    formats: tuple[tuple[str, str, bool], ...]


class Choice(NamedTuple):
    """`| drop a, b="c"` or `| keep …`: names, and a condition on the value of some."""

    word: str
    labels: tuple[tuple[str, Matcher | None], ...]


class Decolorize(NamedTuple):
    """`| decolorize`."""


Stage: TypeAlias = LineFilter | LabelParser | Condition | Both | LineFormat | LabelFormat | Choice | Decolorize


class Unwrap(NamedTuple):
    """`| unwrap duration(latency) | __error__=""`."""

    label: str
    conversion: str
    filters: tuple[LabelFilter, ...]


class Selection(NamedTuple):
    """A log query: which streams, and what is done with each line."""

    matchers: tuple[Matcher, ...]
    stages: tuple[Stage, ...]


class Grouping(NamedTuple):
    """`by (…)` or `without (…)`."""

    without: bool
    labels: tuple[str, ...]


class RangeAggregation(NamedTuple):
    """`rate({…}[5m] offset 1m)`."""

    op: str
    selection: Selection
    range_ns: int
    offset_ns: int
    unwrap: Unwrap | None
    grouping: Grouping | None
    parameter: float


class VectorAggregation(NamedTuple):
    """`topk by (a) (5, …)`."""

    op: str
    inner: Metric
    grouping: Grouping | None
    parameter: float


class Matching(NamedTuple):
    """How the sides of an operation meet.

    Attributes:
        on: whether `labels` are the ones that count, or that do not.
        card: `one`, `left` (many on the left) or `right`.
    """

    on: bool = False
    labels: tuple[str, ...] = ()
    card: str = "one"
    include: tuple[str, ...] = ()
    bool_result: bool = False


class Binary(NamedTuple):
    """Two metrics and an operator."""

    op: str
    left: Metric
    right: Metric
    matching: Matching


class Number(NamedTuple):
    """A literal."""

    value: float


class Vector(NamedTuple):
    """`vector(1)`."""

    value: float


class LabelReplace(NamedTuple):
    """`label_replace(…, "dst", "$1", "src", "(.*)")`."""

    inner: Metric
    target: str
    replacement: str
    source: str
    pattern: str


Metric: TypeAlias = RangeAggregation | VectorAggregation | Binary | Number | Vector | LabelReplace
Query: TypeAlias = Selection | Metric
