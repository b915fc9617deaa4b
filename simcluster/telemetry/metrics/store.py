"""The time series database: what was scraped from every target, and what rules recorded.

Prometheus's own store (tsdb) keeps chunks of 120 samples of single series behind an index of labels. Here a block holds
the scrapes of a target; its groups are looked through by form, so that a query asks few of them, and there is no index
to keep or to copy. Left out: samples out of order, and compaction.
"""

from __future__ import annotations

import functools
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from simcluster.engine import Flat
from simcluster.engine.fork import FlatDict
from simcluster.telemetry.metrics.block import Block, Changes, Layout, Sheet, Stretch, Times, block_of, stretches
from simcluster.telemetry.metrics.columns import Columns, Exposed, Group, Labels, Metric, Row, Samples
from simcluster.telemetry.metrics.matching import Honour, Selection, selection_of
from simcluster.telemetry.metrics.sheets import Sheets
from simcluster.telemetry.metrics.tables import Table, chosen, merged, together
from simcluster.telemetry.promql.storage import STALE_NAN, Matcher, SeriesData, Tables

#: Scrapes of a block, and of what is left open: eight minutes at 15 s.
BLOCK = 32
#: `--storage.tsdb.retention.time` of Prometheus.
RETENTION_MS = 15 * 86_400_000
#: What is written of a scrape itself.
Report = tuple[tuple[Group, Row], ...]
#: The layout of a group without labels.
_ALONE = Layout([()])
#: Of a log: name and labels of the target.
Key = tuple[str, Labels]


class Chosen(NamedTuple):
    """What is looked for in a log: matchers, and forms that have something that may match."""

    selection: Selection
    forms: tuple[Columns, ...]


class TargetLog(Flat):
    """All scrapes of one target.

    Args:
        honour: what becomes of scraped labels.

    Attributes:
        blocks: sealed scrapes.
        changed_ms: by form, the instant of the last scrape at which a group of it was new, other than before, or gone.
        series: how many there are now, but for those of the report.
        ended: groups that were gone at the last scrape, by form.
    """

    __slots__ = (
        "_base", "_changes", "_mark", "_moved", "_now", "_report", "_times", "blocks", "changed_ms", "ended", "honour",
        "series",
    )  # fmt: skip

    def __init__(self, honour: Honour) -> None:
        self.honour = honour
        self.blocks: tuple[Block, ...] = ()
        self._base: FlatDict[Columns, Sheet] = FlatDict()  # what was there before the open scrapes; shared by copies
        self._times: tuple[int, ...] = ()  # of the open scrapes, milliseconds
        self._changes: FlatDict[Columns, Changes] = FlatDict()  # at those
        self._now: FlatDict[Columns, Sheet] = FlatDict()  # what was there at the last scrape
        self._mark: tuple[str, int] | None = None  # of the last scrape's samples, if they had one
        #: Of metrics that somebody asked after: until when they were looked at, and when they moved last.
        self._moved: FlatDict[tuple[Columns, str], tuple[int, int]] = FlatDict()
        self._report: tuple[Columns, ...] = ()  # what is written of every scrape
        self.series = 0
        self.changed_ms: FlatDict[Columns, int] = FlatDict()
        self.ended: tuple[tuple[Columns, tuple[Labels, ...]], ...] = ()

    def copy(self) -> TargetLog:
        """Another log with the same scrapes."""
        other = TargetLog.__new__(TargetLog)
        other.honour, other.blocks, other._base, other._times = self.honour, self.blocks, self._base, self._times
        other._changes = self._changes.copy()
        other._now, other._mark = self._now.copy(), self._mark
        other._report, other.series, other.changed_ms = self._report, self.series, self.changed_ms.copy()
        other.ended, other._moved = self.ended, self._moved.copy()
        return other

    @property
    def last_ms(self) -> int:
        """Instant of the last scrape; -1 before the first."""
        return self._times[-1] if self._times else int(self.blocks[-1].times[-1]) if self.blocks else -1

    @property
    def first_ms(self) -> int:
        """Instant of the first scrape that is kept; -1 before there is one."""
        return int(self.blocks[0].times[0]) if self.blocks else self._times[0] if self._times else -1

    @property
    def shown(self) -> Mapping[Columns, Sheet]:
        """What the last scrape showed."""
        return self._now

    def append(self, t_ms: int, samples: Samples, report: Callable[[int], Report] | None = None) -> None:
        """A scrape, later than the last one (by `MetricStore.take`); groups that are not in it have ended.

        Args:
            report: makes what is written of the scrape itself, given how many series are new.
        """
        known, now = self._mark, self._now
        self._mark = samples.mark if isinstance(samples, Exposed) else None
        if known is not None and isinstance(samples, Exposed) and known in (samples.mark, samples.after):
            changed = self._patched(samples.changed) if samples.mark != known else []
        else:
            changed = self._compared(samples)
        added, ended = 0, list[tuple[Columns, tuple[Labels, ...]]]()
        for form, sheet in changed:
            before = now.get(form)
            if before is not None and sheet is not None and before.layout is sheet.layout:
                continue
            gone = before.layout.without(sheet.layout if sheet is not None else None) if before is not None else ()
            fresh = sheet.layout.without(before.layout if before is not None else None) if sheet is not None else ()
            added += len(fresh) * len(form)
            self.series += (len(fresh) - len(gone)) * len(form)
            if gone:
                ended.append((form, gone))
        if report is not None:
            written = [(group.columns, Sheet(_ALONE, row)) for group, row in report(added)]
            self._report = tuple([form for form, _ in written])
            changed += [item for item in written if now.get(item[0]) != item[1]]
        elif self._report:
            changed += [(form, None) for form in self._report]
            ended += [(form, _ALONE.labels) for form in self._report]
            self._report = ()
        changes, place = self._changes, len(self._times)
        for form, sheet in changed:
            self.changed_ms[form] = t_ms
            changes[form] = (*changes.get(form, ()), (place, sheet))
            if sheet is None:
                del now[form]
            else:
                now[form] = sheet
        self.ended = tuple(ended)
        self._times = (*self._times, t_ms)
        if len(self._times) == BLOCK:
            for form, name in self._moved:
                self.moved_ms(form, name)
            self.blocks = (*self.blocks, block_of(self._base, self._times, changes))
            self._base, self._times, self._changes = now.copy(), (), FlatDict()

    def moved_ms(self, form: Columns, name: str) -> int:
        """Instant of the last scrape at which a metric of a form was new, other than before, or gone; not before.

        Of one that nobody has asked after it is known as far back as scrapes are open.
        """
        until = self.changed_ms[form]
        seen, moved = self._moved.get((form, name), (-1, -1))
        if until > seen:
            after = self._now.get(form)
            shown = self._changes.get(form, ())
            found = max(moved, int(self.blocks[-1].times[-1])) if self.blocks and seen < 0 else moved
            for at in range(len(shown) - 1, -1, -1):
                when = self._times[shown[at][0]]
                before = shown[at - 1][1] if at else self._base.get(form)
                if when <= seen:
                    break
                if _other(before, after, form, name):
                    found = when
                    break
                after = before
            moved = found
            self._moved[form, name] = until, moved
        return moved

    def _compared(self, samples: Samples) -> list[tuple[Columns, Sheet | None]]:
        """Sheets of samples that are other than before, and forms that are gone."""
        if type(samples) is Sheets:
            return self._compared_sheets(samples.sheets)
        parts: dict[Columns, tuple[list[Labels], list[Row]]] = {}
        last: Columns | None = None
        for (form, labels), row in samples.items():
            if form is not last:
                last, part = form, parts.setdefault(form, ([], []))
            part[0].append(labels)
            part[1].append(row)
        changed: list[tuple[Columns, Sheet | None]] = []
        for form, (names, rows) in parts.items():
            known, numbers = self._now.get(form), b"".join(rows)
            if known is not None and known.layout.labels == tuple(names):
                if known.rows != numbers:
                    changed.append((form, Sheet(known.layout, numbers)))
            else:
                changed.append((form, Sheet(Layout(names), numbers)))
        changed += [(form, None) for form in self._now if form not in parts and form not in self._report]
        return changed

    def _compared_sheets(self, sheets: Mapping[Columns, Sheet]) -> list[tuple[Columns, Sheet | None]]:
        """The same of what comes as sheets."""
        changed: list[tuple[Columns, Sheet | None]] = []
        for form, sheet in sheets.items():
            known = self._now.get(form)
            if known is not None and known.layout == sheet.layout:
                if known.rows == sheet.rows:
                    continue
                sheet = Sheet(known.layout, sheet.rows)
            changed.append((form, sheet))
        changed += [(form, None) for form in self._now if form not in sheets and form not in self._report]
        return changed

    def _patched(self, changes: Iterable[tuple[Group, Row | None]]) -> list[tuple[Columns, Sheet | None]]:
        """The sheets of which an exporter says what has changed."""
        parts: dict[Columns, list[tuple[Labels, Row | None]]] = {}
        for (form, labels), row in changes:
            parts.setdefault(form, []).append((labels, row))
        changed: list[tuple[Columns, Sheet | None]] = []
        for form, part in parts.items():
            known = self._now.get(form)
            if known is None:
                there = [(labels, row) for labels, row in part if row is not None]
                if there:
                    whole = b"".join([row for _, row in there])
                    changed.append((form, Sheet(Layout([labels for labels, _ in there]), whole)))
            else:
                changed.append((form, known.patched(part)))
        return changed

    def forget(self, before_ms: int) -> bool:
        """Drop blocks that end before an instant; whether something is left."""
        while self.blocks and self.blocks[0].times[-1] < before_ms:
            self.blocks = self.blocks[1:]
        return bool(self.blocks) or self.last_ms >= before_ms

    def overlapping(
        self, from_ms: int, to_ms: int, forms: Iterable[Columns]
    ) -> Iterator[tuple[Columns, Stretch, Times, int, int]]:
        """Stretches of some forms with instants of their block, and the part of it that lies in a span.

        The last block is what is open yet.
        """
        for block in self.blocks:
            if block.times[-1] >= from_ms and block.times[0] <= to_ms:
                low, high = np.searchsorted(block.times, (from_ms, to_ms + 1)).tolist()
                for form in forms if low < high else ():
                    for stretch in block.tracks.get(form, ()):
                        yield form, stretch, block.times, low, high
        if not self._times or self._times[-1] < from_ms or self._times[0] > to_ms:
            return
        span = bisect_left(self._times, from_ms), bisect_right(self._times, to_ms)
        times = np.array(self._times, dtype=np.int64)
        for form in forms if span[0] < span[1] else ():
            for stretch in stretches(self._base.get(form), self._changes.get(form, ()), span):
                yield form, stretch, times, *span

    def ever(self) -> Iterator[tuple[Columns, Layout]]:
        """Every form and groups of it that were ever there, some more than once."""
        for block in self.blocks:
            for form, found in block.tracks.items():
                yield from ((form, stretch.layout) for stretch in found)
        for form, changes in self._changes.items():
            yield from ((form, sheet.layout) for _, sheet in changes if sheet is not None)

    @property
    def size_bytes(self) -> int:
        """Bytes of its numbers, about."""
        sealed = sum(block.size_bytes for block in self.blocks)  # integers
        changed = (sheet for changes in self._changes.values() for _, sheet in changes)
        return sealed + sum(len(sheet.rows) for sheet in changed if sheet is not None)  # integers


#: Logs that show a metric, and in which forms.
Showing = Sequence[tuple[TargetLog, tuple[Columns, ...]]]


class MetricStore:
    """Series of all targets (a `promql.storage.Queryable`).

    Attributes:
        logs: scrapes by target: its name and its labels, in the order of their first scrapes.
    """

    def __init__(self, retention_ms: int = RETENTION_MS) -> None:
        self.retention_ms = retention_ms
        self.logs: dict[Key, TargetLog] = {}
        self._index: dict[str, Showing] = {}
        self._indexed = False

    def __getstate__(self) -> dict[str, object]:
        """All but the index, which a copy makes again when it is asked."""
        return {**self.__dict__, "_index": {}, "_indexed": False}

    def log(self, target: str, labels: Labels, *, honour: bool = False) -> TargetLog:
        """The log of a target with these labels; `honour`: scraped labels win over them. A new one, if need be."""
        found = self.logs.get((target, labels))
        if found is None:
            found = self.logs[target, labels] = TargetLog(Honour(labels, honour))
            self._indexed = False
        return found

    def take(self, log: TargetLog, t_ms: int, samples: Samples, report: Callable[[int], Report] | None = None) -> None:
        """A scrape of one of its logs; see `TargetLog.append`."""
        known = len(log.changed_ms)
        log.append(t_ms, samples, report)
        if len(log.changed_ms) != known:
            self._indexed = False

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
            self.take(log, t_ms, rows)

    def changed_since(self, names: Iterable[str], after_ms: int) -> bool:
        """Whether a series of one of these metrics was new, other than before, or gone after an instant.

        Of a metric that nobody has asked after before it may say so although it has not.
        """
        index = self._indices()
        for name in names:
            for log, forms in index.get(name, ()):
                changed_ms = log.changed_ms
                for form in forms:
                    if changed_ms[form] > after_ms and log.moved_ms(form, name) > after_ms:
                        return True
        return False

    def shown_by(self, names: Iterable[str], at_ms: int) -> bool:
        """Whether a target that shows, or has shown, one of these metrics was scraped at an instant or before."""
        index = self._indices()
        return any(log.first_ms <= at_ms for name in names for log, _ in index.get(name, ()))

    def forget(self, now_ms: int) -> None:
        """Drop what is older than the retention."""
        for target in [key for key, log in self.logs.items() if not log.forget(now_ms - self.retention_ms)]:
            del self.logs[target]
            self._indexed = False

    def _selected(self, matchers: Sequence[Matcher]) -> Iterator[tuple[TargetLog, Chosen]]:
        """Logs in which there may be something that matches, and what that is."""
        exact = next((one.value for one in matchers if one.name == "__name__" and one.op == "="), None)
        asked = tuple(matchers)
        found = [(log, tuple(log.changed_ms)) for log in self.logs.values()] if exact is None else None
        for log, forms in self._indices().get(exact or "", ()) if found is None else found:
            selection = selection_of(log.honour, asked)
            if selection.possible:
                yield log, Chosen(selection, forms)

    def _indices(self) -> Mapping[str, Showing]:
        """By metric name, the logs of targets that show, or have shown it, and in which forms."""
        if not self._indexed:
            index: dict[str, list[tuple[TargetLog, tuple[Columns, ...]]]] = {}
            for log in self.logs.values():
                for form in log.changed_ms:
                    for name in form.by_name:
                        showing = index.setdefault(name, [])
                        if showing and showing[-1][0] is log:
                            showing[-1] = (log, (*showing[-1][1], form))
                        else:
                            showing.append((log, (form,)))
            self._index, self._indexed = dict(index), True
        return self._index

    def _tables(self, matchers: Sequence[Matcher], from_ms: int, to_ms: int) -> list[Table]:
        return [table for log, found in self._selected(matchers) for table in _tables_of(log, found, from_ms, to_ms)]

    def select(self, matchers: Sequence[Matcher], from_ms: int, to_ms: int) -> list[SeriesData]:
        """Series that match, with their samples of a span (both ends included), sorted by labels."""
        return merged(self._tables(matchers, from_ms, to_ms))

    def tables(self, matchers: Sequence[Matcher], from_ms: int, to_ms: int) -> Tables | None:
        """The same as tables; None if samples of a series lie in several logs."""
        return together(self._tables(matchers, from_ms, to_ms))

    def newest(self, matchers: Sequence[Matcher], at_ms: int, lookback_ms: int) -> Tables | None:
        """Series that match, each with its newest sample of (at - lookback, at] at the end of its row."""
        tables: list[Table] = []
        for log, selection in self._selected(matchers):
            last_ms = log.last_ms
            if last_ms > at_ms:
                tables += _tables_of(log, selection, at_ms - lookback_ms + 1, at_ms)
            elif last_ms > at_ms - lookback_ms:
                tables += _last_of(log, selection)
        return together(tables)

    def families(self) -> dict[str, tuple[str, str]]:
        """Kind and help of every family that was scraped lately, by name (`/api/v1/metadata`)."""
        found: dict[str, tuple[str, str]] = {}
        for log in self.logs.values():
            for form in log.shown:
                for family in form.families:
                    found[family.name] = (family.kind, family.text)
        return dict(sorted(found.items()))

    @property
    def size_bytes(self) -> int:
        """Bytes of its numbers, about."""
        return sum(log.size_bytes for log in self.logs.values())  # integers


def _tables_of(log: TargetLog, wanted: Chosen, from_ms: int, to_ms: int) -> Iterator[Table]:
    """What of a target's scrapes matches in a span."""
    for form, stretch, times, low, high in log.overlapping(from_ms, to_ms, wanted.forms):
        begin, end = max(stretch.begin, low), min(stretch.end, high)
        for columns, asked in wanted.selection.plan(form) if begin < end else ():
            labels, places = chosen(log.honour, form, stretch.layout, columns, asked)
            if labels:
                yield Table(labels, times[begin:end], stretch.values(places, begin, end))
        if stretch.ended and low <= stretch.end < high:
            yield from _ends(log.honour, form, stretch.ended, wanted.selection, int(times[stretch.end]))


def _last_of(log: TargetLog, wanted: Chosen) -> Iterator[Table]:
    """What of a target's last scrape matches."""
    times = np.array([log.last_ms], dtype=np.int64)
    for form in wanted.forms:
        sheet = log.shown.get(form)
        if sheet is None:
            continue
        for columns, asked in wanted.selection.plan(form):
            labels, places = chosen(log.honour, form, sheet.layout, columns, asked)
            if labels:
                yield Table(labels, times, np.frombuffer(sheet.rows)[places][:, None])
    for form, groups in log.ended:
        yield from _ends(log.honour, form, groups, wanted.selection, log.last_ms)


def _ends(
    honour: Honour, form: Columns, groups: tuple[Labels, ...], selection: Selection, t_ms: int
) -> Iterator[Table]:
    """Markers that some groups have ended."""
    for columns, asked in selection.plan(form):
        labels, _ = chosen(honour, form, Layout(groups), columns, asked)
        if labels:
            yield Table(labels, np.array([t_ms], dtype=np.int64), np.full((len(labels), 1), STALE_NAN))


def _other(before: Sheet | None, after: Sheet | None, form: Columns, name: str) -> bool:
    """Whether the series of a metric differ between two sheets of its form."""
    if before is None or after is None or before.layout != after.layout:
        return before is not after
    one, other, width = before.rows, after.rows, 8 * len(form)
    return any(
        one[at : at + 8] != other[at : at + 8]
        for column in form.by_name[name]
        for at in range(8 * column, len(one), width)
    )


@functools.lru_cache(maxsize=512)
def _recorded(name: str) -> Columns:
    """The form of a series that a rule makes."""
    return Columns((Metric(name, "untyped", "", (("", ()),)),))
