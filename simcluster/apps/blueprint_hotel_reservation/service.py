"""The Go programs that Blueprint generates for the hotel site: configured by variables, caches beside their stores.

A program without an address that it needs ends at once. What a cache lacks is read from the store and put there.
Sources: the generated `main` packages and the `dsb_hotel` workflow of blueprint-uservices.

Left out: what `geo`, `recomd` and `user` read at their start as load of their stores.
"""

from __future__ import annotations

from simcluster.engine import SECOND, Timer
from simcluster.models.apps.reaching import reach
from simcluster.models.apps.server import ServerProgram
from simcluster.models.apps.stores.aside import Cached, Warmth, lookups, missed
from simcluster.models.traffic.cluster.address import parse_address
from simcluster.models.traffic.cluster.operations import ServiceSpec

#: How often a program looks what its cache holds.
WATCH_NS = SECOND
#: By program: the stem of its variables, and how many keys there are: rates and profiles of 80 hotels; of each the
#: nights of the dates that the generator asks for, and its capacity.
CACHES = {
    "rate_service_container": ("RATE", Cached(80, 1)),
    "profile_service_container": ("PROFILE", Cached(80, 1)),
    "reserv_service_container": ("RESERV", Cached(1200, 1)),
}
#: Exit status of a Go program that panics.
PANIC = 2


class BlueprintProgram(ServerProgram):
    """One of the eight services.

    Attributes:
        warmth: what its cache holds; None if it has none.
    """

    warmth: Warmth | None = None
    _stem = ""
    _watch: Timer | None = None

    def start(self) -> None:
        """Every address must be there; then begin to load."""
        for name in sorted({call.env for op in self.behaviour.service().operations for s in op.steps for call in s}):
            if not self.environment.get(name):
                self.container.write(f"panic: required argument {name.lower().replace('_', '.')} is not set", "stderr")
                self.container.exit(PANIC)
                return
        self._stem, cached = CACHES.get(self.behaviour.program, ("", None))
        self.warmth = Warmth(cached, self.behaviour.name) if cached is not None else None
        super().start()

    def stop(self) -> None:
        """The process is gone."""
        super().stop()
        if self._watch is not None:
            self._watch.cancel()

    def service_spec(self) -> ServiceSpec:
        """Whom it calls now."""
        spec = super().service_spec()
        if self.warmth is None:
            return spec
        only = {f"{self._stem}_DB_DIAL_ADDR": ("find",), f"{self._stem}_CACHE_DIAL_ADDR": ("set",)}
        return missed(spec, only, self.warmth.missing)

    def _ready(self) -> None:
        if self.warmth is not None:
            self._follow()
            self._watch = self.container.sim.every(WATCH_NS, self._look)
        super()._ready()

    def _follow(self) -> bool:
        """See what the cache holds by now; whether that has changed."""
        assert self.warmth is not None
        host, port = parse_address(self.environment[f"{self._stem}_CACHE_DIAL_ADDR"])
        cache = reach(self._traffic.network, self.container, host, port).container
        return cache is not None and self.warmth.follow(cache, lookups(self._traffic, self.container, WATCH_NS))

    def _look(self) -> None:
        if self.server is not None and self.container.running and self._follow():
            self.adapt()
