"""Sources of requests: open, closed, replayed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.engine import SECOND
from simcluster.models.traffic.exact.callers import Caller
from simcluster.models.traffic.exact.calling import Calling
from simcluster.models.traffic.exact.draws import Exponentials, Uniforms
from simcluster.models.traffic.graph.load import CURVE_STEP_NS, Load
from simcluster.models.traffic.graph.result import LoadWindow

if TYPE_CHECKING:
    from simcluster.models.traffic.exact.graph import Engine
    from simcluster.models.traffic.exact.program import Op


class Source:
    """What all sources share: whom they ask, in whose name, and what came of it.

    Attributes:
        window: figures of the present window.
        waiting: requests that have begun and not ended.
    """

    def __init__(self, engine: Engine, name: str, load: Load) -> None:
        self.engine = engine
        self.name = name
        self.load = load
        self.window = LoadWindow()
        self.waiting = 0
        self.edge = engine.edge(name, load.call)
        self.edge.meter = self
        self.callers = [Caller(load.call) for _ in range(load.clients)]
        self.turn = 0
        self.priority = load.call.priority or 0
        self.targets: list[tuple[float, Op]] = []
        weights = load.targets()
        total, below = sum(round(weight * 1e9) for weight in weights.values()), 0.0  # integers
        for reference, weight in weights.items():
            operation = engine.spec.operation(reference)
            below += weight * 1e9 / total
            self.targets.append((below, engine.ops[operation]))
            edges = [(caller, callee) for caller, callee, _ in engine.edges]
            if (name, operation[0]) not in edges:
                engine.edges.append((name, operation[0], self.edge))
        self.choice = Uniforms(engine.key("mix", name))

    def start(self) -> None:
        """Schedule the first requests."""
        raise AssertionError(type(self))

    def request(self) -> None:
        """One request begins."""
        window = self.window
        window.arrivals += 1
        self.waiting += 1
        caller = self.callers[self.turn]
        self.turn = self.turn + 1 if self.turn + 1 < len(self.callers) else 0
        op = self.targets[0][1] if len(self.targets) == 1 else self._draw_target()
        self.engine.entered()
        Calling(self.edge, caller, op, self, self.priority, None).attempt()

    def _draw_target(self) -> Op:
        u = self.choice.draw()
        return next((op for below, op in self.targets if u < below), self.targets[-1][1])

    def call_done(self, calling: Calling, kind: str | None) -> None:
        """A request has ended."""
        window = self.window
        self.waiting -= 1
        self.engine.left()
        if kind is None:
            window.ok += 1
            window.latency.add(self.engine.loop.now - calling.begun_ns)
        else:
            window.failed[kind] += 1

    def roll(self) -> LoadWindow:
        """Close the present window and begin another."""
        done = self.window
        done.waiting = self.waiting
        self.window = LoadWindow()
        return done


class OpenSource(Source):
    """Arrivals by a rate that may change: the next one comes when so much of the rate has passed.

    Attributes:
        factor, fixed: what events made of the rate: a factor, and a rate instead of the load's own.
        due: requests' worth of rate that must pass before the next arrival.
    """

    def __init__(self, engine: Engine, name: str, load: Load) -> None:
        super().__init__(engine, name, load)
        assert load.open is not None
        self.even = load.open.arrivals == "even"
        self.burst = load.open.burst
        self.bursting = False
        self.factor = 1.0
        self.fixed: float | None = None
        self.rate = 0.0
        self.due = 0.0
        self.since_ns = 0
        self.turns = 0  # changes of the rate; an arrival scheduled before the last one is void
        self.units = Exponentials(engine.key("arrivals", name))
        self.switches = Exponentials(engine.key("burst", name))

    def start(self) -> None:
        """Schedule the first arrival and all changes of the rate."""
        loop = self.engine.loop
        for point in self.load.change_points():
            loop.at(point, self._step, None)
        if self.load.is_curved():
            loop.at(CURVE_STEP_NS, self._follow, None)
        if self.burst is not None:
            loop.at(int(self.switches.draw() * self.burst.off), self._switch, None)
        self.due = 1.0 if self.even else self.units.draw()
        self.update()

    def update(self) -> None:
        """The rate may have changed: place the next arrival anew."""
        now = self.engine.loop.now
        self.due -= self.rate * ((now - self.since_ns) / SECOND)
        self.since_ns = now
        rate = self.load.rate_at(now) if self.fixed is None else self.fixed
        rate *= self.factor
        if self.bursting and self.burst is not None:
            rate *= self.burst.factor
        self.rate = rate
        self.turns += 1
        self._place()

    def _place(self) -> None:
        if self.rate > 0.0:
            delay = self.due / self.rate * SECOND
            if delay < 1e18:
                self.engine.loop.at(self.since_ns + max(0, int(delay + 0.5)), self._arrive, self.turns)

    def _arrive(self, turn: int) -> None:
        if turn != self.turns:
            return
        self.since_ns = self.engine.loop.now
        self.due = 1.0 if self.even else self.units.draw()
        self._place()
        self.request()

    def _step(self, _: None) -> None:
        self.update()

    def _follow(self, _: None) -> None:
        self.update()
        self.engine.loop.at(self.engine.loop.now + CURVE_STEP_NS, self._follow, None)

    def _switch(self, _: None) -> None:
        assert self.burst is not None
        self.bursting = not self.bursting
        mean = self.burst.on if self.bursting else self.burst.off
        self.engine.loop.at(self.engine.loop.now + int(self.switches.draw() * mean), self._switch, None)
        self.update()


class ClosedSource(Source):
    """Users who think, ask, and wait."""

    def __init__(self, engine: Engine, name: str, load: Load) -> None:
        super().__init__(engine, name, load)
        assert load.closed is not None
        self.users = load.closed.users
        self.think = engine.durations(load.closed.think, "think", name)
        self.spread = Uniforms(engine.key("spread", name))
        self.mean_ns = load.closed.think.mean_ns

    def start(self) -> None:
        """Users begin spread over one mean time of thinking."""
        for _ in range(self.users):
            self.engine.loop.at(int(self.spread.draw() * self.mean_ns), self._ask, None)

    def _ask(self, _: None) -> None:
        self.request()

    def call_done(self, calling: Calling, kind: str | None) -> None:
        """The user thinks, then asks again."""
        super().call_done(calling, kind)
        assert self.think is not None
        loop = self.engine.loop
        loop.at(loop.now + self.think.draw(), self._ask, None)


class ReplaySource(Source):
    """A recorded trace."""

    def __init__(self, engine: Engine, name: str, load: Load) -> None:
        super().__init__(engine, name, load)
        assert load.replay is not None
        self.instants = load.replay.instants()[::-1]

    def start(self) -> None:
        """Schedule the first arrival."""
        if self.instants:
            self.engine.loop.at(self.instants.pop(), self._arrive, None)

    def _arrive(self, _: None) -> None:
        self.start()
        self.request()


def source_of(engine: Engine, name: str, load: Load) -> Source:
    """The source of a load."""
    if load.open is not None:
        return OpenSource(engine, name, load)
    return ClosedSource(engine, name, load) if load.closed is not None else ReplaySource(engine, name, load)
