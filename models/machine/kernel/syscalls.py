"""Failures injected into system calls: which call, whose, on which path, how often, with which error."""

from __future__ import annotations

from dataclasses import dataclass

from simcluster.engine import Simulation
from simcluster.engine.streams import mix
from simcluster.models.machine.kernel.calltable import CALLS
from simcluster.models.machine.kernel.errors import NUMBER, Failure
from simcluster.models.machine.kernel.group import Group

_ONE = 1 << 64


@dataclass
class Injection:
    """One rule: empty targets match everything.

    Attributes:
        made: how many calls it has looked at; numbers its draws.
        failed: how many of them failed.
    """

    call: str
    errno: str
    probability: float
    container_id: str
    comm: str
    path: str
    delay_ns: int
    made: int = 0
    failed: int = 0

    def __str__(self) -> str:
        """What it does, in words."""
        whose = " ".join(one for one in (self.comm, self.container_id[:12], self.path) if one) or "everybody"
        late = f", {self.delay_ns} ns late" if self.delay_ns else ""
        return f"{self.call} of {whose}: {self.errno or 'no error'} with probability {self.probability:g}{late}"

    def matches(self, call: str, container: Group | None, comm: str, path: str) -> bool:
        """Whether it is about this call."""
        if call != self.call or (self.comm and comm != self.comm):
            return False
        if self.container_id and (container is None or not container.container_id.startswith(self.container_id)):
            return False
        return not self.path or path == self.path or path.startswith(self.path.rstrip("/") + "/")


class SyscallFaults:
    """The rules of one machine."""

    __slots__ = ("_made", "_name", "rules", "sim")

    def __init__(self, sim: Simulation, machine: str) -> None:
        self.sim = sim
        self._name = machine
        self._made = 0
        self.rules: dict[int, Injection] = {}

    def inject(
        self,
        call: str,
        errno: str,
        probability: float,
        *,
        container_id: str = "",
        comm: str = "",
        path: str = "",
        delay_ns: int = 0,
    ) -> int:
        """Let a share of calls fail; the number of the rule.

        Args:
            errno: name of the error; "" lets the call only take `delay_ns` longer.
            container_id, comm, path: whose calls, on which path (a prefix of whole names).

        Raises:
            ValueError: no such call or error, or no probability.
        """
        if call not in CALLS:
            raise ValueError(f"no failures can be injected into {call!r}: only into {', '.join(CALLS)}")
        if errno and errno not in NUMBER:
            raise ValueError(f"there is no error {errno!r}")
        if not 0.0 < probability <= 1.0:
            raise ValueError(f"probability must be above 0 and at most 1, not {probability:g}")
        if delay_ns < 0 or not (errno or delay_ns):
            raise ValueError("a rule needs an error or a delay")
        self._made += 1
        self.rules[self._made] = Injection(call, errno, probability, container_id, comm, path, delay_ns)
        return self._made

    def booted(self) -> None:
        """A new kernel has no rules."""
        self.rules.clear()

    def remove(self, number: int) -> None:
        """End a rule. Harmless when there is none."""
        self.rules.pop(number, None)

    def failure(
        self, call: str, container: Group | None = None, *, comm: str = "", path: str = "", count: int = 1
    ) -> Failure | None:
        """Make `count` calls: the first failure among them, or None. Draws, and so belongs to processes only."""
        for number, rule in self.rules.items():
            if not rule.matches(call, container, comm, path):
                continue
            key = self.sim.streams.key("syscall", self._name, number)
            for _ in range(count):
                rule.made += 1
                if mix(key, rule.made) < int(rule.probability * _ONE):
                    rule.failed += 1
                    return Failure(rule.errno, rule.delay_ns)
        return None

    def share(self, call: str, container: Group | None = None, *, comm: str = "", path: str = "") -> float:
        """Share of such calls that fail; changes nothing."""
        alive = 1.0
        for rule in self.rules.values():
            if rule.errno and rule.matches(call, container, comm, path):
                alive *= 1.0 - rule.probability
        return 1.0 - alive
