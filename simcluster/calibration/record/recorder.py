"""The recorder: from a kubeconfig and some addresses to a folder, until time is up or somebody ends it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import httpx

from simcluster.calibration.record.clocks import ClusterClock
from simcluster.calibration.record.kubeconfig import Access, NoAccess, read_kubeconfig
from simcluster.calibration.record.layout import Header
from simcluster.calibration.record.operations import Operator, Step
from simcluster.calibration.record.redaction import Redaction
from simcluster.calibration.record.store import Store
from simcluster.calibration.record.telemetry import LAG_S, METRICS, Jaeger, Loki, PodLogs, Prometheus, Source
from simcluster.calibration.record.watching import CONNECT_S, RESOURCES, Resource, Watcher, discover

SAVE_S = 5.0
#: So many connections: one for each watch, and some to ask with.
_SPARE_CONNECTIONS = 8


@dataclass(frozen=True)
class Wanted:
    """What to record.

    Attributes:
        seconds: for how long, from when what is there was listed; 0: until it is ended.
        namespaces: of namespaced objects; empty: all.
        patterns: further regular expressions of what is secret.
        lag_s: how long ago a window of telemetry ends.
        pod_logs: namespaces whose pods' logs the API server is asked for.
    """

    kubeconfig: Path
    out: Path
    context: str = ""
    prometheus: str = ""
    loki: str = ""
    jaeger: str = ""
    seconds: float = 0.0
    namespaces: tuple[str, ...] = ()
    resources: tuple[str, ...] = RESOURCES
    metrics: str = METRICS
    logs: str = '{namespace=~".+"}'
    pod_logs: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    script: tuple[Step, ...] = ()
    script_folder: Path = field(default_factory=Path)
    lag_s: float = LAG_S


class Recorder:
    """One session of recording.

    Attributes:
        store: what has been written so far.
        missing: kinds that were asked for and that the server has not.
    """

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.redaction = Redaction(wanted.patterns)
        self.access = read_kubeconfig(wanted.kubeconfig, wanted.context)
        header = Header(redaction=list(self.redaction.patterns), namespaces=list(wanted.namespaces))
        header.sources["kubernetes"] = {"address": self.access.server}
        for name in ("prometheus", "loki", "jaeger"):
            if getattr(wanted, name):
                header.sources[name] = {"address": _without_password(getattr(wanted, name))}
        self.store = Store(wanted.out, header)
        self.missing: list[str] = []
        self._clock = ClusterClock()
        self._ended = asyncio.Event()

    def end(self) -> None:
        """Stop, and write down what is left; called on the loop's thread."""
        self._ended.set()

    async def run(self, progress: Callable[[Recorder], None] | None = None) -> None:
        """Record until time is up, the script is done and time was not limited, or `end` is called.

        Args:
            progress: is called every few seconds.

        Raises:
            NoAccess: the API server, or a source that was named, does not answer.
        """
        began_ns = self.store.clock.now_ns()
        async with AsyncExitStack() as opened:
            client = await opened.enter_async_context(_api_client(self.access, len(self.wanted.resources)))
            resources = await self._ask_server(client)
            sources = [await self._reach(await opened.enter_async_context(one)) for one in self._sources(client)]
            watchers = self._watchers(client, resources)
            tasks = [asyncio.create_task(watcher.run()) for watcher in watchers]
            try:
                await asyncio.gather(*(watcher.listed.wait() for watcher in watchers))
                for source in sources:
                    source.clock = self._clock
                tasks += [asyncio.create_task(source.run(began_ns)) for source in sources]
                operator = Operator(client, self.store, self.redaction, resources, self.wanted.script_folder)
                script = asyncio.create_task(operator.run(self.wanted.script))
                tasks.append(script)
                await self._wait(time.time(), progress)
                script.cancel()
                await self._let_settle(sources, began_ns)
            finally:
                with suppress(TimeoutError):
                    async with asyncio.timeout(CONNECT_S):
                        for watcher in watchers:
                            await watcher.settled.wait()
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                self.store.close()

    async def _wait(self, began_s: float, progress: Callable[[Recorder], None] | None) -> None:
        while not self._ended.is_set():
            left_s = began_s + self.wanted.seconds - time.time() if self.wanted.seconds else SAVE_S
            if left_s <= 0:
                return
            try:
                await asyncio.wait_for(self._ended.wait(), min(left_s, SAVE_S))
            except TimeoutError:
                self.store.save()
                if progress is not None:
                    progress(self)

    async def _let_settle(self, sources: list[Source], began_ns: int) -> None:
        """The last windows, once scrapes and exports of the last seconds have come in."""
        if sources and not self._ended.is_set():
            await asyncio.sleep(min(self.wanted.lag_s, LAG_S))
        for source in sources:
            await source.window(began_ns, last=True)

    async def _ask_server(self, client: httpx.AsyncClient) -> list[Resource]:
        try:
            answer = await client.get("/version")
            answer.raise_for_status()
            self.store.header.cluster |= {"version": answer.json()["gitVersion"], "server": self.access.server}
            resources, self.missing = await discover(client, self.wanted.resources)
        except (httpx.HTTPError, ValueError, KeyError) as problem:
            self.store.note("unreachable", "kubernetes", why=f"{type(problem).__name__}: {problem}")
            self.store.close()
            raise NoAccess(f"{self.access.server}: {type(problem).__name__}: {problem}") from None
        for name in self.missing:
            self.store.note("missing", f"objects/{name}", why="the server has no such kind")
        known = self.store.header.resources
        known += [resource.name for resource in resources if resource.name not in known]
        self.store.header.write(self.store.folder)
        return resources

    def _watchers(self, client: httpx.AsyncClient, resources: list[Resource]) -> list[Watcher]:
        found: dict[str, Watcher] = {}
        for resource in resources:
            for namespace in self.wanted.namespaces or ("",):
                watcher = Watcher(client, self.store, self.redaction, resource, namespace)
                watcher.clock = self._clock
                found.setdefault(watcher.key, watcher)
        return list(found.values())

    def _sources(self, client: httpx.AsyncClient) -> list[AbstractAsyncContextManager[Source]]:
        wanted, store, redaction = self.wanted, self.store, self.redaction
        found: list[AbstractAsyncContextManager[Source]] = []
        if wanted.prometheus:
            found.append(_opened(wanted.prometheus, lambda http: Prometheus(http, store, redaction, wanted.metrics,
                                                                            lag_s=wanted.lag_s)))  # fmt: skip
        if wanted.loki:
            found.append(
                _opened(wanted.loki, lambda http: Loki(http, store, redaction, wanted.logs, lag_s=wanted.lag_s))
            )
        if wanted.jaeger:
            found.append(_opened(wanted.jaeger, lambda http: Jaeger(http, store, redaction, lag_s=wanted.lag_s)))
        if wanted.pod_logs:
            found.append(_given(PodLogs(client, store, redaction, wanted.pod_logs, lag_s=1.0)))
        return found

    async def _reach(self, source: Source) -> Source:
        """A source that was named and does not answer is a mistake of whoever named it."""
        probe = {
            "prometheus": "/api/v1/label/__name__/values",
            "loki": "/loki/api/v1/labels",
            "jaeger": "/api/services",
        }
        path = probe.get(source.name)
        try:
            if path:
                await source.get(path)
        except (httpx.HTTPError, ValueError) as problem:
            self.store.note("unreachable", source.name, why=f"{type(problem).__name__}: {problem}")
            self.store.close()
            raise NoAccess(f"{source.name}: {_without_password(str(problem))}") from None
        return source


@asynccontextmanager
async def _opened(address: str, make: Callable[[httpx.AsyncClient], Source]) -> AsyncIterator[Source]:
    async with httpx.AsyncClient(base_url=address.rstrip("/"), timeout=30.0) as client:
        yield make(client)


@asynccontextmanager
async def _given(source: Source) -> AsyncIterator[Source]:
    yield source


@asynccontextmanager
async def _api_client(access: Access, watches: int) -> AsyncIterator[httpx.AsyncClient]:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=watches + _SPARE_CONNECTIONS)
    async with httpx.AsyncClient(
        base_url=access.server, verify=access.context, headers=access.headers, limits=limits, timeout=30.0
    ) as client:
        yield client


def _without_password(address: str) -> str:
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
