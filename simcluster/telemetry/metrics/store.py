"""The time series database: what was scraped from every target, and what rules recorded.

Prometheus's own store (tsdb) keeps chunks of 120 samples of single series behind an index of labels. Here a block holds
the scrapes of a target; its groups are looked through by form, so that a query asks few of them, and there is no index
to keep or to copy. Left out: samples out of order, and compaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from simcluster.engine import Flat
from simcluster.engine.fork import FlatDict
from simcluster.telemetry.metrics.block import Block, Frame, Times, Values, block_of
from simcluster.telemetry.metrics.columns import Columns, Exposed, Group, Labels, Metric, Row, Samples
from simcluster.telemetry.metrics.matching import Honour, Selection, group_passes
from simcluster.telemetry.promql.storage import STALE_NAN_BITS, Matcher, SeriesData

#: Scrapes of a block, and of what is left open: eight minutes at 15 s.
BLOCK = 32
#: `--storage.tsdb.retention.time` of Prometheus.
RETENTION_MS = 15 * 86_400_000
_NOTHING: Mapping[Group, Row] = {}


class TargetLog(Flat):
    """All scrapes of one target.

    Args:
        honour: what becomes of scraped labels.
    """

    __slots__ = ("_base", "_blocks", "_frames", "_mark", "_now", "_report", "honour", "series")

    def __init__(self, honour: Honour) -> None:
        self.honour = honour
        self._blocks: tuple[Block, ...] = ()
        self._base: FlatDict[Group, Row] = FlatDict()  # what was there before the open frames; never changed in place
        self._frames: tuple[Frame, ...] = ()
        self._now: FlatDict[Group, Row] = FlatDict()  # what was there at the last scrape
        self._mark: tuple[str, int] | None = None  # of the last scrape's samples, if they had one
        self._report: Group | None = None  # what is written of every scrape
        self.series = 0  # how many there are now, but for those of the report

    def copy(self) -> TargetLog:
        """Another log with the same scrapes."""
        other = TargetLog.__new__(TargetLog)
        other.honour, other._blocks, other._base, other._frames = self.honour, self._blocks, self._base, self._frames
        other._now, other._mark = self._now.copy(), self._mark
        other._report, other.series = self._report, self.series
        return other

    @property
    def last_ms(self) -> int:
        """Instant of the last scrape; -1 before the first."""
        return self._frames[-1].t_ms if self._frames else int(self._blocks[-1].times[-1]) if self._blocks else -1

    @property
    def shown(self) -> Samples:
        """What the last scrape showed."""
        return self._now

    def append(self, t_ms: int, samples: Samples, report: Callable[[int], tuple[Group, Row]] | None = None) -> None:
        """A scrape, later than the last one; groups that are not in it have ended.

        Args:
            report: makes what is written of the scrape itself, given how many series are new.
        """
        now, known, own = self._now, self._mark, self._report
        self._mark = samples.mark if isinstance(samples, Exposed) else None
        changed: tuple[tuple[Group, Row], ...] = ()
        gone: tuple[Group, ...] = ()
        added = 0
        if known is not None and isinstance(samples, Exposed) and known in (samples.mark, samples.after):
            if samples.mark != known:
                changed = tuple([(group, row) for group, row in samples.changed if row is not None])
                gone = tuple([group for group, row in samples.changed if row is None and group in now])
            added = sum(len(group.columns) for group, _ in changed if group not in now)  # integers
        else:
            changed, gone, added = _compared(now, samples, own)
        self.series += added - sum(len(group.columns) for group in gone)  # integers
        if report is not None:
            written = report(added)
            self._report = written[0]
            changed = (*changed, written)
        elif own is not None:
            gone, self._report = (*gone, own), None
        now.update(changed)
        for group in gone:
            del now[group]
        self._keep(Frame(t_ms, changed, gone))

    def _keep(self, frame: Frame) -> None:
        self._frames = (*self._frames, frame)
        if len(self._frames) == BLOCK:
            self._blocks = (*self._blocks, block_of(self._base, self._frames))
            self._base, self._frames = self._now.copy(), ()

    def forget(self, before_ms: int) -> bool:
        """Drop blocks that end before an instant; whether something is left."""
        while self._blocks and self._blocks[0].times[-1] < before_ms:
            self._blocks = self._blocks[1:]
        return bool(self._blocks) or self.last_ms >= before_ms

    def overlapping(self, from_ms: int, to_ms: int, forms: Selection) -> Iterator[Block]:
        """Blocks with scrapes in a span, the open one among them (with the forms that a selection may take)."""
        for block in self._blocks:
            if block.times[-1] >= from_ms and block.times[0] <= to_ms:
                yield block
        frames = self._frames
        if frames and frames[-1].t_ms >= from_ms and frames[0].t_ms <= to_ms:
            wanted = {form for form in self._open_forms() if forms.plan(form)}
            yield block_of(self._base, frames, wanted)

    def _open_forms(self) -> set[Columns]:
        found = {group.columns for group in self._base}
        found.update(group.columns for frame in self._frames for group, _ in frame.changed)
        return found

    def groups(self) -> Iterator[Group]:
        """Every group that was ever there, some more than once."""
        for block in self._blocks:
            for form, by_labels in block.tracks.items():
                yield from (Group(form, labels) for labels in by_labels)
        for frame in self._frames:
            yield from (group for group, _ in frame.changed)

    @property
    def size_bytes(self) -> int:
        """Bytes of its numbers, about."""
        sealed = sum(block.size_bytes for block in self._blocks)  # integers
        return sealed + sum(len(row) for frame in self._frames for _, row in frame.changed)  # integers


def _compared(
    before: Mapping[Group, Row], samples: Samples, own: Group | None
) -> tuple[tuple[tuple[Group, Row], ...], tuple[Group, ...], int]:
    """What differs from before, what is gone (but for a group of our own), and how many series are new."""
    changed, added, here = list[tuple[Group, Row]](), 0, 0
    for item in samples.items():
        row = before.get(item[0])
        if row is None:
            added += len(item[0].columns)
        else:
            here += 1
        if row != item[1]:
            changed.append(item)
    gone: tuple[Group, ...] = ()
    if here + (own is not None) < len(before):
        gone = tuple([group for group in before if group not in samples and group != own])
    return tuple(changed), gone, added


class MetricStore:
    """Series of all targets (a `promql.storage.Queryable`).

    Attributes:
        logs: scrapes by target: its name and its labels, in the order of their first scrapes.
    """

    def __init__(self, retention_ms: int = RETENTION_MS) -> None:
        self.retention_ms = retention_ms
        self.logs: dict[tuple[str, Labels], TargetLog] = {}

    def log(self, target: str, labels: Labels, *, honour: bool = False) -> TargetLog:
        """The log of a target with these labels; `honour`: scraped labels win over them. A new one, if need be."""
        found = self.logs.get((target, labels))
        if found is None:
            found = self.logs[target, labels] = TargetLog(Honour(labels, honour))
        return found

    def record(self, source: str, t_ms: int, samples: Mapping[Labels, float]) -> None:
        """What a rule found: numbers by labels, `__name__` among them. What it no longer finds has ended."""
        rows: dict[Group, Row] = {}
        for labels, value in samples.items():
            name = dict(labels)["__name__"]
            form = Columns((Metric(name, "untyped", "", (("", ()),)),))
            rows[Group(form, tuple(item for item in labels if item[0] != "__name__"))] = form.row((value,))
        self.log(source, (), honour=True).append(t_ms, rows)

    def forget(self, now_ms: int) -> None:
        """Drop what is older than the retention."""
        for target in [key for key, log in self.logs.items() if not log.forget(now_ms - self.retention_ms)]:
            del self.logs[target]

    def select(self, matchers: Sequence[Matcher], from_ms: int, to_ms: int) -> list[SeriesData]:
        """Series that match, with their samples of a span (both ends included), sorted by labels."""
        found: dict[Labels, list[tuple[Times, Values]]] = {}
        for log in self.logs.values():
            selection = Selection(log.honour, matchers)
            if not selection.possible:
                continue
            composed: dict[tuple[Columns, Labels, int], Labels] = {}
            for block in log.overlapping(from_ms, to_ms, selection):
                self._take(block, selection, (from_ms, to_ms), log.honour, composed, found)
        return [SeriesData(labels, *_joined(found[labels])) for labels in sorted(found)]

    def _take(
        self, block: Block, selection: Selection, span: tuple[int, int], honour: Honour,
        composed: dict[tuple[Columns, Labels, int], Labels], found: dict[Labels, list[tuple[Times, Values]]],
    ) -> None:  # fmt: skip
        """The samples of a block."""
        low = int(np.searchsorted(block.times, span[0]))
        high = int(np.searchsorted(block.times, span[1], side="right"))
        for form, by_labels in block.tracks.items() if low < high else ():
            for columns, asked in selection.plan(form):
                for scraped, track in by_labels.items():
                    if asked and not group_passes(asked, scraped):
                        continue
                    places, values = track.samples(columns, (low, high), len(block.times))
                    times = block.times[places]
                    for column, numbers in zip(columns, values, strict=True):
                        key = (form, scraped, column)
                        labels = composed.get(key)
                        if labels is None:
                            name, own = form.series[column]
                            labels = composed[key] = honour.compose(name, scraped, own)
                        if len(times):
                            found.setdefault(labels, []).append((times, numbers))

    def families(self) -> dict[str, tuple[str, str]]:
        """Kind and help of every family that was scraped lately, by name (`/api/v1/metadata`)."""
        found: dict[str, tuple[str, str]] = {}
        for log in self.logs.values():
            for group in log.shown:
                for family in group.columns.families:
                    found[family.name] = (family.kind, family.text)
        return dict(sorted(found.items()))

    @property
    def size_bytes(self) -> int:
        """Bytes of its numbers, about."""
        return sum(log.size_bytes for log in self.logs.values())  # integers


def _joined(pieces: list[tuple[Times, Values]]) -> tuple[Times, Values]:
    """Samples of one series from several places, in order of time; an end that was none is left out."""
    if len(pieces) == 1:
        return pieces[0]
    times, values = np.concatenate([one for one, _ in pieces]), np.concatenate([one for _, one in pieces])
    if (times[1:] > times[:-1]).all():
        return times, values
    ended = values.view(np.uint64) == STALE_NAN_BITS
    order = np.lexsort((ended, times))  # of several at an instant a real sample first
    times, values = times[order], values[order]
    kept = np.concatenate(([True], times[1:] != times[:-1]))
    return times[kept], values[kept]
