"""A program beside the traffic: nobody's users ask it, so that it needs no place in the plan of requests.

It starts, listens and answers probes like any server, at the speed that its node grants; what it uses at rest is
charged every few seconds. Left out: that requests to it queue.
"""

from __future__ import annotations

from simcluster.engine import MILLISECOND, SECOND, Timer
from simcluster.models.apps.server import ACCEPT_NS, NEVER_NS, PROMPT_NS, ServerProgram
from simcluster.models.machine.process import Answer, Call

#: How often what it uses at rest is charged.
CHARGE_NS = 5 * SECOND


class DaemonProgram(ServerProgram):
    """The main process of such a container."""

    _charging: Timer | None = None
    _serving = False
    _speed: tuple[object, int] = (None, 0)  # share of the CPU by which a probe was judged, and how long it takes

    def stop(self) -> None:
        """The process is gone."""
        if self._charging is not None:
            self._charging.cancel()
        self._serving = False
        super().stop()

    def listens_on(self, port: int) -> bool:
        """Whether the port is open: only once the program is ready."""
        return self._serving and port in self._ports

    def answer(self, call: Call) -> Answer:
        """200, to whatever is asked."""
        if not self.listens_on(call.port):
            return Answer("refused")
        return Answer("ok", 200, "ok" if call.kind == "http" else "", ACCEPT_NS + self._probe_ns())

    def steady(self, call: Call) -> object | None:
        """A health check is fine as long as its share of the CPU is."""
        if not self.listens_on(call.port) or self._probe_ns() > PROMPT_NS:
            return None
        return self.container.machine.cpu_mark

    def _probe_ns(self) -> int:
        mark = self.container.machine.cpu_mark
        if mark != self._speed[0]:
            cores = min(1.0, self.container.cpu_cores())
            work = int(self.behaviour.probe_cpu_ms * MILLISECOND)
            self._speed = (mark, int(work / cores) if cores > 0.0 else NEVER_NS)
        return self._speed[1]

    def _ready(self) -> None:
        self._timer = None
        self._print(self.behaviour.startup.ready_log)
        self._serving = True
        self._charging = self.container.sim.every(CHARGE_NS, self._charge)

    def _charge(self) -> None:
        """What it has used since the last time; on a machine without room it gets less."""
        wanted = int(self.behaviour.idle_cpu_ms * MILLISECOND) * (CHARGE_NS // SECOND)
        self.container.use_cpu(wanted)
