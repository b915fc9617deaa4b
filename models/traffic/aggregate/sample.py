"""Which requests walk, and where their latencies are entered.

Latencies are drawn in batches, some time after the requests began so that their waits are known.
The number of walks in a window is bounded; of loads with many targets some are walked in each
batch, drawn by how often they are asked for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate.layout import Layout
from simcluster.models.traffic.aggregate.outcomes import Outcomes
from simcluster.models.traffic.aggregate.queues import Queues
from simcluster.models.traffic.aggregate.record import Recorder
from simcluster.models.traffic.aggregate.walk import Walker
from simcluster.models.traffic.graph.spec import GraphSpec

Array = NDArray[np.float64]

#: Latencies drawn in a window: for every load, and for all services together.
LOAD_SAMPLES, SERVICE_SAMPLES = 400, 1500
#: Targets of one load walked in one batch, and ticks of the longest batch.
_TARGETS, _BATCH = 2, 400
#: Ticks waited at least before a request's wait is read.
_LAG = 32
#: A load that succeeds less often than this is not walked.
_HOPELESS = 1e-6


def lag_of(layout: Layout) -> int:
    """Ticks after which the waits of those who are in time are known."""
    return max(_LAG, layout.slots)


def batch_of(layout: Layout, spec: GraphSpec) -> int:
    """Ticks of a batch: a window, or part of it."""
    return int(max(1, min(_BATCH, spec.run.window // layout.tick_ns)))


def ring_of(layout: Layout, spec: GraphSpec) -> int:
    """Slots that the recorded waits need beyond the longest timeout."""
    return lag_of(layout) + 2 * batch_of(layout, spec) + 4


class Sampler:
    """Draws latencies for the recorder."""

    def __init__(self, layout: Layout, queues: Queues, outcomes: Outcomes, recorder: Recorder, seed: int) -> None:
        self._layout = layout
        self._queues = queues
        self._outcomes = outcomes
        self._recorder = recorder
        self._walker = Walker(layout, queues, outcomes, seed)
        self._lag = lag_of(layout)
        self._batch = batch_of(layout, recorder.spec)
        self._done = 0
        self._arrivals = np.zeros((queues.slots, len(recorder.roots)))

    def arrived(self, tick: int, fresh: Array) -> None:
        """Note how many requests of each kind began in a tick."""
        self._arrivals[tick % self._queues.slots] = fresh[self._recorder.roots]

    def after(self, tick: int) -> None:
        """Walk what is due after a tick."""
        if tick + 1 - self._lag - self._done >= self._batch:
            self._walk(self._done + self._batch, tick)

    def finish(self, ticks: int) -> None:
        """Walk all that began before a tick."""
        while self._done < ticks:
            self._walk(min(ticks, self._done + self._batch), ticks - 1)

    def _walk(self, until: int, newest: int) -> None:
        begin, self._done = self._done, until
        walker = self._walker
        walker.begin(begin << 22, newest)
        share = (until - begin) * self._layout.tick_ns / self._recorder.window_ns
        ticks = np.arange(begin, until)
        weights = np.add.reduce(self._arrivals[ticks % self._queues.slots], axis=0)
        for load, columns in enumerate(self._recorder.columns):
            total = np.cumsum(weights[columns])
            if not len(total) or total[-1] <= 0.0:
                continue
            number = min(_TARGETS, len(columns))
            picks = np.searchsorted(total, walker.uniform(number) * total[-1], side="right")
            for pick in np.minimum(picks, len(columns) - 1).tolist():
                self._target(load, columns[pick], ticks, LOAD_SAMPLES * share / number)
        self._services(begin, until, share)

    def _target(self, load: int, column: int, ticks: NDArray[np.int64], wanted: float) -> None:
        edge = int(self._recorder.roots[column])
        if self._outcomes.quality[edge] < _HOPELESS:
            return
        weights = np.cumsum(self._arrivals[ticks % self._queues.slots, column])
        if weights[-1] <= 0.0:
            return
        count = max(1, int(min(wanted, 4.0 * weights[-1]) + 0.999))
        place = np.searchsorted(weights, (np.arange(count) + 0.5) / count * weights[-1])
        at = ticks[np.minimum(place, len(ticks) - 1)] + self._walker.uniform(count)
        took, ok = self._walker.call(edge, at)
        self._enter(self._recorder.latency[load], at[ok] + took[ok], took[ok])

    def _enter(self, rows: dict[int, list[Array]], at: Array, took: Array) -> None:
        window = (at * self._layout.tick_ns // self._recorder.window_ns).astype(np.int64)
        while len(window):
            here = window == window[0]
            rows.setdefault(int(window[0]), []).append(took[here])
            window, took = window[~here], took[~here]

    def _services(self, begin: int, until: int, share: float) -> None:
        layout, recorder = self._layout, self._recorder
        nodes = len(layout.node_own)
        count = max(1, int(min(SERVICE_SAMPLES * share / nodes, LOAD_SAMPLES) + 0.5))
        node = np.repeat(np.arange(nodes), count)
        at = begin + self._walker.uniform(nodes * count) * (until - begin)
        wait, own = self._walker.visits(node, at)
        sojourn = wait + own + self._outcomes.below[node]
        window = int(begin * layout.tick_ns // recorder.window_ns)
        for index, service in enumerate(layout.node_service.tolist()):
            here = slice(index * count, (index + 1) * count)
            recorder.wait[service].setdefault(window, []).append(wait[here])
            recorder.sojourn[service].setdefault(window, []).append(sojourn[here])
