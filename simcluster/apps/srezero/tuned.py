"""What the five programs have in common: settings by variables, a look at themselves every second, metrics as text.

A setting is read when the process starts; one that cannot be read ends it. Metrics have the names that SRE-Zero gives
them and stand at `/metrics` of the service's own port, over the last ten seconds.
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
#: Over how long metrics are taken.
WINDOW_NS = 10 * SECOND
#: Exit status of a program that cannot read its settings.
UNUSABLE = 2
#: A change that nobody would notice: a share of the value, and of a request.
NOTICEABLE, LEAST = 0.05, 0.006
#: Shares of the workers from which on, and below which, it does not matter any more how many there are.
ENOUGH, PLENTY = 0.5, 0.4
_TRUTH = {"true": True, "false": False}


class Share(NamedTuple):
    """A share of the requests that a program refuses before it does anything: why, and the line that it prints."""

    share: float
    answer: str
    status: int
    line: str = ""


class TunedProgram(CountingProgram):
    """A program with settings.

    Attributes:
        SETTINGS: names of variables -> what counts without them; the type is that of the default.
        METRICS: names -> what they are.
        rates: requests a second by operation.
    """

    SETTINGS: ClassVar[Mapping[str, int | bool | str]] = {}
    METRICS: ClassVar[Mapping[str, str]] = {}
    rates: dict[str, float]
    _given: dict[str, int | bool | str]
    _came: list[int]
    _looking: Timer | None = None
    _counted = True  # until the first look
    _shown: tuple[float, ...] = ()
    _seen: list[tuple[int, int, int, Latency]]  # instant, served, failed, how long the served took

    def start(self) -> None:
        """Read the settings; what cannot be read ends the program."""
        self.rates, self._seen = {}, []
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

    def log_requests(self, t_ns: int, span_ns: int, happened: Happened) -> bool:
        """Keep what happened for the metrics of ten seconds."""
        for one in happened.served:
            self._seen.append((t_ns, one.requests, 0, one.latency))
        failed = sum(one.calls for one in happened.failed if one.call.required)  # integers
        for each in happened.followed:
            failed += sum(lost.calls for lost in each.failed if lost.call.required)  # integers
            values = each.took.values
            mean = math.fsum(values) / len(values) if len(values) else 0.0
            self._seen.append((t_ns, each.served, 0, Latency(mean, (0.5 * mean) * (0.5 * mean))))
        if failed:
            self._seen.append((t_ns, 0, failed, Latency(0.0, 0.0)))
        self._forget(t_ns)
        return super().log_requests(t_ns, span_ns, happened)

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
        """Share of the requests that failed."""
        self._forget(self.container.sim.now)
        served, failed = sum(one[1] for one in self._seen), sum(one[2] for one in self._seen)  # integers
        return failed / (served + failed) if served + failed else 0.0

    @property
    def mean_s(self) -> float:
        """How long a request that succeeds takes, on average."""
        served = sum(one[1] for one in self._seen)  # integers
        total = sum(one[1] * int(one[3].mean) for one in self._seen)  # integers
        return total / served / SECOND if served else 0.0

    def limit(self, workers: int) -> int:
        """How many of so many workers the traffic has to count: none as long as hardly half of them have a request."""
        busy = self.rate * self.mean_s
        if busy > ENOUGH * workers or self.error_rate > 0.0:
            self._counted = True
        elif busy < PLENTY * workers:
            self._counted = False
        return max(1, workers) if self._counted else 0

    @property
    def p95_ms(self) -> float:
        """The latency that 95 of 100 requests that succeed stay below."""
        self._forget(self.container.sim.now)
        parts = [Component(served, latency) for _, served, _, latency in self._seen]
        return mixture_quantiles(parts, (0.95,))[0] / MILLISECOND

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
        state = self.state()
        if len(state) != len(self._shown) or any(map(_differ, state, self._shown)):
            self._shown = state
            self.adapt()

    def _forget(self, now: int) -> None:
        if self._seen and self._seen[0][0] <= now - WINDOW_NS:
            self._seen = [one for one in self._seen if one[0] > now - WINDOW_NS]

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
