"""The time series database: what was scraped from every target, and what rules recorded.

Prometheus's own store (tsdb) keeps chunks of 120 samples of single series behind an index of labels. Here a block holds
the scrapes of a target; its groups are looked through by form, so that a query asks few of them, and there is no index
to keep or to copy. Left out: samples out of order, and compaction.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from simcluster.engine import Flat
from simcluster.engine.fork import FlatDict
from simcluster.telemetry.metrics.block import Block, Frame, Times, Values, block_of
from simcluster.telemetry.metrics.columns import Columns, Exposed, Group, Labels, Metric, Row, Samples
from simcluster.telemetry.metrics.matching import Honour, Selection, group_passes
from simcluster.telemetry.promql.storage import STALE_NAN, STALE_NAN_BITS, Matcher, SeriesData

#: Scrapes of a block, and of what is left open: eight minutes at 15 s.
BLOCK = 32
#: `--storage.tsdb.retention.time` of Prometheus.
RETENTION_MS = 15 * 86_400_000
#: What is written of a scrape itself.
Report = tuple[tuple[Group, Row], ...]
_NOTHING: Mapping[Group, Row] = {}
_END = struct.pack("<Q", STALE_NAN_BITS)


class TargetLog(Flat):
    """All scrapes of one target.

    Args:
        honour: what becomes of scraped labels.

    Attributes:
        changed_ms: by form, the instant of the last scrape at which a group of it was new, other than before, or gone.
    """

    __slots__ = (
        "_base", "_blocks", "_frames", "_mark", "_now", "_report", "_standing", "changed_ms", "honour",
        "series",
    )  # fmt: skip

    def __init__(self, honour: Honour) -> None:
        self.honour = honour
        self._blocks: tuple[Block, ...] = ()
        self._base: FlatDict[Group, Row] = FlatDict()  # what was there before the open frames; never changed in place
        self._frames: tuple[Frame, ...] = ()
        self._now: FlatDict[Group, Row] = FlatDict()  # what was there at the last scrape
        self._mark: tuple[str, int] | None = None  # of the last scrape's samples, if they had one
        self._report: tuple[Group, ...] = ()  # what is written of every scrape
        self.series = 0  # how many there are now, but for those of the report
        self.changed_ms: FlatDict[Columns, int] = FlatDict()
        self._standing: FlatDict[Columns, tuple[Group, ...]] | None = None

    def copy(self) -> TargetLog:
        """Another log with the same scrapes."""
        other = TargetLog.__new__(TargetLog)
        other.honour, other._blocks, other._base, other._frames = self.honour, self._blocks, self._base, self._frames
        other._now, other._mark = self._now.copy(), self._mark
        other._report, other.series, other.changed_ms = self._report, self.series, self.changed_ms.copy()
        other._standing = self._standing
        return other

    @property
    def last_ms(self) -> int:
        """Instant of the last scrape; -1 before the first."""
        return self._frames[-1].t_ms if self._frames else int(self._blocks[-1].times[-1]) if self._blocks else -1

    @property
    def shown(self) -> Samples:
        """What the last scrape showed."""
        return self._now

    @property
    def ended(self) -> tuple[Group, ...]:
        """Groups that were gone at the last scrape, if it is not sealed yet."""
        return self._frames[-1].gone if self._frames else ()

    def append(self, t_ms: int, samples: Samples, report: Callable[[int], Report] | None = None) -> None:
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
            self._report = tuple([group for group, _ in written])
            changed = (*changed, *[item for item in written if now.get(item[0]) != item[1]])
        elif own:
            gone, self._report = (*gone, *own), ()
        count = len(now)
        now.update(changed)
        if gone or len(now) != count:
            self._standing = None
        for group, _ in changed:
            self.changed_ms[group.columns] = t_ms
        for group in gone:
            del now[group]
            self.changed_ms[group.columns] = t_ms
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
            wanted = {form for form in self.changed_ms if forms.plan(form)}
            if wanted:
                yield block_of(self._base, frames, wanted)

    def standing(self) -> Mapping[Columns, tuple[Group, ...]]:
        """Groups of the last scrape, by their form."""
        if self._standing is None:
            found: dict[Columns, list[Group]] = {}
            for group in self._now:
                found.setdefault(group.columns, []).append(group)
            self._standing = FlatDict({form: tuple(groups) for form, groups in found.items()})
        return self._standing

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
    before: Mapping[Group, Row], samples: Samples, own: tuple[Group, ...]
) -> tuple[tuple[tuple[Group, Row], ...], tuple[Group, ...], int]:
    """What differs from before, what is gone (but for groups of our own), and how many series are new."""
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
    if here + len(own) < len(before):
        gone = tuple([group for group in before if group not in samples and group not in own])
    return tuple(changed), gone, added


class MetricStore:
    """Series of all targets (a `promql.storage.Queryable`).

    Attributes:
        logs: scrapes by target: its name and its labels, in the order of their first scrapes.
    """

    def __init__(self, retention_ms: int = RETENTION_MS) -> None:
        self.retention_ms = retention_ms
        self.logs: dict[tuple[str, Labels], TargetLog] = {}
        self._index: FlatDict[str, tuple[tuple[str, Labels], ...]] = FlatDict()  # metric name -> targets that show it
        self._indexed = (0, 0)  # targets and forms of the index

    def log(self, target: str, labels: Labels, *, honour: bool = False) -> TargetLog:
        """The log of a target with these labels; `honour`: scraped labels win over them. A new one, if need be."""
        found = self.logs.get((target, labels))
        if found is None:
            found = self.logs[target, labels] = TargetLog(Honour(labels, honour))
        return found

    def record(self, source: str, t_ms: int, samples: Mapping[Labels, float]) -> None:
        """What a rule found: numbers by labels, `__name__` among them. What it no longer finds has ended."""
        known = self.logs.get((source, ()))
        if not samples and (known is None or not known.shown):
            return
        rows: dict[Group, Row] = {}
        for labels, value in samples.items():
            form = _recorded(dict(labels)["__name__"])
            rows[Group(form, tuple(item for item in labels if item[0] != "__name__"))] = form.row((value,))
        log = self.log(source, (), honour=True)
        if t_ms > log.last_ms:
            log.append(t_ms, rows)

    def changed_ms(self, names: Iterable[str]) -> int:
        """When a series of one of these metrics was last new, other than before, or gone; -1 for never."""
        last = -1
        for log in self._showing(*names):
            for form, ms in log.changed_ms.items():
                if ms > last and any(name in form.by_name for name in names):
                    last = ms
        return last

    def forget(self, now_ms: int) -> None:
        """Drop what is older than the retention."""
        for target in [key for key, log in self.logs.items() if not log.forget(now_ms - self.retention_ms)]:
            del self.logs[target]
            self._indexed = (0, 0)

    def _asked(self, matchers: Sequence[Matcher]) -> Iterable[TargetLog]:
        """Logs in which there may be something that matches."""
        exact = next((one.value for one in matchers if one.name == "__name__" and one.op == "="), None)
        return self.logs.values() if exact is None else self._showing(exact)

    def _showing(self, *names: str) -> list[TargetLog]:
        """Logs of targets that show, or have shown, one of these metrics."""
        state = (len(self.logs), sum([len(log.changed_ms) for log in self.logs.values()]))  # integers
        if state != self._indexed:
            index: dict[str, dict[tuple[str, Labels], None]] = {}
            for key, log in self.logs.items():
                for form in log.changed_ms:
                    for name in form.by_name:
                        index.setdefault(name, {})[key] = None
            self._index, self._indexed = FlatDict({name: tuple(keys) for name, keys in index.items()}), state
        found = dict.fromkeys(key for name in names for key in self._index.get(name, ()))
        return [self.logs[key] for key in found]

    def select(self, matchers: Sequence[Matcher], from_ms: int, to_ms: int) -> list[SeriesData]:
        """Series that match, with their samples of a span (both ends included), sorted by labels."""
        found: dict[Labels, list[tuple[Times, Values]]] = {}
        for log in self._asked(matchers):
            selection = Selection(log.honour, matchers)
            if not selection.possible:
                continue
            composed: dict[tuple[Columns, Labels, int], Labels] = {}
            for block in log.overlapping(from_ms, to_ms, selection):
                self._take(block, selection, (from_ms, to_ms), log.honour, composed, found)
        return [SeriesData(labels, *_joined(found[labels])) for labels in sorted(found)]

    def newest(self, matchers: Sequence[Matcher], at_ms: int, lookback_ms: int) -> list[SeriesData]:
        """Series that match, each with its newest sample of (at - lookback, at]; those that have ended are left out."""
        found: dict[Labels, tuple[int, float]] = {}
        later: dict[Labels, list[tuple[Times, Values]]] = {}
        for log in self._asked(matchers):
            selection = Selection(log.honour, matchers)
            if not selection.possible or log.last_ms <= at_ms - lookback_ms:
                continue
            if log.last_ms > at_ms:
                for block in log.overlapping(at_ms - lookback_ms + 1, at_ms, selection):
                    self._take(block, selection, (at_ms - lookback_ms + 1, at_ms), log.honour, {}, later)
                continue
            _newest_of(log, selection, found)
        for labels, pieces in later.items():
            times, values = _joined(pieces)
            if labels not in found or found[labels][0] < times[-1]:
                found[labels] = (int(times[-1]), float(values[-1]))
        rows = sorted([item for item in found.items() if not _is_end(item[1][1])])
        times = np.array([t_ms for _, (t_ms, _) in rows], dtype=np.int64)
        values = np.array([value for _, (_, value) in rows])
        return [SeriesData(rows[at][0], times[at : at + 1], values[at : at + 1]) for at in range(len(rows))]

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


def _newest_of(log: TargetLog, selection: Selection, found: dict[Labels, tuple[int, float]]) -> None:
    """The samples of a target's last scrape that match."""
    shown, t_ms = log.shown, log.last_ms
    for form, groups in (*log.standing().items(), *((group.columns, (group,)) for group in log.ended)):
        for columns, asked in selection.plan(form):
            for group in groups:
                if asked and not group_passes(asked, group.labels):
                    continue
                row = shown.get(group)
                numbers = None if row is None else memoryview(row).cast("d")
                for column in columns:
                    name, own = form.series[column]
                    labels = log.honour.compose(name, group.labels, own)
                    known = found.get(labels)
                    if known is None or known[0] < t_ms:
                        found[labels] = (t_ms, STALE_NAN if numbers is None else numbers[column])


def _is_end(value: float) -> bool:
    """Whether a number is the marker that ends a series."""
    return value != value and struct.pack("<d", value) == _END


@functools.lru_cache(maxsize=512)
def _recorded(name: str) -> Columns:
    """The form of a series that a rule makes."""
    return Columns((Metric(name, "untyped", "", (("", ()),)),))


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
