"""Log lines of a server's requests, worded when somebody reads them.

Every request prints what its operation says: lines at its begin, lines at its end, with the duration that it has
taken by then. What is kept of a tick are counts and laws (`Began`: of requests that began in it or before) or, where
queues are followed, instants (`Passed`); lines are a pure function of them. A line stands in the entry of the tick in
which its instant lies: what has not happened is in no log, and a process that dies leaves no end.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

from simcluster.engine import Shared
from simcluster.engine.arithmetic import exp
from simcluster.engine.streams import mix, uniform_at
from simcluster.models.apps.marks import Spoken, fill, value_of
from simcluster.models.traffic.cluster.causes import Cause
from simcluster.models.traffic.cluster.distribution import Latency, draw, humps_of
from simcluster.models.traffic.cluster.operations import LogTemplate
from simcluster.models.traffic.cluster.server import Failed, Served
from simcluster.telemetry.logs import FRAME_BYTES, LazyLines, LogLine

#: A duration is at most so many standard deviations above the mean: waits and services have exponential tails,
#: a log-normal law that stands for them is heavier far out (of an exponential law 2e-6 lie beyond).
LONGEST = 12.0
#: Between two lines that a program prints one after the other.
STEP_NS = 20_000


class Moment(NamedTuple):
    """A line that is not worded yet."""

    t_ns: int
    template: LogTemplate
    spoken: Spoken


class Wording(Shared):
    """How a program words its lines; `pod` is where it runs."""

    __slots__ = ("pod",)

    def __init__(self, pod: str) -> None:
        self.pod = pod

    def __reduce__(self) -> tuple[type[Wording], tuple[str]]:
        return (Wording, (self.pod,))

    def text(self, template: LogTemplate, spoken: Spoken) -> str:
        """A template with what its marks stand for."""
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


class RequestLines(LazyLines):
    """What a server prints in a tick, (`since_ns`, `t_ns`].

    Args:
        began: ticks whose requests may print something now.
        key: of the details of requests that were followed; `passed`: those.
    """

    __slots__ = ("_began", "_key", "_passed", "_since_ns", "_t_ns", "_wording")

    def __init__(
        self,
        since_ns: int,
        t_ns: int,
        wording: Wording,
        began: tuple[Began, ...],
        key: int = 0,
        passed: tuple[Passed, ...] = (),
    ) -> None:
        self._since_ns = since_ns
        self._t_ns = t_ns
        self._wording = wording
        self._began = began
        self._key = key
        self._passed = passed

    def __reduce__(self):  # type: ignore[no-untyped-def]  # a tuple of all arguments
        return (
            RequestLines,
            (self._since_ns, self._t_ns, self._wording, self._began, self._key, self._passed),
        )

    @property
    def size_bytes(self) -> int:
        """Of the requests whose ends are not known those that begin now stand for those that end."""
        size = sum(_size_of(each.templates) * (len(each.numbers) // 8) for each in self._passed)  # integers
        newest = self._began[-1] if self._began and self._began[-1].t_ns == self._t_ns else None
        if newest is not None:
            size += sum(each.requests * _size_of(each.log) for each in newest.served)  # integers
            size += sum(each.calls * _size_of(each.call.log) for each in newest.failed)  # integers
        return size

    def lines(self, last: int | None = None) -> list[LogLine]:
        """The lines, in order of time; or at least the `last` ones."""
        moments = sorted(chain(self._drawn(), self._known()), key=_instant)
        if last is not None:
            moments = moments[max(0, len(moments) - last) :]
        return [
            LogLine(moment.t_ns, moment.template.stream, text)
            for moment in moments
            for text in self._wording.text(moment.template, moment.spoken._replace(t_ns=moment.t_ns)).split("\n")
        ]

    def _drawn(self) -> Iterator[Moment]:
        """Every request is drawn; what it prints in this tick counts."""
        for began in self._began:
            position = 0
            for group in began.groups():
                yield from self._of(began, group, position)
                position += group.requests

    def _of(self, began: Began, group: _Group, position: int) -> Iterator[Moment]:
        law, limit = group.law, longest(group.law)
        lasts = humps_of(law) if law.mean > 0.0 else None
        since_ns, t_ns, pod = self._since_ns, self._t_ns, self._wording.pod
        first = began.t_ns - began.span_ns
        for number in range(position + 1, position + 1 + group.requests):
            key = mix(began.key, number)
            start = first + 1 + int(uniform_at(key, 0) * began.span_ns)
            took = group.after_ns
            if lasts is not None:
                took += int(min(exp(draw(lasts, uniform_at(key, 50))), limit))
            for place, template in enumerate(group.templates):
                at = start + (min(place * STEP_NS, took) if template.begins else took)
                if since_ns < at <= t_ns and took > template.above_ns:
                    yield Moment(at, template, Spoken(at, took, key, group.status, group.cause, pod))

    def _known(self) -> Iterator[Moment]:
        """Lines of the begin of those that began, lines of the end of those that ended."""
        for group in self._passed:
            starts, numbers = array("q", group.starts), array("q", group.numbers)
            ends = array("q", group.ends) if group.ends else starts
            for start, end, number in zip(starts, ends, numbers, strict=True):
                spoken = Spoken(end, end - start, mix(self._key, number), group.status, group.cause, self._wording.pod)
                for place, template in enumerate(group.templates):
                    yield Moment(end if group.ends else min(start + place * STEP_NS, self._t_ns), template, spoken)


def _size_of(templates: Sequence[LogTemplate]) -> int:
    """Bytes of the lines of one request: what marks stand for is about as long as they are, stamps are longer."""
    return sum(len(template.text) + 2 * FRAME_BYTES for template in templates)  # integers
