"""Which requests walk, and where their latencies are entered.

Latencies are drawn in batches, some time after the requests began so that their waits are known.
The number of walks in a window is bounded; of loads with many targets some are walked in each
batch, drawn by how often they are asked for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate.callers import Callers
from simcluster.models.traffic.aggregate.grid import turned
from simcluster.models.traffic.aggregate.layout import Layout
from simcluster.models.traffic.aggregate.outcomes import Outcomes
from simcluster.models.traffic.aggregate.queues import Queues
from simcluster.models.traffic.aggregate.record import Recorder
from simcluster.models.traffic.aggregate.refusals import Refusals
from simcluster.models.traffic.aggregate.speeds import Speeds
from simcluster.models.traffic.aggregate.waits import CalmWaits
from simcluster.models.traffic.aggregate.walk import Walker
from simcluster.models.traffic.graph.spec import GraphSpec

Array = NDArray[np.float64]

#: Latencies drawn in a window: for every load, and for all services together.
LOAD_SAMPLES, SERVICE_SAMPLES = 400, 1500
#: Of wide ticks, which cost less to walk.
CALM_SAMPLES = 1500
#: Under the same laws so many stretches are walked; afterwards these walks stand for all others in turn.
_REPEATED, _STRETCH_NS = 4, 20_000_000_000
#: Targets of one load walked in one batch, and ticks of the longest batch.
_TARGETS, _BATCH = 2, 400
#: The same where the load changes all the time.
_CURVED_NS = 1_000_000_000
#: Numbers that the rings of a batch hold at most.
_NUMBERS = 20_000
#: A walk costs by the calls of the graph, not by the requests: for every so many calls a window more is walked at
#: once, up to so long and so many numbers.
_CALLS, _LONG_NS, _MOST_NUMBERS = 24, 10_000_000_000, 400_000
#: Requests of a load that walk through a large graph in one batch at most.
_MOST_WALKED = 1000.0
#: Calls that requests of a load make in one calm stretch at most, and requests that walk at least.
_MOST_CALLS, _FEWEST_WALKED = 300_000.0, 1000.0
#: Ticks waited at least before a request's wait is read.
_LAG = 32
#: A load that succeeds less often than this is not walked.
_HOPELESS = 1e-6


def lag_of(layout: Layout) -> int:
    """Ticks after which the waits of those who are in time are known."""
    return max(_LAG, layout.slots)


def batch_of(layout: Layout, spec: GraphSpec) -> int:
    """Ticks of a batch: a window, or part of it; of large graphs several windows."""
    curved = any(load.is_curved() for load in spec.load.values())
    longest = min(spec.run.window, _CURVED_NS if curved else spec.run.window)
    usual = int(max(1, min(_BATCH, longest // layout.tick_ns, max(16, _NUMBERS // layout.pods))))
    if curved or layout.edges < 2 * _CALLS:
        return usual
    several = min(usual * (layout.edges // _CALLS), _LONG_NS // layout.tick_ns, _MOST_NUMBERS // layout.pods)
    return int(max(usual, several))


def ring_of(layout: Layout, spec: GraphSpec) -> int:
    """Slots that the recorded waits need beyond the longest timeout."""
    return lag_of(layout) + 2 * batch_of(layout, spec) + 4


class _Walk:
    """Times drawn at once: of loads, and of waits and sojourns of services."""

    def __init__(self) -> None:
        self.amount = 0.0  # of requests, or ticks, that it was drawn for
        self.loads: dict[int, list[Array]] = {}
        self.waits: dict[int, list[Array]] = {}
        self.sojourns: dict[int, list[Array]] = {}

    def parts(self, count: int) -> list[_Walk]:
        """So many walks, each with its share of the times."""
        found = []
        for number in range(count):
            part = _Walk()
            part.amount = self.amount / count
            for whole, own in (
                (self.loads, part.loads), (self.waits, part.waits), (self.sojourns, part.sojourns),
            ):  # fmt: skip
                own.update({key: [times[:, number::count] for times in rows] for key, rows in whole.items()})
            found.append(part)
        return found


class Ordinary:
    """Says that queues never were."""

    def laws(self, since: int, until: int) -> tuple[CalmWaits | None, bool]:
        """Laws of the waits of a stretch, and whether all queues were ordinary in it."""
        return None, False


class Sampler:
    """Draws latencies for the recorder."""

    def __init__(
        self, layout: Layout, queues: Queues, outcomes: Outcomes, callers: Callers, recorder: Recorder, seed: int
    ) -> None:
        self._layout = layout
        self._queues = queues
        self._outcomes = outcomes
        self._recorder = recorder
        self._speeds = Speeds(queues)
        self._refusals = Refusals(queues.slots)
        self._walker = Walker(layout, queues, outcomes, callers, (self._speeds, self._refusals), seed)
        self._lag = lag_of(layout)
        self._batch = batch_of(layout, recorder.spec)
        self._most_walked = _MOST_WALKED if layout.edges >= 2 * _CALLS else np.inf
        self._calm_walked = max(_FEWEST_WALKED, _MOST_CALLS / max(layout.edges, 1))
        self._repeated = _REPEATED if layout.edges < 2 * _CALLS else 1
        self._done = 0
        self._noted = 0  # the tick after the last fine one
        self._calm_begin, self._calm_end = -1, 0
        self._calm_most = max(1, max(recorder.window_ns, _STRETCH_NS) // layout.tick_ns)
        self._calm_fresh = np.zeros(len(recorder.roots))
        self._waits: CalmWaits | None = None
        self._laws, self._turn = -2, 0
        self._walked: list[_Walk] = []
        #: tells whether queues were as their stationary law says
        self.ordinary: Ordinary = Ordinary()
        self._arrivals = np.zeros((queues.slots, len(recorder.roots)))
        self._calm_speed: Array = np.ones(0)
        #: nobody succeeds on an edge whose attempt begins at this tick or later; infinite: somebody does
        self._vain = self._walker.vain = np.full(layout.edges, np.inf)

    def start(self, tick: int) -> None:
        """Begin at another tick than 0."""
        self._done = tick

    @property
    def since(self) -> int:
        """The first tick whose requests have not walked."""
        return self._calm_end if self._calm_begin >= 0 else self._done

    def calm(self, begin: int, end: int, fresh: Array, waits: CalmWaits, laws: int) -> None:
        """Note a wide tick; its requests are walked together with those of the next ones under the same laws.

        Args:
            begin: of fine ticks before it that are walked with it, or its own.
        """
        ticks = np.arange(max(begin, self._done), self._noted)
        if self._calm_begin < 0 or laws != self._laws:
            self.flush()
            self._calm_begin = begin
        if laws != self._laws:
            self._laws, self._walked = laws, []
        self._calm_fresh += fresh[self._recorder.roots]
        if len(ticks):
            self._calm_fresh += np.add.reduce(self._arrivals[ticks % self._queues.slots], axis=0)
        self._calm_speed = Speeds.now(self._queues)
        self._calm_end = self._done = end
        self._waits = waits
        if self._calm_end - self._calm_begin >= self._calm_most:
            self.flush()

    def flush(self) -> None:
        """Walk the requests of the wide ticks so far."""
        begin, end = self._calm_begin, self._calm_end
        if begin < 0:
            return
        self._calm_begin = -1
        weights, self._calm_fresh = self._calm_fresh, np.zeros_like(self._calm_fresh)
        if len(self._walked) >= self._repeated:
            self._again(begin, end, float(np.cumsum(weights)[-1]))
            return
        walker, walk = self._walker, _Walk()
        walk.amount = float(np.cumsum(weights)[-1])
        walker.begin(begin << 22, end - 1)
        walker.calm = self._waits
        self._speeds.hold(self._calm_speed)
        share = max(1.0, (end - begin) * self._layout.tick_ns / self._recorder.window_ns)
        for load, columns in enumerate(self._recorder.columns):
            total = np.cumsum(weights[columns])
            if not len(total) or total[-1] <= 0.0:
                continue
            wanted = min(CALM_SAMPLES * share, 4.0 * float(total[-1]), self._calm_walked) + 1.0
            number = min(2 * _TARGETS, len(columns))
            drawn = (np.arange(number) + walker.uniform(number)) / number
            picks = np.searchsorted(total, drawn * total[-1], side="right")
            count = int(wanted / number) + 1
            for pick in np.minimum(picks, len(columns) - 1).tolist():
                took, ok = walker.call(int(self._recorder.roots[columns[pick]]), np.full(count, float(begin)))
                walk.loads.setdefault(load, []).append(_weighed(took[ok], float(total[-1]) / number / count))
        self._nodes(walk, begin, end, share)
        walker.calm = None
        self._speeds.hold(None)
        self._walked.append(walk)
        self._spread(walk, begin, end, 1.0)

    def leap(self, tick: int, ticks: int) -> None:
        """Several ticks in which nothing moves: what was walked last stands for them."""
        if self._calm_begin >= 0 or tick - self._done > 2 * self._lag + self._batch // 2:
            self.finish(tick)
        if self._laws != -1:
            self._laws, self._walked = -1, []
        if not self._walked:
            self._walked = self._stillness(tick).parts(self._repeated)
        self._again(tick, tick + ticks, float(ticks))
        self._arrivals = turned(self._arrivals, ticks)
        self._done = tick + ticks

    def _stillness(self, tick: int) -> _Walk:
        """What requests of the last batch meet, by their laws while all queues are ordinary ones."""
        known = max(1, tick - self._lag)
        first = max(0, known - self._batch)
        walk, walker = _Walk(), self._walker
        walk.amount = float(known - first)
        walker.begin(tick << 22, tick - 1)
        laws, ordinary = self.ordinary.laws(first, known)
        walker.calm, walker.beneath = (laws, None) if ordinary else (None, laws)
        calm = self._repeated * min(CALM_SAMPLES, self._calm_walked)
        samples = calm if ordinary else _REPEATED * LOAD_SAMPLES
        chosen = np.arange(first, known)
        for load, columns in enumerate(self._recorder.columns):
            for column in columns[: 4 * _TARGETS]:
                before = self._target(load, column, chosen, samples / min(len(columns), 4 * _TARGETS))
                walk.loads.setdefault(load, []).append(before)
        self._nodes(walk, first, known, float(self._repeated))
        walker.calm = walker.beneath = None
        return walk

    def restless(self) -> None:
        """What was walked stands for nothing that comes."""
        self._laws, self._walked = -2, []

    def _again(self, begin: int, end: int, amount: float) -> None:
        """Let one of the walks before stand for a stretch."""
        self._turn += 1
        walk = self._walked[self._turn % len(self._walked)]
        self._spread(walk, begin, end, amount / max(walk.amount, 1e-300))

    def _spread(self, walk: _Walk, begin: int, end: int, scale: float) -> None:
        """Enter a walk's times into the windows from `begin` to `end`, in turn."""
        tick_ns = self._layout.tick_ns
        walked = walk.loads, walk.waits, walk.sojourns
        self._recorder.samples.spread(walked, begin * tick_ns, end * tick_ns, scale)

    def _nodes(self, walk: _Walk, begin: int, until: int, share: float) -> None:
        layout = self._layout
        nodes = len(layout.node_own)
        count = max(1, int(min(SERVICE_SAMPLES * share / nodes, _REPEATED * LOAD_SAMPLES) + 0.5))
        node = np.repeat(np.arange(nodes), count)
        at = begin + self._walker.uniform(nodes * count) * (until - begin)
        wait, own = self._walker.visits(node, at)
        sojourn = wait + own + self._outcomes.below[node]
        for index, service in enumerate(layout.node_service.tolist()):
            here = slice(index * count, (index + 1) * count)
            each = (until - begin) / count
            walk.waits.setdefault(service, []).append(_weighed(wait[here], each))
            walk.sojourns.setdefault(service, []).append(_weighed(sojourn[here], each))

    def arrived(self, tick: int, fresh: Array, refused: Array) -> None:
        """Note how many requests of each kind began in a tick, and which share of every edge's attempts was refused."""
        self._refusals.note(tick, refused)
        failing = (self._outcomes.quality < _HOPELESS) & self._layout.timed
        begun = np.minimum(self._vain, tick - self._layout.timeout_ticks)
        self._vain[:] = np.where(failing, begun, np.inf)
        self._arrivals[tick % self._queues.slots] = fresh[self._recorder.roots]
        self._noted = tick + 1
        self._speeds.note(tick, self._queues)

    def noted(self, tick: int, refused: Array) -> None:
        """The same of ticks from `tick` on whose requests, and edges in vain, are entered: a row of shares for each."""
        last = tick + len(refused) - 1
        if self._refusals.remembers or bool(refused.any()):
            for number, row in enumerate(refused):
                self._refusals.note(tick + number, row)
        self._speeds.note(tick, self._queues)
        steady = self._speeds.constant() is not None
        for now in range(last if steady else tick + 1, last + 1):
            self._speeds.note(now, self._queues)
        self._noted = last + 1

    def due(self, tick: int) -> int:
        """The tick before which `after` has nothing to do."""
        return self._done + self._batch + self._lag if self._calm_begin < 0 else tick + 1

    def after(self, tick: int) -> None:
        """Walk what is due after a tick."""
        if self._calm_begin >= 0:
            self.flush()
        if tick + 1 - self._lag - self._done >= self._batch:
            self._walk(self._done + self._batch, tick)

    def finish(self, ticks: int, now: int | None = None) -> None:
        """Walk all that began before a tick; `now`: the tick whose queues are known, by default the same."""
        if self._calm_begin >= 0 and ticks != self._calm_end:
            self.flush()
        newest = (ticks if now is None else now) - 1
        while self._done < ticks:
            self._walk(min(ticks, self._done + self._batch), newest)

    def _walk(self, until: int, newest: int) -> None:
        begin, self._done = self._done, until
        walker = self._walker
        walker.begin(begin << 22, newest)
        laws, ordinary = self.ordinary.laws(begin, until)
        walker.calm, walker.beneath = (laws, None) if ordinary else (None, laws)
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
                stands = float(total[-1]) / number
                wanted = min(LOAD_SAMPLES * share, self._most_walked)
                self._target(load, columns[pick], ticks, wanted / number, stands)
        self._services(begin, until, share)
        walker.calm = walker.beneath = None

    def _target(
        self, load: int, column: int, ticks: NDArray[np.int64], wanted: float, stands: float | None = None
    ) -> Array:
        """Times of those who succeed, entered if they stand for a number of requests."""
        edge = int(self._recorder.roots[column])
        if self._vain[edge] <= ticks[0]:
            return np.zeros((2, 0))
        weights = np.cumsum(self._arrivals[ticks % self._queues.slots, column])
        if weights[-1] <= 0.0:
            return np.zeros((2, 0))
        count = max(1, int(min(wanted, 4.0 * weights[-1]) + 0.999))
        place = np.searchsorted(weights, (np.arange(count) + 0.5) / count * weights[-1])
        at = ticks[np.minimum(place, len(ticks) - 1)] + self._walker.uniform(count)
        took, ok = self._walker.call(edge, at)
        times = _weighed(took[ok], (float(weights[-1]) if stands is None else stands) / count)
        if stands is not None:
            self._enter(load, at[ok] + took[ok], times)
        return times

    def _enter(self, load: int, at: Array, times: Array) -> None:
        window = (at * self._layout.tick_ns // self._recorder.window_ns).astype(np.int64)
        while len(window):
            here = window == window[0]
            self._recorder.samples.enter("latency", load, int(window[0]), times[:, here])
            window, times = window[~here], times[:, ~here]

    def _services(self, begin: int, until: int, share: float) -> None:
        layout, recorder = self._layout, self._recorder
        nodes = len(layout.node_own)
        count = max(1, int(min(SERVICE_SAMPLES * share / nodes, LOAD_SAMPLES) + 0.5))
        node = np.repeat(np.arange(nodes), count)
        at = begin + self._walker.uniform(nodes * count) * (until - begin)
        wait, own = self._walker.visits(node, at)
        sojourn = wait + own + self._outcomes.below[node]
        windows = (at * layout.tick_ns // recorder.window_ns).astype(np.int64)
        order = np.lexsort((windows, node))
        node, windows = node[order], windows[order]
        waits, sojourns = (_weighed(times[order], (until - begin) / count) for times in (wait, sojourn))
        change = (node[1:] != node[:-1]) | (windows[1:] != windows[:-1])
        starts = np.concatenate(([0], np.nonzero(change)[0] + 1))
        ends = np.append(starts[1:], len(node))
        service = layout.node_service[node[starts]]
        begun = starts.tolist()
        for index, window, start, end in zip(
            service.tolist(), windows[starts].tolist(), begun, ends.tolist(), strict=True
        ):
            recorder.samples.enter("wait", index, window, waits[:, start:end])
            recorder.samples.enter("sojourn", index, window, sojourns[:, start:end])


def _weighed(times: Array, each: float) -> Array:
    """Times in the first row, for how many each stands in the second."""
    return np.vstack((times, np.full(len(times), each)))


class NoWalks(Sampler):
    """No requests walk through a large graph: its latencies are those of the state."""

    def __init__(
        self, layout: Layout, queues: Queues, outcomes: Outcomes, callers: Callers, recorder: Recorder, seed: int
    ) -> None:
        super().__init__(layout, queues, outcomes, callers, recorder, seed)
        del self._walker

    def _walk(self, until: int, newest: int) -> None:
        self._done = until

    def arrived(self, tick: int, fresh: Array, refused: Array) -> None:
        """Nobody asks for it."""

    def flush(self) -> None:
        """Forget the wide ticks so far."""
        self._calm_begin, self._calm_fresh = -1, np.zeros_like(self._calm_fresh)

    def leap(self, tick: int, ticks: int) -> None:
        """Several ticks in which nothing moves."""
        self._arrivals = turned(self._arrivals, ticks)
        self._done = tick + ticks
