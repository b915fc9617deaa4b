"""Log lines of a server's requests, worded when somebody reads them.

Every request prints what its operation says: lines at its begin, lines at its end, with the duration that it has
taken by then. What is kept of a tick are counts and laws (`Began`: of requests that began in it or before) or, where
queues are followed, instants (`Passed`); lines are a pure function of them. A line stands in the entry of the tick in
which its instant lies: what has not happened is in no log, and a process that dies leaves no end.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from simcluster.engine import Shared
from simcluster.engine.arithmetic import exp
from simcluster.engine.streams import mix, uniform_at
from simcluster.models.apps.marks import Spoken, fill, may_contain, value_of
from simcluster.models.tracing.correlation import Ids, correlated
from simcluster.models.traffic.cluster.causes import Cause
from simcluster.models.traffic.cluster.distribution import Latency, draw, humps_of
from simcluster.models.traffic.cluster.operations import LogTemplate
from simcluster.models.traffic.cluster.server import Failed, Served
from simcluster.models.traffic.exemplars.spans import Printed
from simcluster.telemetry.logs import FRAME_BYTES, LazyLines, LogLine, Reading

#: A duration is at most so many standard deviations above the mean: waits and services have exponential tails,
#: a log-normal law that stands for them is heavier far out (of an exponential law 2e-6 lie beyond).
LONGEST = 12.0
#: Between two lines that a program prints one after the other.
STEP_NS = 20_000


class Moment(NamedTuple):
    """A line that is not worded yet; `ids` of its span, if it is known by that."""

    t_ns: int
    template: LogTemplate
    spoken: Spoken
    ids: Ids | None = None


class Wording(Shared):
    """How a program words its lines; `pod` is where it runs."""

    __slots__ = ("pod",)

    def __init__(self, pod: str) -> None:
        self.pod = pod

    def __reduce__(self) -> tuple[type[Wording], tuple[str]]:
        return (Wording, (self.pod,))

    def text(self, template: LogTemplate, spoken: Spoken) -> str:
        """A template with what its marks stand for; empty if nothing is printed."""
        return fill(template.text, partial(value_of, spoken))


def _instant(moment: Moment) -> int:
    return moment.t_ns


class _Group(NamedTuple):
    """Requests alike: how many, what they print, how long they take at random and then for certain."""

    requests: int
    templates: tuple[LogTemplate, ...]
    status: int
    cause: Cause | None
    law: Latency
    after_ns: int


class Began(NamedTuple):
    """Requests that began in the `span_ns` before an instant; `key` is that of their draws."""

    t_ns: int
    span_ns: int
    key: int
    served: tuple[Served, ...]
    failed: tuple[Failed, ...]

    @property
    def last_ns(self) -> int:
        """When the last of them has ended."""
        took = [longest(each.latency) for each in self.served if each.log]
        took += [longest(each.before) + each.after_ns for each in self.failed]
        return self.t_ns + math.ceil(max(took, default=0.0))

    @property
    def source(self) -> tuple[object, ...]:
        """What its lines follow from: where no call failed, in any world; where some did, in one."""
        return self.key, self.t_ns, self.span_ns, self.served

    def logs(self) -> Iterator[tuple[LogTemplate, ...]]:
        """What its requests print."""
        yield from (each.log for each in self.served)
        yield from (each.call.log for each in self.failed)

    def groups(self) -> Iterator[_Group]:
        """Those that print something."""
        for s in self.served:
            yield _Group(s.requests, s.log, s.status, None, s.latency, 0)
        for f in self.failed:
            status = f.call.status if f.call.required else f.operation.status
            yield _Group(f.calls, f.call.log, status, f.cause, f.before, int(f.after_ns))


def longest(law: Latency) -> float:
    """No request takes longer."""
    return law.mean + LONGEST * math.sqrt(law.variance)


class Passed(NamedTuple):
    """Requests that began, or ended, in a tick in which queues were followed: 64-bit integers, one for each.

    Attributes:
        templates: what they print: that of the begin if there are no `ends`.
        numbers: of the requests, since the process began.
    """

    templates: tuple[LogTemplate, ...]
    status: int
    cause: Cause | None
    starts: bytes
    ends: bytes
    numbers: bytes


class Traced(NamedTuple):
    """What a followed request prints, and the ids of its span."""

    printed: Printed
    ids: Ids

    @property
    def templates(self) -> tuple[LogTemplate, ...]:
        """Of its lines."""
        return tuple(template for template in self.printed.log if template.begins == self.printed.begins)


class RequestLines(LazyLines):
    """What a server prints in a tick, (`since_ns`, `t_ns`].

    Args:
        began: ticks whose requests may print something now.
        key: of the details of requests of followed queues; `passed`: those.
        traced: of requests that were followed one by one.
    """

    __slots__ = ("_began", "_key", "_passed", "_since_ns", "_t_ns", "_traced", "_wording")

    def __init__(
        self,
        since_ns: int,
        t_ns: int,
        wording: Wording,
        began: tuple[Began, ...],
        key: int = 0,
        passed: tuple[Passed, ...] = (),
        traced: tuple[Traced, ...] = (),
    ) -> None:
        self._since_ns = since_ns
        self._t_ns = t_ns
        self._wording = wording
        self._began = began
        self._key = key
        self._passed = passed
        self._traced = traced

    def __reduce__(self):  # type: ignore[no-untyped-def]  # a tuple of all arguments
        return (
            RequestLines,
            (self._since_ns, self._t_ns, self._wording, self._began, self._key, self._passed, self._traced),
        )

    @property
    def size_bytes(self) -> int:
        """Of the requests whose ends are not known those that begin now stand for those that end."""
        return sum(requests * _size_of(log) for requests, log in self._counted())  # integers

    @property
    def count(self) -> int:
        """In the same way."""
        return sum(requests * len(log) for requests, log in self._counted())  # integers

    def _counted(self) -> Iterator[tuple[int, tuple[LogTemplate, ...]]]:
        for traced in self._traced:
            yield 1, traced.templates
        for each in self._passed:
            yield len(each.numbers) // 8, each.templates
        newest = self._began[-1] if self._began and self._began[-1].t_ns == self._t_ns else None
        if newest is not None:
            for served in newest.served:
                yield served.requests, served.log
            for failed in newest.failed:
                yield failed.calls, failed.call.log

    @property
    def span(self) -> tuple[int, int]:
        """Its tick."""
        return self._since_ns, self._t_ns

    def _logs(self) -> Iterator[tuple[LogTemplate, ...]]:
        """What its requests may print."""
        return chain(
            (log for began in self._began for log in began.logs()),
            (passed.templates for passed in self._passed),
            (traced.templates for traced in self._traced),
        )

    @property
    def streams(self) -> tuple[str, ...]:
        """Where its requests may print."""
        return tuple(dict.fromkeys(template.stream for log in self._logs() for template in log))

    @property
    def wordings(self) -> tuple[str, ...]:
        """The templates of its requests, in its pod."""
        texts = dict.fromkeys(template.text for log in self._logs() for template in log)
        return tuple(text.replace("{pod}", self._wording.pod) for text in texts)

    def lines(self, last: int | None = None, needle: str = "", reading: Reading | None = None) -> list[LogLine]:
        """The lines, in order of time; or at least the `last` ones, and those that contain `needle`."""
        drawn = self._drawn(needle, reading if reading is not None else Reading())
        moments = sorted(chain(drawn, self._known(needle), self._followed()), key=_instant)
        if last is not None:
            moments = moments[max(0, len(moments) - last) :]
        return [
            LogLine(moment.t_ns, moment.template.stream, text)
            for moment in moments
            for whole in [self._wording.text(moment.template, moment.spoken)]
            if whole
            for text in (correlated(whole, moment.ids) if moment.ids is not None else whole).split("\n")
        ]

    def _followed(self) -> Iterator[Moment]:
        """Lines of requests that were followed one by one."""
        for traced in self._traced:
            one, pod = traced.printed, self._wording.pod
            for place, template in enumerate(traced.templates):
                took = one.t_ns - one.start_ns
                at = min(one.t_ns + place * STEP_NS, self._t_ns) if one.begins else one.t_ns
                if one.begins or took > template.above_ns:
                    yield Moment(at, template, Spoken(at, took, one.key, one.status, one.cause, pod), traced.ids)

    def _drawn(self, needle: str, reading: Reading) -> Iterator[Moment]:
        """What requests that began in this tick or before print in this one."""
        since_ns, t_ns, pod = self._since_ns, self._t_ns, self._wording.pod
        for began in self._began:
            for group, lines in reading.of(began.source, partial(_printed, began, needle)):
                first = bisect_right(lines, since_ns, key=_AT)
                for at, place, took, key in lines[first : bisect_right(lines, t_ns, lo=first, key=_AT)]:
                    spoken = Spoken(at, took, key, group.status, group.cause, pod)
                    yield Moment(at, group.templates[place], spoken)

    def _known(self, needle: str) -> Iterator[Moment]:
        """Lines of the begin of those that began, lines of the end of those that ended."""
        for group in self._passed:
            starts, numbers = array("q", group.starts), array("q", group.numbers)
            ends = array("q", group.ends) if group.ends else starts
            for start, end, number in zip(starts, ends, numbers, strict=True):
                key, took = mix(self._key, number), end - start
                for place, template in enumerate(group.templates):
                    if may_contain(template.text, needle):
                        at = end if group.ends else min(start + place * STEP_NS, self._t_ns)
                        spoken = Spoken(at, took, key, group.status, group.cause, self._wording.pod)
                        yield Moment(at, template, spoken)


#: Of a line: its instant, which of its request's templates it is, how long that took, and the key of its details.
_Line = tuple[int, int, int, int]
_AT = itemgetter(0)


def _printed(began: Began, needle: str) -> tuple[int, list[tuple[_Group, list[_Line]]]]:
    """Every line that requests ever print, how many and by group in order of time; those that may contain `needle`."""
    found = []
    position = 0
    for group in began.groups():
        places = [place for place, each in enumerate(group.templates) if may_contain(each.text, needle)]
        if places:
            found.append((group, sorted(_lines_of(began, group, position, places), key=_AT)))
        position += group.requests
    return sum(len(lines) for _, lines in found), found  # integers


def _lines_of(began: Began, group: _Group, position: int, places: list[int]) -> Iterator[_Line]:
    law, limit = group.law, longest(group.law)
    plain = len(group.templates) == 1 and group.templates[0].begins and group.templates[0].above_ns < 0
    lasts = humps_of(law) if law.mean > 0.0 and not plain else None
    first = began.t_ns - began.span_ns
    for number in range(position + 1, position + 1 + group.requests):
        key = mix(began.key, number)
        start = first + 1 + int(uniform_at(key, 0) * began.span_ns)
        took = group.after_ns
        if lasts is not None:
            took += int(min(exp(draw(lasts, uniform_at(key, 50))), limit))
        for place in places:
            template = group.templates[place]
            if took > template.above_ns:
                yield start + (min(place * STEP_NS, took) if template.begins else took), place, took, key


def _size_of(templates: Sequence[LogTemplate]) -> int:
    """Bytes of the lines of one request: what marks stand for is about as long as they are, stamps are longer."""
    return sum(len(template.text) + 2 * FRAME_BYTES for template in templates)  # integers
