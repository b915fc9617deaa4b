"""What the five programs have in common: settings by variables, a look at themselves every second, metrics as text.

A setting is read when the process starts; one that cannot be read ends it. Metrics have the names that SRE-Zero gives
them and stand at `/metrics` of the service's own port.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from simcluster.engine import MILLISECOND, SECOND, Timer
from simcluster.models.apps.countedserver import CountedServer, CountingProgram
from simcluster.models.apps.marks import fill
from simcluster.models.apps.settings import WrongSetting
from simcluster.models.apps.startup import StartupWords
from simcluster.models.machine.process import Answer, Call
from simcluster.models.traffic.cluster.distribution import Component, Latency, mixture_quantiles
from simcluster.models.traffic.cluster.operations import CallSpec, LogTemplate, OperationSpec, ServiceSpec
from simcluster.models.traffic.cluster.server import Happened, Server
from simcluster.telemetry.metrics.columns import Columns, Group, Row, Samples, gauge

#: How often a program looks at itself, and how much of a rate it believes at once (half of a change in six seconds).
LOOK_NS, BELIEVED = SECOND, 0.12
#: Exit status of a program that cannot read its settings.
UNUSABLE = 2
#: A change that nobody would notice: a share of the value, and of a request.
NOTICEABLE, LEAST = 0.05, 0.006
#: Over how long it tells of what was followed.
WINDOW_NS = 10 * SECOND
#: A crowd settles by so much of the difference a second; most that is refused; who waits for longer is a number.
SETTLED, MOST_REFUSED, LONGEST_S = 0.5, 0.98, 8.0
#: For so long it knows how long who came has waited.
KNOWN_NS = 60 * SECOND
MILLI = 1000
#: While queues are followed request by request it changes how it serves no more often than this.
PAUSE_NS = 5 * SECOND
_TRUTH = {"true": True, "false": False}


class Share(NamedTuple):
    """A share of the requests that a program refuses before it does anything: why, and the line that it prints."""

    share: float
    answer: str
    status: int
    line: str = ""


class Fate(NamedTuple):
    """Requests of a kind: how many, the share that fails, how long those take that succeed, and all."""

    requests: int
    failed: float
    latency: Latency
    stay_ns: float


class Held(NamedTuple):
    """Requests that have had a worker, and how long they held it, all together."""

    requests: int
    time_ns: float


class TunedProgram(CountingProgram):
    """A program with settings.

    Attributes:
        SETTINGS: names of variables -> what counts without them; the type is that of the default.
        METRICS: names -> what they are.
        rates: requests a second by operation.
        refused: share of the requests that find no worker; `wait_s`: how long the others wait for one.
    """

    SETTINGS: ClassVar[Mapping[str, int | bool | str]] = {}
    METRICS: ClassVar[Mapping[str, str]] = {}
    rates: dict[str, float]
    _given: dict[str, int | bool | str]
    _came: list[int]
    _looking: Timer | None = None
    refused = 0.0
    wait_s = 0.0
    _queued = 0.0
    _published = (0.0, 0.0)
    _adapted_ns = 0
    _followed: list[tuple[int, Fate, Held]]  # of a tick in which queues were followed
    _waited: list[tuple[int, float]]  # since when who comes waits so long
    _shown: tuple[float, ...] = ()

    def start(self) -> None:
        """Read the settings; what cannot be read ends the program."""
        self.rates, self._followed, self._waited = {}, [], [(self.container.sim.now, 0.0)]
        self._came = [0] * len(self.behaviour.operations)
        try:
            self._given = {name: self._read(name, default) for name, default in self.SETTINGS.items()}
        except WrongSetting as wrong:
            self.say("ERROR", f'event=config_invalid key={wrong.variable} value="{wrong.value}"', "stderr")
            self.container.exit(UNUSABLE)
            return
        super().start()

    def stop(self) -> None:
        """The process is gone."""
        super().stop()
        if self._looking is not None:
            self._looking.cancel()

    def number(self, name: str) -> int:
        """A setting that is a number."""
        value = self._given[name]
        assert not isinstance(value, str)
        return int(value)

    def switch(self, name: str) -> bool:
        """A setting that is true or false."""
        return self._given[name] is True

    def word(self, name: str) -> str:
        """A setting that is a text."""
        return str(self._given[name])

    def took(self, tick_ns: int, counts: list[int]) -> None:
        """Requests of a tick."""
        for index, count in enumerate(counts):
            self._came[index] += count

    def tuned(self, spec: ServiceSpec) -> ServiceSpec:
        """How it serves with its settings, as it is now."""
        return spec

    def move(self) -> None:
        """A second has passed."""

    def state(self) -> tuple[float, ...]:
        """Numbers on which it depends how it serves."""
        return ()

    def metrics(self) -> dict[str, float]:
        """Their values."""
        return {}

    def service_spec(self) -> ServiceSpec:
        """How it serves now."""
        return self.tuned(super().service_spec())

    def build_server(self) -> Server:
        """One that counts."""
        return CountedServer(self, self.service_spec())

    def exposition(self, call: Call) -> Samples | Answer | None:
        """Its metrics, once it serves."""
        if self.server is None or call.path != "/metrics" or call.port not in self._ports:
            return super().exposition(call)
        columns = Columns(gauge(name, text) for name, text in self.METRICS.items())
        found = self.metrics()
        row: Row = columns.row([round(found.get(name, 0.0), 4) for name in self.METRICS])
        return {Group(columns): row}

    def say(self, level: str, text: str, stream: str = "stdout") -> None:
        """A line of its log."""
        words = StartupWords(self.container, self.environment, tuple(self._ports), "")
        self.container.write(fill(f"{{time_s}} {level} {text}", words.value), stream)

    @property
    def rate(self) -> float:
        """Requests a second."""
        return math.fsum(self.rates.values())

    @property
    def error_rate(self) -> float:
        """Share of the requests that fail now."""
        total = sum(one.requests for one in self._fates())  # integers
        failed = math.fsum(one.requests * one.failed for one in self._fates())
        return failed / total if total else 0.0

    @property
    def busy(self) -> float:
        """Requests that are inside, on average (Little's law)."""
        return math.fsum(one.requests * one.stay_ns for one in self._fates()) / (SECOND * MILLI)

    @property
    def p95_ms(self) -> float:
        """The latency that 95 of 100 requests that succeed stay below."""
        parts = [Component(int(one.requests * (1.0 - one.failed)), one.latency) for one in self._fates()]
        return mixture_quantiles(parts, (0.95,))[0] / MILLISECOND

    def crowd(self, workers: int, queue: int) -> None:
        """What becomes of who comes while so many workers have a request: so many wait, the others are refused.

        A fluid: what is asked for beyond what the workers can serve waits until it can be served; while the queue is
        full, it is refused.
        """
        load = self._wanted() / max(1, workers)
        served = self.rate / load if load else 0.0
        most = float(queue) if load else 0.0
        self._queued = min(most, max(0.0, self._queued + (self.rate - served) * LOOK_NS / SECOND))
        aim = min(MOST_REFUSED, 1.0 - 1.0 / load) if load > 1.0 and self._queued >= queue else 0.0
        self.refused += SETTLED * (aim - self.refused)
        if aim == 0.0 and self.refused < LEAST:
            self.refused = 0.0
        self.wait_s = min(LONGEST_S, self._queued / served) if served else 0.0

    def _wanted(self) -> float:
        """How many workers all who come would hold, by Little's law."""
        if not self.traffic.is_hot:
            turned, waits = self._published  # as it serves now: who is refused has waited, too
            return max(0.0, self.busy - self.rate * waits) / (1.0 - turned)
        self._forget()
        had = sum(held.requests for _, _, held in self._followed)  # integers
        time_ns = math.fsum(held.time_ns for _, _, held in self._followed)
        return self.rate * time_ns / (had * SECOND) if had else 0.0

    def _wait_ns(self, since_ns: float) -> float:
        """How long who came since an instant has waited for a worker, at most."""
        ends = [began for began, _ in self._waited[1:]] + [self.container.sim.now]
        return SECOND * max(wait_s for (_, wait_s), end in zip(self._waited, ends, strict=True) if end >= since_ns)

    def crowded(self, spec: ServiceSpec, answer: str, status: int, line: str) -> ServiceSpec:
        """Who waits for a worker, and who is refused."""
        self._published = (self.refused, self.wait_s)
        now = self.container.sim.now
        self._waited = [*(one for one in self._waited if one[0] > now - KNOWN_NS), (now, self.wait_s)]
        wait_ns = int(self.wait_s * SECOND)
        if not wait_ns and not self.refused:
            return spec
        operations = (replace(op, latency_ns=op.latency_ns + wait_ns) for op in spec.operations)
        return refusing(_with(spec, operations), "", [Share(self.refused, answer, status, line)])

    def _fates(self) -> list[Fate]:
        """Requests of each operation in a thousand seconds, and how they fare: now, or in the last seconds."""
        if self.server is None:
            return []
        if self.traffic.is_hot:
            self._forget()
            return [
                fate._replace(requests=fate.requests * MILLI * SECOND // WINDOW_NS) for _, fate, _ in self._followed
            ]
        found = []
        for index, name in enumerate(self.behaviour.operations):
            fate = self.traffic.fate(self.server, index)
            if fate is not None:
                count = int(MILLI * self.rates.get(name, 0.0))
                found.append(Fate(count, 1.0 - fate.ok, fate.latency, fate.stay_ns))
        return found

    def log_requests(self, t_ns: int, span_ns: int, happened: Happened) -> bool:
        """Keep what was followed for some seconds."""
        for one in happened.followed:
            bad = [failed for failed in one.failed if failed.call.required]
            lost = sum(failed.calls for failed in bad)  # integers
            values, count = one.took.values, one.served + lost
            if count:
                mean = math.fsum(values) / len(values) if len(values) else 0.0
                ends = [(one.served, mean)]
                ends += [(failed.calls, failed.before.mean + failed.after_ns) for failed in bad]
                stay_ns = math.fsum(number * took for number, took in ends) / count
                fate = Fate(count, lost / count, Latency(mean, mean * mean / 4.0), stay_ns)
                began = [ends[0], *(end for end, failed in zip(ends[1:], bad, strict=True) if failed.call.env)]
                time_ns = math.fsum(n * max(0.0, took - self._wait_ns(t_ns - took)) for n, took in began)
                held = Held(sum(number for number, _ in began), time_ns)  # integers
                self._followed.append((t_ns, fate, held))
        self._forget()
        return super().log_requests(t_ns, span_ns, happened)

    def _forget(self) -> None:
        since = self.container.sim.now - WINDOW_NS
        if self._followed and self._followed[0][0] <= since:
            self._followed = [one for one in self._followed if one[0] > since]

    def _ready(self) -> None:
        super()._ready()
        if self.server is not None and self.container.running:
            self._looking = self.container.sim.every(LOOK_NS, self._look)

    def _look(self) -> None:
        if self.server is None or not self.container.running or self.container.halted:
            return
        for name, count in zip(self.behaviour.operations, self._came, strict=True):
            before = self.rates.get(name)
            now = count * SECOND / LOOK_NS
            self.rates[name] = now if before is None else before + BELIEVED * (now - before)
        self._came = [0] * len(self._came)
        self.move()
        state, hot = self.state(), self.traffic.is_hot
        now = self.container.sim.now
        if hot and now - self._adapted_ns < PAUSE_NS:
            return
        if len(state) != len(self._shown) or any(map(_differ, state, self._shown)):
            self._shown, self._adapted_ns = state, now
            self.adapt()

    def _read(self, name: str, default: int | bool | str) -> int | bool | str:
        text = self.environment.get(name, "")
        if not text or isinstance(default, str):
            return text or default
        if isinstance(default, bool):
            if text.lower() not in _TRUTH:
                raise WrongSetting(name, text)
            return _TRUTH[text.lower()]
        if not text.isdigit() or len(text) > 9:
            raise WrongSetting(name, text)
        return int(text)


def _differ(one: float, other: float) -> bool:
    return abs(one - other) > max(LEAST, NOTICEABLE * max(abs(one), abs(other)))


def changed(spec: ServiceSpec, name: str, **values: Any) -> ServiceSpec:
    """One operation of a service, otherwise."""
    return _with(spec, (replace(op, **values) if op.name == name else op for op in spec.operations))


def refusing(spec: ServiceSpec, name: str, shares: Iterable[Share]) -> ServiceSpec:
    """Shares of an operation's requests (of every one's, without a name) fail before anything else is done."""
    thrown = tuple(_thrown(one) for one in shares if one.share > 0.0)
    if not thrown:
        return spec
    return _with(
        spec,
        (
            op if name not in ("", op.name) else replace(op, steps=(*((one,) for one in thrown), *op.steps))
            for op in spec.operations
        ),
    )


def _thrown(one: Share) -> CallSpec:
    log = (LogTemplate(one.line),) if one.line else ()
    return CallSpec("", "", count=min(1.0, one.share), answer=one.answer, status=one.status, log=log)


def _with(spec: ServiceSpec, operations: Iterable[OperationSpec]) -> ServiceSpec:
    return replace(spec, operations=tuple(operations))
