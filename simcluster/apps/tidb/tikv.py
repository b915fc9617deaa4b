"""TiKV: a key-value store that serves once PD has taken it in, and reports to it."""

from __future__ import annotations

from simcluster.apps.tidb.metrics import MeteredProgram, of_tikv
from simcluster.apps.tidb.pd import API, CALL_NS, CLIENT_PORT
from simcluster.apps.tidb.wording import log_line
from simcluster.engine import SECOND, Timer
from simcluster.models.machine.imagetools.network import contact
from simcluster.models.machine.process import Call
from simcluster.telemetry.metrics.columns import Group, Row

PORT, STATUS_PORT = 20160, 20180
#: pd-store-heartbeat-tick-interval.
HEARTBEAT_NS = 10 * SECOND
#: Between two attempts to reach PD at the start.
RETRY_NS = 2 * SECOND


class TikvProgram(MeteredProgram):
    """`tikv-server`. Regions and what they hold are left out: every store has a share of all."""

    metrics_port = STATUS_PORT
    _beats: Timer | None = None

    @property
    def address(self) -> str:
        """Under which others reach it: its name behind the headless Service."""
        spec = self.container.spec
        service = self.environment.get("HEADLESS_SERVICE_NAME", "")
        return f"{spec.pod_name}.{service}.{spec.namespace}.svc:{PORT}"

    def samples(self) -> dict[Group, Row]:
        """Commands that it was sent."""
        return of_tikv(self.container, self.server)

    def stop(self) -> None:
        """The process is gone."""
        super().stop()
        if self._beats is not None:
            self._beats.cancel()

    def _ready(self) -> None:
        """PD must answer before the store opens."""
        problem = self._report()
        if problem:
            pd = f"{self._pd()}:{CLIENT_PORT}"
            self._say("ERROR", "util.rs:287", "PD failed to respond", endpoints=pd, err=f"Grpc({problem})")
            self._timer = self.container.sim.after(RETRY_NS, self._ready)
            return
        super()._ready()
        self._beats = self.container.sim.every(HEARTBEAT_NS, self._beat)

    def leapt(self, since_ns: int) -> None:
        """Idle time was skipped: PD has heard of the store all the while."""
        if self._beats is not None:
            self._beat()

    def _beat(self) -> None:
        problem = self._report()
        if problem:
            self._say("ERROR", "util.rs:419", "request failed", err_code="KV:PD:gRPC", err=problem)

    def _report(self) -> str:
        """Tell PD that the store is there; what went wrong."""
        version = self.container.spec.image.rpartition(":")[2]
        call = Call("http", CLIENT_PORT, f"{API}/heartbeat/{self.address}/{version}", method="POST")
        reached = contact(self.container, self._pd(), call, CALL_NS)
        if reached.outcome != "ok":
            return reached.outcome
        return "" if reached.answer is not None and reached.answer.status == 200 else "not leader"

    def _pd(self) -> str:
        return f"{self.environment.get('CLUSTER_NAME', '')}-pd"

    def _say(self, level: str, where: str, message: str, **fields: object) -> None:
        self.container.write(log_line(self.container.sim.now, level, where, message, **fields))
