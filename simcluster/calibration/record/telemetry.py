"""Collects what Prometheus, Loki and Jaeger have, window by window, while objects are being watched.

A window ends some seconds ago, so that scrapes, pushes and span exports have arrived; the next begins where it ended,
in the next session too. Of Prometheus the raw samples are taken (a range selector), not an evaluation at steps.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from typing import Any

import httpx

from simcluster.calibration.record.clocks import ClusterClock
from simcluster.calibration.record.layout import LOGS, TRACES
from simcluster.calibration.record.redaction import Redaction
from simcluster.calibration.record.series import Sample, labels_text, write_series
from simcluster.calibration.record.store import Store
from simcluster.calibration.record.traces import jaeger_lines

#: How long a window is, and how long ago it ends: a Prometheus scrapes every 15 to 60 s by its defaults, Loki's
#: agents push every second, exporters of spans every 5 s.
WINDOW_S, LAG_S = 30.0, 20.0
LOKI_LINES, JAEGER_TRACES = 5000, 1500
#: A file of series is written when so many samples have been taken.
SERIES_ROWS = 200_000
#: Which series are taken unless others are named.
METRICS = (
    r"up|container_(cpu|memory|network|fs)_.+|node_(cpu|memory|disk|network|load|vmstat)_?.*|kube_(pod|node|deployment)_.+"
    r"|istio_(requests|request_duration|response)_.+|(.*_)?(requests?|responses?|errors?|handled|started)(_total|_count)"
    r"|.*(duration|latency)_(milli)?seconds(_(bucket|sum|count))?|.*_duration_ms_(bucket|sum|count)|process_.+"
    r"|apiserver_request_total|scheduler_.+_seconds_(sum|count)|kubelet_.+_seconds_(sum|count)|coredns_.+_seconds_(sum|count)"
)


class Source:
    """Something that is asked again and again for what happened in a window.

    Attributes:
        name: as the header, the notes and the state call it.
    """

    name = ""

    def __init__(self, client: httpx.AsyncClient, store: Store, redaction: Redaction, *, lag_s: float = LAG_S) -> None:
        self.client = client
        self.store = store
        self.redaction = redaction
        self.lag_s = lag_s
        self.clock = ClusterClock()
        self._collecting = asyncio.Lock()

    def now_s(self) -> float:
        """The source's clock."""
        return self.clock.source_ns(self.store.clock.now_ns()) / 1e9

    async def collect(self, begin_s: float, end_s: float) -> None:
        """Write down what happened after `begin_s` up to `end_s`, both of the source's clock."""
        raise AssertionError("every source says how")

    async def run(self, began_ns: int) -> None:
        """Until it is cancelled. The first window begins at that instant, or where the last session ended."""
        while True:
            await self.window(began_ns)
            await asyncio.sleep(WINDOW_S)

    async def window(self, began_ns: int, *, last: bool = False) -> None:
        """One window, up to now (less the lag, unless it is the last one); what goes wrong is noted."""
        async with self._collecting:
            await self._window(began_ns, last=last)

    async def _window(self, began_ns: int, *, last: bool) -> None:
        begin_s = float(self.store.state.get("windows", {}).get(self.name, self.clock.source_ns(began_ns) / 1e9))
        end_s = self.now_s() - (0.0 if last else self.lag_s)
        while begin_s < end_s:
            until_s = min(end_s, begin_s + 10 * WINDOW_S)
            try:
                await self.collect(begin_s, until_s)
            except (httpx.HTTPError, ValueError, KeyError) as problem:
                self.store.note("lost", self.name, why=f"{type(problem).__name__}: {problem}", since_s=begin_s)
                return
            begin_s = until_s
            self.store.state.setdefault("windows", {})[self.name] = begin_s

    async def get(self, path: str, **query: Any) -> Any:
        """The JSON of an answer."""
        answer = await self.client.get(path, params=query)
        answer.raise_for_status()
        return answer.json()


class Prometheus(Source):
    """Raw samples of the series whose names match."""

    name = "prometheus"

    def __init__(
        self, client: httpx.AsyncClient, store: Store, redaction: Redaction, pattern: str = METRICS, **more: Any
    ) -> None:
        super().__init__(client, store, redaction, **more)
        self._wanted = re.compile(pattern)

    async def collect(self, begin_s: float, end_s: float) -> None:
        """Ask for each name by itself: no answer is larger than one family of series."""
        names = (await self.get("/api/v1/label/__name__/values"))["data"]
        span = f"{max(1, round((end_s - begin_s) * 1000))}ms"
        taken, samples = 0, list[Sample]()
        for name in sorted(filter(self._wanted.fullmatch, names)):
            found = await self.get("/api/v1/query", query=f'{{__name__="{name}"}}[{span}]', time=f"{end_s:.3f}")
            for series in found["data"]["result"]:
                labels = labels_text(series["metric"])
                samples += [Sample(name, labels, round(t * 1000), float(v)) for t, v in series.get("values") or ()]
            if len(samples) > SERIES_ROWS:
                taken += await asyncio.to_thread(write_series, self.store.folder, samples)
                samples = []
        taken += await asyncio.to_thread(write_series, self.store.folder, samples)
        self.store.counts["series"] = self.store.counts.get("series", 0) + taken


class Loki(Source):
    """Lines of all streams that match a selector."""

    name = "loki"

    def __init__(
        self, client: httpx.AsyncClient, store: Store, redaction: Redaction, selector: str, **more: Any
    ) -> None:
        super().__init__(client, store, redaction, **more)
        self.selector = selector

    async def collect(self, begin_s: float, end_s: float) -> None:
        """A page at a time, oldest first; a page that is full within one nanosecond cannot be gone on from."""
        begin_ns, end_ns = round(begin_s * 1e9), round(end_s * 1e9)
        while True:
            query = {"query": self.selector, "start": begin_ns, "end": end_ns, "limit": LOKI_LINES}
            found = await self.get("/loki/api/v1/query_range", direction="forward", **query)
            entries = [
                (int(ts), stream["stream"], line) for stream in found["data"]["result"] for ts, line in stream["values"]
            ]
            for ts, labels, line in sorted(entries, key=lambda entry: entry[0]):
                self.store.write(LOGS, {"ts": ts, "labels": labels, "line": self.redaction.text(line)})
            if len(entries) < LOKI_LINES:
                return
            last_ns = max(entry[0] for entry in entries)
            if last_ns <= begin_ns:
                self.store.note("gap", self.name, why=f"more than {LOKI_LINES} lines in one nanosecond")
            begin_ns = last_ns + 1


class Jaeger(Source):
    """Traces of every service, each once."""

    name = "jaeger"

    async def collect(self, begin_s: float, end_s: float) -> None:
        """Service after service; a service with more traces than an answer holds is noted."""
        seen: set[str] = set()
        window = {"start": round(begin_s * 1e6), "end": round(end_s * 1e6), "limit": JAEGER_TRACES}
        for service in (await self.get("/api/services"))["data"] or ():
            found = (await self.get("/api/traces", service=service, **window))["data"] or ()
            if len(found) >= JAEGER_TRACES:
                self.store.note("gap", self.name, why=f"{service} has more than {JAEGER_TRACES} traces in a window")
            for line in jaeger_lines(found):
                if line["trace"] not in seen:
                    seen.add(line["trace"])
                    self.store.write(TRACES, line)


class PodLogs(Source):
    """Logs of the pods of some namespaces, from the API server, where there is no Loki."""

    name = "pod-logs"

    def __init__(
        self, client: httpx.AsyncClient, store: Store, redaction: Redaction, namespaces: Sequence[str], **more: Any
    ) -> None:
        super().__init__(client, store, redaction, **more)
        self.namespaces = tuple(namespaces)

    async def collect(self, begin_s: float, end_s: float) -> None:
        """Each container's lines since the window's begin, by the time stamps that the runtime gave them."""
        since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(begin_s))
        for namespace in self.namespaces:
            pods = (await self.get(f"/api/v1/namespaces/{namespace}/pods"))["items"]
            for pod in pods:
                for container in pod["spec"]["containers"]:
                    await self._read(pod["metadata"], container["name"], since)

    async def _read(self, metadata: dict[str, Any], container: str, since: str) -> None:
        name = f"{metadata['namespace']}/{metadata['name']}/{container}"
        seen: dict[str, str] = self.store.state.setdefault("logs", {})
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/log"
        query = {"container": container, "timestamps": "true", "sinceTime": since}
        async with self.client.stream("GET", path, params=query) as answer:
            if answer.status_code >= 400:  # not started yet
                return
            labels = {"namespace": metadata["namespace"], "pod": metadata["name"], "container": container}
            async for text in answer.aiter_lines():
                stamp, _, line = text.partition(" ")
                if stamp > seen.get(name, ""):
                    seen[name] = stamp
                    self.store.write(LOGS, {"stamp": stamp, "labels": labels, "line": self.redaction.text(line)})
