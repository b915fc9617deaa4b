"""One run of a graph, every request by itself."""

from __future__ import annotations

import gc
from collections.abc import Callable

from simcluster.models.traffic.exact.graph import Engine
from simcluster.models.traffic.exact.loop import Endless, Full
from simcluster.models.traffic.exact.plain import PlainRun, is_plain
from simcluster.models.traffic.exact.sources import source_of
from simcluster.models.traffic.exact.storm import StormRun, is_storm
from simcluster.models.traffic.exact.triggers import Triggers
from simcluster.models.traffic.graph.result import Result
from simcluster.models.traffic.graph.spec import GraphSpec


class ExactRun:
    """A graph, its load and its events.

    Args:
        spec: the graph.
        seed: everything random follows from it.
        plain: whether a graph of one plain queue, or of one whose callers retry at once, may run in the loop
            made for that (with the same outcome).
    """

    def __init__(self, spec: GraphSpec, seed: int = 0, *, plain: bool = True) -> None:
        self.spec = spec
        self.seed = seed
        self.plain = plain and is_plain(spec)
        self.storm = plain and not self.plain and is_storm(spec)

    def run(self, enough: Callable[[Result], bool] | None = None) -> Result:
        """Run it from the beginning to the end.

        Args:
            enough: asked after every window; True ends the run there.
        """
        enabled = gc.isenabled()
        gc.disable()  # requests refer to their calls and calls to them; they go when they end
        try:
            if self.plain and enough is None:
                return PlainRun(self.spec, self.seed).run()
            if self.storm:
                return StormRun(self.spec, self.seed).run(enough)
            return _GeneralRun(self.spec, self.seed).run(enough)
        finally:
            if enabled:
                gc.enable()


class _GeneralRun:
    def __init__(self, spec: GraphSpec, seed: int) -> None:
        self.spec = spec
        self.engine = Engine(spec, seed)
        self.sources = {name: source_of(self.engine, name, load) for name, load in spec.load.items()}
        run = spec.run
        warmup_ns = -(-run.warmup // run.window) * run.window
        self.result = Result(spec.name, "exact", seed, run.window, min(warmup_ns, run.duration))
        self.result.load = {name: [] for name in spec.load}
        self.result.services = {name: [] for name in spec.services}
        self.result.edges = {name: [] for name in self.engine.meters}

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
            self.result.edges[name].append(meter.roll())
        for name, station in self.engine.stations.items():
            self.result.services[name].append(station.roll(length_ns))
