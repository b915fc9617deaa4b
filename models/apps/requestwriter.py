"""Writes what a server prints of its requests into its container's log, tick by tick."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simcluster.engine.streams import mix, uniform_run
from simcluster.models.apps.logs import Began, Passed, RequestLines, Traced, Wording
from simcluster.models.apps.openrequests import NEVER, OpenRequests
from simcluster.models.tracing.correlation import Ids
from simcluster.models.traffic.cluster.operations import LogTemplate, OperationSpec
from simcluster.models.traffic.cluster.server import Failed, Followed, Happened, Served
from simcluster.models.traffic.exemplars.spans import Printed
from simcluster.telemetry.logs import LogFile

Index = NDArray[np.int64]

#: Share of requests that take no longer than the longest ones.
LONGEST = np.array([0.999])


class RequestWriter:
    """Remembers the ticks whose requests have not all ended, and where queues are followed those that are inside.

    Args:
        log: into which it writes.
        key: of all details.
    """

    def __init__(self, log: LogFile, key: int) -> None:
        self._log = log
        self._key = key
        self._written_ns = 0
        self._open: list[tuple[int, Began]] = []  # with the instant at which the last one ends
        self._inside: dict[str, tuple[OperationSpec, OpenRequests]] = {}
        self._numbers = 0
        self._traced: list[Traced] = []
        #: Requests known by name that have ended, and that have begun, for which as many others are left out.
        self._owed: dict[tuple[LogTemplate, ...], int] = {}
        self._begun: dict[tuple[LogTemplate, ...], int] = {}
        self._unread = False

    def mute(self) -> None:
        """Nobody will read it: write nothing any more, for good."""
        self._unread, self._open, self._traced, self._inside = True, [], [], {}

    def follow(self, printed: Printed, ids: Ids) -> None:
        """A request that is known by name prints something; it is one of those of which a tick tells."""
        traced = Traced(printed, ids)
        if traced.templates:
            self._traced.append(traced)
        owed, log = (self._begun, traced.templates) if printed.begins else (self._owed, printed.log)
        owed[log] = owed.get(log, 0) + 1

    def _unnamed(self, happened: Happened) -> Happened:
        """What a tick told, without the requests that are known by name."""
        if not self._owed:
            return happened
        served = [each._replace(requests=_left(self._owed, each.log, each.requests)) for each in happened.served]
        failed = [each._replace(calls=_left(self._owed, each.call.log, each.calls)) for each in happened.failed]
        return Happened(
            [each for each in served if each.requests], [each for each in failed if each.calls], happened.followed
        )

    def began(self, t_ns: int, span_ns: int, served: Sequence[Served], failed: Sequence[Failed]) -> Began:
        """Requests that began before an instant, as they will be drawn."""
        return Began(t_ns, span_ns, mix(self._key, t_ns), tuple(served), tuple(failed))

    def write(self, t_ns: int, span_ns: int, wording: Wording, happened: Happened) -> bool:
        """A tick is over; whether requests that began in it, or before, will print something later."""
        if self._unread:
            return False
        since_ns = self._written_ns if self._open else t_ns - span_ns
        happened = self._unnamed(happened)
        if not happened.followed:
            self._begun = {}  # of requests that are drawn whole a begin alone is not left out
        if happened.served or happened.failed:
            began = self.began(t_ns, span_ns, happened.served, happened.failed)
            self._open.append((began.last_ns, began))
        passed: list[Passed] = []
        if happened.followed:
            passed = self._follow(t_ns - span_ns, t_ns, happened.followed)
        elif self._inside:
            passed = self._leave(t_ns - span_ns, t_ns)
        traced = tuple(each for each in self._traced if each.printed.t_ns <= t_ns)
        if self._open or passed or traced:
            pending = tuple(began for _, began in self._open)
            lines = RequestLines(since_ns, t_ns, wording, pending, self._key, tuple(passed), traced)
            self._log.write_lazily(t_ns, lines)
        self._traced = [each for each in self._traced if each.printed.t_ns > t_ns]
        self._written_ns = t_ns
        self._open = [each for each in self._open if each[0] > t_ns]
        return bool(self._open)

    def _follow(self, since_ns: int, t_ns: int, followed: Sequence[Followed]) -> list[Passed]:
        """What began and ended in a tick."""
        passed: list[Passed] = []
        for number, each in enumerate(followed):
            key = mix(self._key, t_ns + number)
            _, inside = self._inside.setdefault(each.operation.name, (each.operation, OpenRequests(since_ns)))
            begun = inside.begin(mix(key, 1), since_ns, t_ns, each.arrived, self._numbers)
            self._numbers += each.arrived
            opening = tuple(template for template in each.operation.log if template.begins)
            if opening and each.arrived:
                left = _left(self._begun, opening, each.arrived)
                starts, numbers = (column[:left].tobytes() for column in begun)
                passed.append(Passed(opening, each.operation.status, None, starts, b"", numbers))
            passed += self._ended(each, inside, key, since_ns, t_ns)
            if each.inside >= 0 and not inside.patience_ns:
                inside.keep(each.inside, t_ns, _longest(each))
            passed += self._degraded(each, mix(key, 4), since_ns, t_ns)
        return passed

    def _ended(self, each: Followed, inside: OpenRequests, key: int, since_ns: int, t_ns: int) -> list[Passed]:
        """Requests that ended: well, or by a call without which they could not go on."""
        found = self._given_up(each, inside, key, since_ns, t_ns)
        fatal = [failed for failed in each.failed if failed.call.required]
        took = [each.took.drawn(uniform_run(mix(key, 2), each.served))]
        took += [np.full(failed.calls, math.floor(failed.before.mean + failed.after_ns)) for failed in fatal]
        longest = _longest(each)
        drawn = np.concatenate(took).astype(np.int64)
        if inside.patience_ns:  # who is there for longer has been given up
            drawn, longest = np.minimum(drawn, inside.patience_ns - 1), NEVER
        which, starts, ends, numbers = inside.end(mix(key, 3), since_ns, t_ns, drawn, longest)
        group = np.repeat(np.arange(len(took)), [len(part) for part in took])[which]
        for place, log, status, cause in [
            (0, each.operation.log, each.operation.status, None),
            *((1 + n, failed.call.log, failed.call.status, failed.cause) for n, failed in enumerate(fatal)),
        ]:
            here, templates = group == place, _closing(log)
            if templates and here.any():
                left = _left(self._owed, log, int(np.count_nonzero(here)))
                columns = (column[here][:left].tobytes() for column in (starts, ends, numbers))
                found.append(Passed(templates, status, cause, *columns))
        return found

    def _given_up(self, each: Followed, inside: OpenRequests, key: int, since_ns: int, t_ns: int) -> list[Passed]:
        """Requests of which callers do not wait any more: the oldest; those that got lost on their way say nothing."""
        patience_ns = inside.patience_ns
        if patience_ns:
            bad = sum(failed.calls for failed in each.failed if failed.call.required)  # integers
            ended = each.served + each.late + bad
            inside.forget(2 * since_ns - t_ns - patience_ns, max(0, each.inside) + ended)
        if not (each.late or each.lost):
            return []
        inside.patience_ns = max(patience_ns, each.after_ns)
        if t_ns - each.after_ns < inside.since_ns:
            return []  # they were drawn whole when they began
        there = int(np.searchsorted(inside.starts, t_ns + (t_ns - since_ns) - each.after_ns))
        took = np.full(min(each.late + each.lost, there), each.after_ns, dtype=np.int64)
        _, starts, ends, numbers = inside.end(mix(key, 5), since_ns, t_ns, took, each.after_ns)
        templates = _closing(each.operation.log)
        if not (templates and each.late and len(starts)):
            return []
        columns = (column[: each.late].tobytes() for column in (starts, ends, numbers))
        return [Passed(templates, each.operation.status, None, *columns)]

    def _degraded(self, each: Followed, key: int, since_ns: int, t_ns: int) -> list[Passed]:
        """Calls that failed though their requests went on."""
        found = []
        for place, failed in enumerate(each.failed):
            calls = 0 if failed.call.required else _left(self._owed, failed.call.log, failed.calls)
            if not calls:
                continue
            drawn = uniform_run(mix(key, place), calls)
            ends = since_ns + 1 + (drawn * (t_ns - since_ns)).astype(np.int64)
            starts = ends - math.floor(failed.before.mean + failed.after_ns)
            numbers = np.arange(self._numbers, self._numbers + calls, dtype=np.int64)
            self._numbers += calls
            columns = (column.tobytes() for column in (starts, ends, numbers))
            found.append(Passed(failed.call.log, each.operation.status, failed.cause, *columns))
        return found

    def _leave(self, since_ns: int, t_ns: int) -> list[Passed]:
        """Queues are not followed any more: who was inside when that ended has been answered."""
        passed = []
        for operation, inside in self._inside.values():
            count, templates = len(inside.starts), _closing(operation.log)
            if count and templates:
                waited = np.zeros(count, dtype=np.int64)
                _, starts, ends, numbers = inside.end(mix(self._key, t_ns), since_ns, t_ns, waited)
                columns = (column.tobytes() for column in (starts, ends, numbers))
                passed.append(Passed(templates, operation.status, None, *columns))
        self._inside = {}
        return passed


def _longest(each: Followed) -> int:
    """Hardly a request that ends now takes longer, well or badly, nanoseconds."""
    bad = [math.floor(one.before.mean + one.after_ns) for one in each.failed if one.call.required and one.calls]
    return max(int(each.took.drawn(LONGEST)[0]), *bad, 0)


def _left(owed: dict[tuple[LogTemplate, ...], int], log: tuple[LogTemplate, ...], count: int) -> int:
    """How many of so many requests nobody knows by name."""
    known = min(owed.get(log, 0), count) if owed else 0
    if known:
        owed[log] -= known
        if not owed[log]:
            del owed[log]
    return count - known


def _closing(log: tuple[LogTemplate, ...]) -> tuple[LogTemplate, ...]:
    """What is printed when a request ends."""
    return tuple(template for template in log if not template.begins)
