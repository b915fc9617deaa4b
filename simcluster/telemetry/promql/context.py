"""What an evaluation knows: instants, samples, limits, and what it notes beside the result."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simcluster.telemetry.promql.native import Native
from simcluster.telemetry.promql.storage import Labels, LabelSets, Queryable

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

#: `--query.lookback-delta`.
LOOKBACK_MS = 300_000
#: `--query.max-samples` is 50 million in Prometheus, and its timeout two minutes. Cost stands for both here: a window's
#: sample takes about 20 ns and a point of a result about 60 bytes at its peak, so these bounds keep 2 s and 300 MB.
MAX_SAMPLES = 30_000_000
MAX_POINTS = 2_500_000
MAX_SELECTED = 4_000_000
TOO_MANY_SAMPLES = "query processing would load too many samples into memory in query execution"
#: `api.maxPointsPerSeries` of Prometheus' web API.
MAX_STEPS = 11_000


class QueryError(Exception):
    """A query that cannot be answered.

    Attributes:
        kind: `errorType` of the API: `execution`, `bad_data`, `timeout`, `internal`.
    """

    def __init__(self, message: str, kind: str = "execution") -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class Options:
    """How a server evaluates.

    Attributes:
        closed: ranges and lookback include their left end, and rates extrapolate as in 2.x.
        delayed_names: the feature `promql-delayed-name-removal`: names go at the end of a query.
        lookback_ms: how old the sample of an instant may be.
        default_step_ms: of subqueries without a step; the server's evaluation interval.
        experimental: the feature `promql-experimental-functions`.
        brief: nobody reads the notes, so that what cannot change the result is not evaluated.
    """

    closed: bool = False
    delayed_names: bool = False
    lookback_ms: int = LOOKBACK_MS
    default_step_ms: int = 60_000
    experimental: bool = True
    brief: bool = False


class Spent:
    """Samples that a query has read, and points that it holds.

    Attributes:
        samples: handed to functions, and held; selected: of the series of its selectors.
    """

    def __init__(self) -> None:
        self.samples = self.selected = 0

    def select(self, count: int) -> None:
        """Samples of the series of one selector, over all steps.

        Raises:
            QueryError: there are too many.
        """
        self.selected += count
        if count > MAX_SELECTED:
            raise QueryError(TOO_MANY_SAMPLES)

    def read(self, count: int) -> None:
        """Samples that windows hand to a function.

        Raises:
            QueryError: there were too many.
        """
        self.samples += count
        if self.samples > MAX_SAMPLES:
            raise QueryError(TOO_MANY_SAMPLES)

    def hold(self, rows: int, steps: int) -> None:
        """A result of so many series and steps.

        Raises:
            QueryError: it is too large.
        """
        self.read(rows * steps // 4)
        if rows * steps > MAX_POINTS:
            raise QueryError(TOO_MANY_SAMPLES)


@dataclass(frozen=True)
class Context:
    """One evaluation over the instants `times` (milliseconds); `start` and `end` are those of the whole query.

    Attributes:
        ranged: whether it is a range query, whose series come ordered by labels.
    """

    store: Queryable
    text: str
    times: Ints
    start: int
    end: int
    step: int
    options: Options = Options()
    ranged: bool = False
    spent: Spent = field(default_factory=Spent)
    warnings: dict[str, None] = field(default_factory=dict)
    infos: dict[str, None] = field(default_factory=dict)

    @property
    def steps(self) -> int:
        """How many instants there are."""
        return len(self.times)

    def during(self, times: Ints, step: int) -> Context:
        """The same evaluation at other instants, as a subquery needs."""
        return replace(self, times=times, step=step)

    def warn(self, message: str, at: int) -> None:
        """A `PromQL warning` that points at an offset of the text."""
        self.warnings[f"PromQL warning: {message} ({self._place(at)})"] = None

    def inform(self, message: str, at: int) -> None:
        """A `PromQL info` that points at an offset of the text."""
        self.infos[f"PromQL info: {message} ({self._place(at)})"] = None

    def _place(self, at: int) -> str:
        before = self.text[:at]
        return f"{before.count(chr(10)) + 1}:{at - before.rfind(chr(10))}"


class NativeRow(NamedTuple):
    """A series of native histograms: samples by step; `dropped` as of a vector's rows."""

    labels: Labels
    dropped: bool
    samples: dict[int, Native]


@dataclass
class Vector:
    """Instant vectors of all steps: a row a series, a column a step.

    Attributes:
        present: where there is a sample; values elsewhere mean nothing.
        dropped: of each row, whether its name goes at the end of the query (only with delayed names).
        natives: series of native histograms, which most functions pass over.
    """

    labels: list[Labels]
    values: Floats
    present: Bools
    dropped: list[bool]
    natives: list[NativeRow] = field(default_factory=list)

    @staticmethod
    def of(labels: list[Labels], values: Floats, present: Bools) -> Vector:
        """Rows that keep their names."""
        return Vector(labels, values, present, [False] * len(labels))

    @staticmethod
    def empty(steps: int) -> Vector:
        """No series."""
        return Vector([], np.zeros((0, steps)), np.zeros((0, steps), dtype=bool), [])

    def rows(self, kept: list[int]) -> Vector:
        """Only these rows, in this order."""
        labels = [self.labels[i] for i in kept]
        if isinstance(self.labels, LabelSets):
            labels = _some(self.labels, tuple(kept))
        return Vector(labels, self.values[kept], self.present[kept], [self.dropped[i] for i in kept])

    def filled(self) -> Vector:
        """Without rows that have no sample."""
        some = self.present.any(axis=1)
        if bool(some.all()):
            return self
        result = self.rows([int(i) for i in np.flatnonzero(some)])
        result.natives = self.natives
        return result


#: What an expression evaluates to: series, a scalar of every step, or text.
Value: TypeAlias = Vector | Floats | str
Kind: TypeAlias = Literal["vector", "matrix", "scalar", "string"]


def get(labels: Labels, name: str) -> str:
    """The value of a label, empty if it is not there."""
    for key, value in labels:
        if key == name:
            return value
    return ""


def without(labels: Labels, *names: str) -> Labels:
    """The other labels."""
    return tuple(pair for pair in labels if pair[0] not in names)


def nameless(ctx: Context, vector: Vector) -> Vector:
    """The same samples under labels without the name: at once, or marked to lose it at the end.

    Raises:
        QueryError: two series would be the same at one instant.
    """
    if ctx.options.delayed_names:
        natives = [NativeRow(row.labels, True, row.samples) for row in vector.natives]
        return Vector(vector.labels, vector.values, vector.present, [True] * len(vector.labels), natives)
    if isinstance(vector.labels, LabelSets) and not vector.natives and not any(vector.dropped):
        known = _nameless(vector.labels)
        if known is not None:
            vector.labels = known
            return vector
    vector.labels = [without(labels, "__name__") for labels in vector.labels]
    vector.natives = [NativeRow(without(row.labels, "__name__"), False, row.samples) for row in vector.natives]
    return merged(vector)


@lru_cache(maxsize=512)
def _some(given: LabelSets, kept: tuple[int, ...]) -> LabelSets:
    """Labels of some rows, in this order."""
    return LabelSets(given[row] for row in kept)


@lru_cache(maxsize=1024)
def _nameless(given: LabelSets) -> LabelSets | None:
    """Labels without names; None if some are the same then."""
    found = LabelSets(without(labels, "__name__") for labels in given)
    return found if len(dict.fromkeys(found)) == len(found) else None


def merged(vector: Vector) -> Vector:
    """Rows with the same labels as one.

    Raises:
        QueryError: two of them have a sample at the same instant.
    """
    vector.natives = _natives_merged(vector.natives)
    places: dict[tuple[Labels, bool], list[int]] = {}
    for index, labels in enumerate(vector.labels):
        places.setdefault((labels, vector.dropped[index]), []).append(index)
    if len(places) == len(vector.labels):
        return vector
    if bool(
        (
            np.add.reduceat(
                vector.present[list(chain.from_iterable(places.values()))], _starts(places), axis=0, dtype=np.int64
            )
            > 1
        ).any()
    ):
        raise QueryError("vector cannot contain metrics with the same labelset")
    values = np.stack([_joined(vector, rows) for rows in places.values()])
    present = np.stack([vector.present[rows].any(axis=0) for rows in places.values()])
    return Vector([key[0] for key in places], values, present, [key[1] for key in places], vector.natives)


def _natives_merged(rows: list[NativeRow]) -> list[NativeRow]:
    found: dict[tuple[Labels, bool], dict[int, Native]] = {}
    for row in rows:
        samples = found.setdefault((row.labels, row.dropped), {})
        if samples.keys() & row.samples.keys():
            raise QueryError("vector cannot contain metrics with the same labelset")
        samples.update(row.samples)
    return [NativeRow(labels, dropped, samples) for (labels, dropped), samples in found.items() if samples]


def _starts(places: dict[tuple[Labels, bool], list[int]]) -> list[int]:
    starts, at = [], 0
    for rows in places.values():
        starts.append(at)
        at += len(rows)
    return starts


def _joined(vector: Vector, rows: list[int]) -> Floats:
    joined: Floats = vector.values[rows[0]].copy()
    for row in rows[1:]:
        joined = np.where(vector.present[row], vector.values[row], joined)
    return joined


def named_at_last(vector: Vector) -> Vector:
    """Names that were to go are gone.

    Raises:
        QueryError: two series are then the same.
    """
    if not any(vector.dropped) and not any(row.dropped for row in vector.natives):
        return vector
    labels = [
        without(each, "__name__") if dropped else each
        for each, dropped in zip(vector.labels, vector.dropped, strict=True)
    ]
    natives = [
        NativeRow(without(row.labels, "__name__") if row.dropped else row.labels, False, row.samples)
        for row in vector.natives
    ]
    return merged(Vector(labels, vector.values, vector.present, [False] * len(labels), natives))
