"""Independent runs of a graph of one service and one load, in the cheapest way an engine has.

`exact` runs one after the other, with seeds of their own. `aggregate` runs copies of the service side by side in one
graph, for its cost goes by ticks and hardly by pods: one Poisson load spread over them at random is a Poisson load of
each, and callers of different services share nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simcluster.eval.validation.finding import Estimate, Share, batched
from simcluster.models.traffic.graph import Result
from simcluster.models.traffic.graph.result import LoadWindow, ServiceWindow

SECOND = 1_000_000_000
#: Batches of which an interval is made, about.
BATCHES = 16
#: Requests inside that a graph of many copies may have.
REQUESTS = 20_000_000
#: Says of a copy, by the windows gone by and what waits in its queue then, whether its outcome is known.
Enough = Callable[[int, float], bool]
#: A figure of one load in a stretch of time.
Of = Callable[[LoadWindow], float]


@dataclass
class Copies:
    """Runs of one graph.

    Attributes:
        rows: the windows of the service of each copy.
        results: runs, each of `count / len(results)` copies.
        load: name of the load.
    """

    rows: list[Sequence[ServiceWindow]]
    results: list[Result]
    load: str

    @property
    def count(self) -> int:
        """How many copies."""
        return len(self.rows)

    def share(self, test: Callable[[Sequence[ServiceWindow]], bool]) -> Share:
        """How many copies pass a test."""
        return Share(sum(test(rows) for rows in self.rows), self.count)

    def ratio(self, what: Of, begin_s: float, end_s: float) -> Estimate:
        """Something over the requests that began in a stretch."""
        return self._over(begin_s, end_s, lambda row, _: what(row) / max(row.arrivals, 1))

    def rate(self, what: Of, begin_s: float, end_s: float) -> Estimate:
        """Something a second and copy."""
        each = self.count / len(self.results)
        return self._over(begin_s, end_s, lambda row, seconds: what(row) / seconds / each)

    def _over(self, begin_s: float, end_s: float, value: Callable[[LoadWindow, float], float]) -> Estimate:
        """A figure of all runs together; its interval is from stretches of them."""
        window = self.results[0].window_ns
        first, last = -(-round(begin_s * SECOND) // window), round(end_s * SECOND) // window
        parts = max(1, min(BATCHES // len(self.results), last - first))
        whole, batches = LoadWindow(), []
        for result in self.results:
            rows = result.load[self.load]
            for part in range(parts):
                low, high = first + (last - first) * part // parts, first + (last - first) * (part + 1) // parts
                batch = LoadWindow()
                for row in rows[low:high]:
                    batch.merge(row)
                    whole.merge(row)
                batches.append(value(batch, (high - low) * window / SECOND))
        seconds = (last - first) * window / SECOND * len(self.results)
        return batched(value(whole, seconds), batches)


def copied(graph: Mapping[str, Any], count: int) -> dict[str, Any]:
    """A graph of one service and one load, with so many copies of the service under one load.

    Events at the service happen to each copy.
    """
    (service, spec), (load, users) = next(iter(graph["services"].items())), next(iter(graph["load"].items()))
    names = [f"{service}{number}" for number in range(count)]
    users = {key: value for key, value in users.items() if key != "target"}
    users["mix"] = dict.fromkeys(names, 1)
    rates = users["open"]
    users["open"] = {**rates, **({"rate": rates["rate"] * count} if "rate" in rates else {})}
    if "stages" in rates:
        users["open"]["stages"] = [
            {key: value * count if key in ("rate", "to") else value for key, value in stage.items()}
            for stage in rates["stages"]
        ]
    events: list[dict[str, Any]] = []
    for event in graph.get("events", ()):
        kind = next(key for key in event if key not in ("at", "for"))
        effect = event[kind]
        if kind == "rate":
            events.append({**event, "rate": {**effect, "rate": effect["rate"] * count}})
        elif kind == "load":
            events.append(event)
        else:
            place = "service" if "service" in effect else "to"
            events += [{**event, kind: {**effect, place: name}} for name in names]
    return {
        **graph,
        "run": {**graph["run"], "requests": REQUESTS},
        "services": dict.fromkeys(names, spec),
        "load": {load: users},
        "events": events,
    }
