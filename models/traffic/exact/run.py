"""One run of a graph, every request by itself."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection

from simcluster.models.traffic.exact.graph import Engine
from simcluster.models.traffic.exact.loop import Endless, Full
from simcluster.models.traffic.exact.plain import PlainRun
from simcluster.models.traffic.exact.sources import source_of
from simcluster.models.traffic.exact.storm import StormRun
from simcluster.models.traffic.exact.traits import traits_of
from simcluster.models.traffic.exact.triggers import Triggers
from simcluster.models.traffic.graph.result import EdgeWindow, Result, ServiceWindow
from simcluster.models.traffic.graph.spec import GraphSpec
from simcluster.models.traffic.strategies import possible


class ExactRun:
    """A graph, its load and its events.

    Args:
        spec: the graph.
        seed: everything random follows from it.
        strategies: names of those that may be used (`traffic.strategies`); None: all that are possible. The outcome
            is the same.
    """

    def __init__(self, spec: GraphSpec, seed: int = 0, *, strategies: Collection[str] | None = None) -> None:
        self.spec = spec
        self.seed = seed
        self._traits = traits_of(spec)
        self._wanted = strategies

    def strategy(self, *, asked: bool = False) -> str:
        """The name of the strategy it runs by; `asked`: somebody wants to know after every window how it is."""
        return possible("exact", self._traits | {"asked"} if asked else self._traits, self._wanted)[0]

    def run(self, enough: Callable[[Result], bool] | None = None) -> Result:
        """Run it from the beginning to the end.

        Args:
            enough: asked after every window; True ends the run there.
        """
        enabled = gc.isenabled()
        gc.disable()  # requests refer to their calls and calls to them; they go when they end
        name = self.strategy(asked=enough is not None)
        try:
            result = _RUNS[name](self.spec, self.seed).run(enough)
            result.strategies = (name,)
            return result
        finally:
            if enabled:
                gc.enable()


class GeneralRun:
    """Every request with its own events."""

    def __init__(self, spec: GraphSpec, seed: int) -> None:
        self.spec = spec
        self.engine = Engine(spec, seed)
        self.sources = {name: source_of(self.engine, name, load) for name, load in spec.load.items()}
        run = spec.run
        warmup_ns = -(-run.warmup // run.window) * run.window
        self.result = Result(spec.name, "exact", seed, run.window, min(warmup_ns, run.duration))
        self.result.load = {name: [] for name in spec.load}
        self._services: dict[str, list[ServiceWindow]] = {name: [] for name in spec.services}
        self._edges: dict[str, list[EdgeWindow]] = {name: [] for name in self.engine.meters}
        self.result.services, self.result.edges = {**self._services}, {**self._edges}

    def run(self, enough: Callable[[Result], bool] | None) -> Result:
        """Run it window by window."""
        run, result = self.spec.run, self.result
        for source in self.sources.values():
            source.start()
        Triggers(self.engine, self.sources).schedule(self.spec.events)
        begin = 0
        while begin < run.duration and not result.stopped:
            end = min(begin + run.window, run.duration)
            try:
                self.engine.loop.run_until(end)
            except Full:
                end = max(self.engine.loop.now, begin + 1)
                result.stopped = f"more than {run.requests} requests inside"
            except Endless:
                end = max(self.engine.loop.now, begin + 1)
                result.stopped = f"more than {run.events} events; run.events allows more"
            self._roll(end - begin)
            begin = end
            gc.collect(0)
            if enough is not None and enough(result):
                break
        result.end_ns = begin
        result.add_totals()
        return result

    def _roll(self, length_ns: int) -> None:
        for name, source in self.sources.items():
            self.result.load[name].append(source.roll())
        for name, meter in self.engine.meters.items():
            self._edges[name].append(meter.roll())
        for name, station in self.engine.stations.items():
            self._services[name].append(station.roll(length_ns))


_RUNS: dict[str, type[PlainRun] | type[StormRun] | type[GeneralRun]] = {
    "single_queue": PlainRun,
    "retry_queue": StormRun,
    "every_request": GeneralRun,
}
