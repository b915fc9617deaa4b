"""Durations that were drawn: by load or service and window, each standing for some requests or ticks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: By window: arrays of durations in ticks (first row) and what each stands for (second row).
ByWindow = dict[int, tuple[Array, ...]]
#: The same durations for many windows: by number of the load or service.
Walked = Mapping[int, Sequence[Array]]


class _Entry(NamedTuple):
    key: int
    window: int
    times: Array


class _Stretch(NamedTuple):
    walked: Walked
    begin_ns: int
    end_ns: int
    scale: float


class Samples:
    """Tables of durations; what stands for whole stretches is laid out over their windows when somebody looks.

    Args:
        loads, services: how many there are.
        window_ns: length of a window.
    """

    def __init__(self, loads: int, services: int, window_ns: int) -> None:
        self._window_ns = window_ns
        sizes = {"latency": loads, "wait": services, "sojourn": services}
        self._tables: dict[str, list[ByWindow]] = {name: [{} for _ in range(n)] for name, n in sizes.items()}
        self._pending: dict[str, list[_Entry | _Stretch]] = {name: [] for name in sizes}

    @property
    def latency(self) -> list[ByWindow]:
        """Of every load, from the beginning of a request to its good end."""
        return self._settled("latency")

    @property
    def wait(self) -> list[ByWindow]:
        """Of every service, until a worker is free."""
        return self._settled("wait")

    @property
    def sojourn(self) -> list[ByWindow]:
        """Of every service, from arrival to answer."""
        return self._settled("sojourn")

    def enter(self, table: str, key: int, window: int, times: Array) -> None:
        """Enter durations of a load or service into one window."""
        self._pending[table].append(_Entry(key, window, times))

    def spread(self, walked: tuple[Walked, Walked, Walked], begin_ns: int, end_ns: int, scale: float) -> None:
        """Enter durations into the windows of a stretch, in turn.

        Args:
            walked: of loads; waits and sojourns of services.
            scale: of what each of them stands for.
        """
        for pending, found in zip(self._pending.values(), walked, strict=True):
            if found:
                pending.append(_Stretch(found, begin_ns, end_ns, scale))

    def _settled(self, name: str) -> list[ByWindow]:
        table, pending = self._tables[name], self._pending[name]
        if pending:
            self._pending[name] = []
        for each in pending:
            if isinstance(each, _Entry):
                rows = table[each.key]
                rows[each.window] = (*rows.get(each.window, ()), each.times)
                continue
            for key, parts in each.walked.items():
                self._lay_out(table[key], parts, (each.begin_ns, each.end_ns), each.scale)
        return table

    def _lay_out(self, rows: ByWindow, parts: Sequence[Array], stretch: tuple[int, int], scale: float) -> None:
        begin, end = stretch
        first = begin // self._window_ns
        windows = max(first, (end - 1) // self._window_ns) - first + 1
        for number in range(windows):
            window = first + number
            alone = begin <= window * self._window_ns and (window + 1) * self._window_ns <= end
            here = tuple(part[:, number::windows] for part in parts)
            there = rows.get(window)
            # of what fills a window alone the weights do not matter
            if scale != 1.0 and not (alone and there is None):
                here = tuple(np.vstack((part[0], part[1] * scale)) for part in here)
            rows[window] = here if there is None else (*there, *here)
