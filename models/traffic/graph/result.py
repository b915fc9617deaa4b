"""What a run shows: a series for every load and service, and totals after the warm-up.

Both engines fill the same tables. Times are nanoseconds inside and seconds in `to_dict`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simcluster.models.traffic.graph.histogram import Histogram, summary

#: Of what `to_dict` makes; keys are added without a new number, and not renamed or taken away.
FORMAT = "simcluster.traffic/1"
#: How a request or an attempt can end badly.
FAILURES = ("timeout", "rejected", "error", "refused")


@dataclass
class LoadWindow:
    """What one load saw in one window.

    Attributes:
        arrivals: requests that began.
        attempts: attempts that began, first ones included.
        ok: requests that succeeded (goodput), by the instant of their answer.
        failed: requests given up, by the last attempt's failure: `timeout`, `rejected`, `error`, or
            `refused` by the caller's own breaker, throttle or full pool.
        attempts_failed: attempts that failed, by the same kinds.
        latency: of requests that succeeded, from their beginning, retries included.
        waiting: requests that have begun and not ended, at the end of the window.
    """

    arrivals: int = 0
    attempts: int = 0
    ok: int = 0
    failed: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FAILURES, 0))
    attempts_failed: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FAILURES, 0))
    latency: Histogram = field(default_factory=Histogram)
    waiting: int = 0

    def merge(self, other: LoadWindow) -> None:
        """Add a later window."""
        self.arrivals += other.arrivals
        self.attempts += other.attempts
        self.ok += other.ok
        for name in FAILURES:
            self.failed[name] += other.failed[name]
            self.attempts_failed[name] += other.attempts_failed[name]
        self.latency.merge(other.latency)
        self.waiting = other.waiting

    def to_dict(self, seconds: float) -> dict[str, Any]:
        """Counts as rates a second, latencies in seconds."""
        return {
            "arrivals": self.arrivals / seconds,
            "attempts": self.attempts / seconds,
            "goodput": self.ok / seconds,
            "failed": {name: count / seconds for name, count in self.failed.items()},
            "attempts_failed": {name: count / seconds for name, count in self.attempts_failed.items()},
            "success": _share(self.ok, self.arrivals),
            "attempts_per_request": _share(self.attempts, self.arrivals),
            "latency": dict(summary(self.latency)),
            "waiting": self.waiting,
        }


@dataclass(slots=True)
class ServiceWindow:
    """What one service did in one window, all replicas together.

    Attributes:
        arrivals: attempts that reached it.
        rejected: of them, turned away or dropped (bound, shedding, rate limit).
        served: answered, well or not.
        errors: of them, with an error.
        late: of them, answers nobody waited for any more.
        wait: from arrival to the first worker; sojourn: from arrival to the answer (of those served).
        queue: requests waiting for a worker, mean over the window; queue_end: at its end.
        busy: workers held, mean over the window.
        working: workers at work (using CPU), mean over the window.
        up: replicas that serve, at the end of the window.
        hits, lookups: of its caches.
        pause_ns: time its replicas stood still for garbage collections, all together.
    """

    arrivals: int = 0
    rejected: int = 0
    served: int = 0
    errors: int = 0
    late: int = 0
    wait: Histogram = field(default_factory=Histogram)
    sojourn: Histogram = field(default_factory=Histogram)
    queue: float = 0.0
    queue_end: int = 0
    busy: float = 0.0
    working: float = 0.0
    up: int = 0
    hits: int = 0
    lookups: int = 0
    pause_ns: int = 0

    def merge(self, other: ServiceWindow, weight: float) -> None:
        """Add a later window; means over time are added with its weight (its share of the whole time)."""
        self.arrivals += other.arrivals
        self.rejected += other.rejected
        self.served += other.served
        self.errors += other.errors
        self.late += other.late
        self.hits += other.hits
        self.lookups += other.lookups
        self.pause_ns += other.pause_ns
        self.queue += other.queue * weight
        self.busy += other.busy * weight
        self.working += other.working * weight
        self.wait.merge(other.wait)
        self.sojourn.merge(other.sojourn)
        self.queue_end, self.up = other.queue_end, other.up

    def to_dict(self, seconds: float) -> dict[str, Any]:
        """Counts as rates a second, times in seconds."""
        rates = {name: getattr(self, name) / seconds for name in ("arrivals", "rejected", "served", "errors", "late")}
        return {
            **rates,
            "wait": dict(summary(self.wait)),
            "sojourn": dict(summary(self.sojourn)),
            "queue": self.queue,
            "queue_end": self.queue_end,
            "busy": self.busy,
            "working": self.working,
            "up": self.up,
            "hit_rate": self.hits / self.lookups if self.lookups else None,
            "pause": self.pause_ns / 1e9 / seconds,
        }


@dataclass(slots=True)
class EdgeWindow:
    """Calls of one service by another in one window, as the caller saw them.

    Attributes:
        attempts: attempts (and messages) that began; those that the caller itself refused count, too.
        failed: attempts that failed, by kind.
    """

    attempts: int = 0
    attempts_failed: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FAILURES, 0))

    def merge(self, other: EdgeWindow) -> None:
        """Add a later window."""
        self.attempts += other.attempts
        for name in FAILURES:
            self.attempts_failed[name] += other.attempts_failed[name]

    def to_dict(self, seconds: float) -> dict[str, Any]:
        """Counts as rates a second."""
        failed = {name: count / seconds for name, count in self.attempts_failed.items()}
        return {"attempts": self.attempts / seconds, "failed": failed}


@dataclass
class Result:
    """One run.

    Attributes:
        name, engine, seed: which graph, `exact` or `aggregate`, and the seed.
        window_ns, warmup_ns: length of a row, and from where the totals count.
        strategies: names of those that evaluated it (`traffic.strategies`).
        end_ns: how far it came; less than asked when `stopped` says why.
        load, services: name -> one entry for each window (the last one may be shorter).
        load_totals, service_totals: name -> everything after the warm-up.
        edges, edge_totals: the same of `caller -> callee`, for calls between services.
        servers: service -> requests that one replica can work on at the same time; None is without limit.
    """

    name: str
    engine: str
    seed: int
    window_ns: int
    warmup_ns: int
    end_ns: int = 0
    stopped: str = ""
    strategies: tuple[str, ...] = ()
    load: dict[str, list[LoadWindow]] = field(default_factory=dict)
    services: dict[str, Sequence[ServiceWindow]] = field(default_factory=dict)
    load_totals: dict[str, LoadWindow] = field(default_factory=dict)
    service_totals: dict[str, ServiceWindow] = field(default_factory=dict)
    edges: dict[str, Sequence[EdgeWindow]] = field(default_factory=dict)
    edge_totals: dict[str, EdgeWindow] = field(default_factory=dict)
    servers: dict[str, int | None] = field(default_factory=dict)

    def window_seconds(self, index: int) -> float:
        """Length of a window in seconds."""
        return min(self.window_ns, self.end_ns - index * self.window_ns) / 1e9

    def measured_seconds(self) -> float:
        """Time that the totals cover, in seconds."""
        return (self.end_ns - self.warmup_ns) / 1e9

    def add_totals(self) -> None:
        """Fill the totals from the windows after the warm-up; the end must be known."""
        first = self.warmup_ns // self.window_ns
        whole_s = self.measured_seconds()
        for name, load_windows in self.load.items():
            total = self.load_totals[name] = LoadWindow()
            for window in load_windows[first:]:
                total.merge(window)
        for name, windows in self.services.items():
            figures = self.service_totals[name] = ServiceWindow()
            for index, one in enumerate(windows[first:], first):
                figures.merge(one, self.window_seconds(index) / whole_s)

        self.add_edge_totals()

    def add_edge_totals(self) -> None:
        """Fill the totals of the edges."""
        first = -(-self.warmup_ns // self.window_ns)
        for name, rows in self.edges.items():
            whole = self.edge_totals[name] = EdgeWindow()
            for row in rows[first:]:
                whole.merge(row)

    def between(self, load: str, begin_ns: int, end_ns: int) -> LoadWindow:
        """One load's windows that lie inside a span, added up."""
        total = LoadWindow()
        for index, window in enumerate(self.load[load]):
            if index * self.window_ns >= begin_ns and (index + 1) * self.window_ns <= end_ns:
                total.merge(window)
        return total

    def to_dict(self) -> dict[str, Any]:
        """For JSON: a list of windows, and totals; rates a second and seconds. `docs/TRAFFIC.md` lists the keys."""
        count = max((len(rows) for rows in self.load.values()), default=0)
        return {
            "format": FORMAT,
            "name": self.name,
            "engine": self.engine,
            "strategies": list(self.strategies),
            "seed": self.seed,
            "window_s": self.window_ns / 1e9,
            "warmup_s": self.warmup_ns / 1e9,
            "duration_s": self.end_ns / 1e9,
            "stopped": self.stopped,
            "series": [self._window(index) for index in range(count)],
            "totals": self._totals(),
        }

    def _window(self, index: int) -> Mapping[str, Any]:
        seconds = self.window_seconds(index)
        return {
            "t_s": index * self.window_ns / 1e9,
            **self._parts(
                {name: rows[index] for name, rows in self.load.items()},
                {name: rows[index] for name, rows in self.services.items()},
                {name: rows[index] for name, rows in self.edges.items() if index < len(rows)},
                seconds,
            ),
        }

    def _totals(self) -> Mapping[str, Any]:
        seconds = self.measured_seconds()
        if seconds <= 0.0:
            return {"load": {}, "services": {}, "edges": {}}
        return self._parts(self.load_totals, self.service_totals, self.edge_totals, seconds)

    def _parts(
        self,
        load: Mapping[str, LoadWindow],
        services: Mapping[str, ServiceWindow],
        edges: Mapping[str, EdgeWindow],
        seconds: float,
    ) -> dict[str, Any]:
        """The figures of one stretch."""
        requests = sum(row.arrivals for row in load.values())  # integers
        shown = {}
        for name, row in services.items():
            servers = self.servers.get(name)
            used = row.working / (servers * row.up) if servers and row.up else None
            shown[name] = {**row.to_dict(seconds), "utilisation": used, "per_request": _share(row.arrivals, requests)}
        return {
            "load": {name: row.to_dict(seconds) for name, row in load.items()},
            "services": shown,
            "edges": {name: row.to_dict(seconds) for name, row in edges.items()},
        }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
