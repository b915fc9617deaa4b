"""Writes what a server prints of its requests into its container's log, tick by tick."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simcluster.engine.streams import mix, uniform_run
from simcluster.models.apps.logs import Began, Passed, RequestLines, Wording
from simcluster.models.apps.openrequests import OpenRequests
from simcluster.models.traffic.cluster.operations import LogTemplate, OperationSpec
from simcluster.models.traffic.cluster.server import Failed, Followed, Happened, Served
from simcluster.telemetry.logs import LogFile

Index = NDArray[np.int64]


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

    def began(self, t_ns: int, span_ns: int, served: Sequence[Served], failed: Sequence[Failed]) -> Began:
        """Requests that began before an instant, as they will be drawn."""
        return Began(t_ns, span_ns, mix(self._key, t_ns), tuple(served), tuple(failed))

    def write(self, t_ns: int, span_ns: int, wording: Wording, happened: Happened) -> bool:
        """A tick is over; whether requests that began in it, or before, will print something later."""
        since_ns = self._written_ns if self._open else t_ns - span_ns
        if happened.served or happened.failed:
            began = self.began(t_ns, span_ns, happened.served, happened.failed)
            self._open.append((began.last_ns, began))
        passed: list[Passed] = []
        if happened.followed:
            passed = self._follow(t_ns - span_ns, t_ns, happened.followed)
        elif self._inside:
            passed = self._leave(t_ns - span_ns, t_ns)
        if self._open or passed:
            pending = tuple(began for _, began in self._open)
            lines = RequestLines(since_ns, t_ns, wording, pending, self._key, tuple(passed))
            self._log.write_lazily(t_ns, lines)
        self._written_ns = t_ns
        self._open = [each for each in self._open if each[0] > t_ns]
        return bool(self._open)

    def _follow(self, since_ns: int, t_ns: int, followed: Sequence[Followed]) -> list[Passed]:
        """What began and ended in a tick."""
        passed: list[Passed] = []
        for number, each in enumerate(followed):
            key = mix(self._key, t_ns + number)
            _, inside = self._inside.setdefault(each.operation.name, (each.operation, OpenRequests()))
            begun = inside.begin(mix(key, 1), since_ns, t_ns, each.arrived, self._numbers)
            self._numbers += each.arrived
            opening = tuple(template for template in each.operation.log if template.begins)
            if opening and each.arrived:
                starts, numbers = (column.tobytes() for column in begun)
                passed.append(Passed(opening, each.operation.status, None, starts, b"", numbers))
            passed += self._ended(each, inside, key, since_ns, t_ns)
            passed += self._degraded(each, mix(key, 4), since_ns, t_ns)
        return passed

    def _ended(self, each: Followed, inside: OpenRequests, key: int, since_ns: int, t_ns: int) -> list[Passed]:
        """Requests that ended: well, or by a call without which they could not go on."""
        fatal = [failed for failed in each.failed if failed.call.required]
        took = [each.took.drawn(uniform_run(mix(key, 2), each.served))]
        took += [np.full(failed.calls, math.floor(failed.before.mean + failed.after_ns)) for failed in fatal]
        which, starts, ends, numbers = inside.end(mix(key, 3), since_ns, t_ns, np.concatenate(took).astype(np.int64))
        group = np.repeat(np.arange(len(took)), [len(part) for part in took])[which]
        found = []
        for place, log, status, cause in [
            (0, each.operation.log, each.operation.status, None),
            *((1 + n, failed.call.log, failed.call.status, failed.cause) for n, failed in enumerate(fatal)),
        ]:
            here, templates = group == place, _closing(log)
            if templates and here.any():
                columns = (column[here].tobytes() for column in (starts, ends, numbers))
                found.append(Passed(templates, status, cause, *columns))
        return found

    def _degraded(self, each: Followed, key: int, since_ns: int, t_ns: int) -> list[Passed]:
        """Calls that failed though their requests went on."""
        found = []
        for place, failed in enumerate(each.failed):
            if failed.call.required or not failed.calls:
                continue
            drawn = uniform_run(mix(key, place), failed.calls)
            ends = since_ns + 1 + (drawn * (t_ns - since_ns)).astype(np.int64)
            starts = ends - math.floor(failed.before.mean + failed.after_ns)
            numbers = np.arange(self._numbers, self._numbers + failed.calls, dtype=np.int64)
            self._numbers += failed.calls
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


def _closing(log: tuple[LogTemplate, ...]) -> tuple[LogTemplate, ...]:
    """What is printed when a request ends."""
    return tuple(template for template in log if not template.begins)
