"""Events of the graph's time line, done and undone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from simcluster.models.traffic.exact.sources import OpenSource, Source
from simcluster.models.traffic.graph.events import Event

if TYPE_CHECKING:
    from simcluster.models.traffic.exact.calling import Edge
    from simcluster.models.traffic.exact.graph import Engine
    from simcluster.models.traffic.exact.replica import Replica


class Triggers:
    """Applies events. Overlapping factors multiply; of overlapping rates the latest counts."""

    def __init__(self, engine: Engine, sources: Mapping[str, Source]) -> None:
        self.engine = engine
        self.sources = sources
        self.factors: dict[tuple[str, int], list[float]] = {}
        self.loads: dict[str, list[float]] = {}
        self.rates: dict[str, list[Any]] = {}
        self.lost: dict[int, list[Replica]] = {}

    def schedule(self, events: tuple[Event, ...]) -> None:
        """Put all events on the time line."""
        for number, event in enumerate(events):
            self.engine.loop.at(event.at, self._begin, (number, event))
            if event.lasts is not None and event.kind != "outage":
                self.engine.loop.at(event.at + event.lasts, self._end, (number, event))

    def _begin(self, entry: tuple[int, Event]) -> None:
        number, event = entry
        actions: dict[str, Callable[[int, Event, bool], None]] = {
            "capacity": self._capacity, "outage": self._outage, "flush": self._flush, "load": self._load,
            "rate": self._rate, "loss": self._loss, "restart": self._restart, "retries": self._retries,
        }  # fmt: skip
        actions[event.kind](number, event, True)

    def _end(self, entry: tuple[int, Event]) -> None:
        number, event = entry
        actions: dict[str, Callable[[int, Event, bool], None]] = {
            "capacity": self._capacity, "load": self._load, "rate": self._rate, "loss": self._loss,
            "restart": self._restart, "retries": self._retries,
        }  # fmt: skip
        actions[event.kind](number, event, False)

    def _capacity(self, _: int, event: Event, begins: bool) -> None:
        effect = event.capacity
        assert effect is not None
        station = self.engine.stations[effect.service]
        indices = effect.replicas if effect.replicas is not None else range(len(station.replicas))
        for index in indices:
            factors = self.factors.setdefault((effect.service, index), [])
            if begins:
                factors.append(effect.factor)
            else:
                factors.remove(effect.factor)
            product = 1.0
            for factor in factors:
                product *= factor
            station.replicas[index].set_factor(product)

    def _between(self, caller: str, callee: str) -> list[Edge]:
        return [edge for one, other, edge in self.engine.edges if one == caller and other == callee]

    def _outage(self, _: int, event: Event, begins: bool) -> None:
        effect = event.outage
        assert effect is not None
        assert event.lasts is not None
        for edge in self._between(effect.caller, effect.to):
            end, held = edge.blocked.get(effect.to, (0, True))
            until = max(end, event.at + event.lasts)
            edge.blocked[effect.to] = (
                until,
                held and effect.messages == "held" if end > event.at else effect.messages == "held",
            )

    def _flush(self, _: int, event: Event, begins: bool) -> None:
        effect = event.flush
        assert effect is not None
        station = self.engine.stations[effect.service]
        for holding in [
            station.caches.get(effect.cache),
            *(one.holdings.get(effect.cache) for one in station.replicas),
        ]:
            if holding is not None:
                holding.flush()

    def _open(self, name: str) -> OpenSource:
        source = self.sources[name]
        assert isinstance(source, OpenSource)
        return source

    def _load(self, _: int, event: Event, begins: bool) -> None:
        effect = event.load
        assert effect is not None
        factors = self.loads.setdefault(effect.name, [])
        if begins:
            factors.append(effect.factor)
        else:
            factors.remove(effect.factor)
        source = self._open(effect.name)
        source.factor = 1.0
        for factor in factors:
            source.factor *= factor
        source.update()

    def _rate(self, number: int, event: Event, begins: bool) -> None:
        effect = event.rate
        assert effect is not None
        rates = self.rates.setdefault(effect.name, [])
        if begins:
            rates.append((number, effect.rate))
        else:
            rates.remove((number, effect.rate))
        source = self._open(effect.name)
        source.fixed = rates[-1][1] if rates else None
        source.update()

    def _loss(self, number: int, event: Event, begins: bool) -> None:
        effect = event.loss
        assert effect is not None
        station = self.engine.stations[effect.service]
        if begins:
            gone = station.up[-effect.replicas :]
            self.lost[number] = gone
            station.up = [replica for replica in station.up if replica not in gone]
            for replica in gone:
                replica.serving = False
                replica.lose()
        else:
            self._back(number, effect.service)

    def _restart(self, number: int, event: Event, begins: bool) -> None:
        effect = event.restart
        assert effect is not None
        station = self.engine.stations[effect.service]
        if begins:
            gone = list(station.up)
            if event.lasts is not None:
                self.lost[number] = gone
                station.up = []
            for replica in gone:
                replica.serving = event.lasts is None
                replica.lose()
        else:
            self._back(number, effect.service)

    def _back(self, number: int, service: str) -> None:
        station = self.engine.stations[service]
        back = self.lost.pop(number)
        for replica in back:
            replica.serving = True
        station.up = [replica for replica in station.replicas if replica.serving]

    def _retries(self, _: int, event: Event, begins: bool) -> None:
        effect = event.retries
        assert effect is not None
        for edge in self._between(effect.caller, effect.to):
            edge.attempts = min(edge.policy.attempts, effect.attempts) if begins else edge.policy.attempts
