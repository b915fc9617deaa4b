"""A program with an OpenFeature client: it asks flagd what its flags are, and does otherwise when they change.

The client holds a stream to flagd, which tells of changes, and answers evaluations from what it has heard; while nobody
is there it answers with the default that the code gives. Here it looks once a second. Source: the providers' RPC mode
with its cache (open-feature/flagd, `docs/reference/specifications/providers`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simcluster.engine import SECOND, Timer
from simcluster.models.apps.behaviour import Behaviour
from simcluster.models.apps.flags.flagd import FlagdProgram
from simcluster.models.apps.reaching import reach
from simcluster.models.apps.server import ServerProgram
from simcluster.models.machine.container import Container
from simcluster.models.traffic.cluster.operations import CallSpec, LogTemplate, OperationSpec, ServiceSpec
from simcluster.models.traffic.cluster.server import Happened

#: How often a client looks whether it has heard something.
WATCH_NS = SECOND


class Flags:
    """What a client knows of flags: values by name, nothing while flagd cannot be reached."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._seen: tuple[int, str, int] = (-1, "", -1)  # version of the network, flagd's container, its revision
        self._flagd: Container | None = None

    def look(self, program: ServerProgram) -> bool:
        """Ask flagd; whether anything is new."""
        flagd, version = self._flagd, program.traffic.network.version
        known = flagd is not None and flagd.running and version == self._seen[0]
        if not known:
            host, port = program.environment.get("FLAGD_HOST", ""), program.environment.get("FLAGD_PORT", "8013")
            number = int(port) if port.isdigit() else 8013
            flagd = self._flagd = reach(program.traffic.network, program.container, host, number).container
        service = flagd.program if flagd is not None and flagd.running else None
        if flagd is None or not isinstance(service, FlagdProgram):
            seen, values = (version, "", -1), {}
        else:
            seen, values = (version, flagd.container_id, service.revision), service.flags
        before, self._values = self._values, values
        changed = before is not values and before != values
        self._seen = seen
        return changed

    def boolean(self, name: str) -> bool:
        """A flag that is on or off; off by default."""
        return self._values.get(name) is True

    def number(self, name: str) -> float:
        """A flag with a number; 0 by default."""
        value = self._values.get(name, 0)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


class FlaggedProgram(ServerProgram):
    """A program whose code asks flags on its way.

    Attributes:
        flags: what it knows of them.
    """

    def __init__(
        self,
        container: Container,
        traffic: Any,
        behaviour: Behaviour,
        mix_of_users: tuple[tuple[str, float], ...] = (),
        environment: dict[str, str] | None = None,
    ) -> None:
        super().__init__(container, traffic, behaviour, mix_of_users, environment)
        self.environment = dict(self.environment)
        self.flags = Flags()
        self._watch: Timer | None = None

    def flagged(self, spec: ServiceSpec) -> ServiceSpec:
        """How it serves with its flags as they are."""
        return spec

    def switched(self) -> None:
        """Flags have changed, beside what they mean for how it serves."""

    def service_spec(self) -> ServiceSpec:
        """How it serves, decided when it begins to listen."""
        self.flags.look(self)
        return self.flagged(super().service_spec())

    def stop(self) -> None:
        """The process is gone."""
        super().stop()
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def adapt(self) -> None:
        """From now on serve as the flags say."""
        if self.server is not None and self.container.running:
            self.server.spec = self.flagged(super().service_spec())
            self.traffic.rewire()

    def _ready(self) -> None:
        super()._ready()
        if self.server is not None and self.container.running:
            self.switched()
            self._watch = self.container.sim.every(WATCH_NS, self._look)

    def _look(self) -> None:
        if self.flags.look(self):
            self.adapt()
            self.switched()


def changed(spec: ServiceSpec, name: str, **values: Any) -> ServiceSpec:
    """One operation of a service, otherwise."""
    return replace(spec, operations=tuple(replace(op, **values) if op.name == name else op for op in spec.operations))


def operation_of(spec: ServiceSpec, name: str) -> OperationSpec:
    """The operation of that name. Raises StopIteration: there is none."""
    return next(op for op in spec.operations if op.name == name)


def failing(spec: ServiceSpec, name: str, share: float, answer: str, line: LogTemplate | None = None) -> ServiceSpec:
    """A share of an operation's requests throws before it does anything else, and answers so."""
    thrown = CallSpec("", "", count=min(1.0, share), answer=answer, log=() if line is None else (line,))
    return changed(spec, name, steps=((thrown,), *operation_of(spec, name).steps))


def redirected(spec: ServiceSpec, name: str, env: str, other: str) -> ServiceSpec:
    """Calls of an operation that go to the address in one variable go to that in another."""
    steps = tuple(
        tuple(replace(call, env=other) if call.env == env else call for call in step)
        for step in operation_of(spec, name).steps
    )
    return changed(spec, name, steps=steps)


def requests_of(happened: Happened, t_ns: int) -> int:
    """How many requests a tick tells of."""
    served = sum(each.requests for each in happened.served)  # integers
    failed = sum(each.calls for each in happened.failed if each.call.required)  # integers
    return served + failed + sum(each.arrived for each in happened.followed)  # integers
