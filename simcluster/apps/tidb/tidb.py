"""TiDB: the SQL server, stateless; it needs PD and at least one store to start, and both for every query."""

from __future__ import annotations

import json

from simcluster.apps.tidb.metrics import MeteredProgram, of_tidb
from simcluster.apps.tidb.pd import API, CALL_NS, CLIENT_PORT
from simcluster.apps.tidb.tikv import PORT as TIKV_PORT
from simcluster.apps.tidb.wording import log_line
from simcluster.engine import SECOND
from simcluster.models.machine.imagetools.network import contact
from simcluster.models.machine.process import Answer, Call
from simcluster.telemetry.metrics.columns import Group, Row

STATUS_PORT = 10080
RETRY_NS = 2 * SECOND
#: tidb-server gives the storage up after 30 attempts (main.go: createStoreAndDomain, RunWithRetry).
ATTEMPTS = 30


class TidbProgram(MeteredProgram):
    """`tidb-server`."""

    metrics_port = STATUS_PORT

    _attempts: int = 0

    def answer(self, call: Call) -> Answer:
        """The status port tells of the process; everything else as any server."""
        answer = super().answer(call)
        if call.kind == "http" and call.port == STATUS_PORT and answer.outcome == "ok":
            if call.path.startswith("/status"):
                version = self.container.spec.image.rpartition(":")[2]
                body = {"connections": 0, "version": f"5.7.25-TiDB-{version}", "git_hash": ""}
                return answer._replace(status=200, body=json.dumps(body))
            return answer._replace(status=404)
        return answer

    def samples(self) -> dict[Group, Row]:
        """Statements that it was sent."""
        return of_tidb(self.container, self.server)

    def _ready(self) -> None:
        """Open the storage: PD must answer and know a store that is up."""
        problem = self._storage_problem()
        if not problem:
            super()._ready()
            return
        self._attempts += 1
        if self._attempts >= ATTEMPTS:
            self._say("FATAL", "terror.go:292", "unexpected error", error=problem)
            self.container.exit(1)
            return
        self._say("WARN", "store.go:74", "new store with retry failed", error=problem)
        self._timer = self.container.sim.after(RETRY_NS, self._ready)

    def _storage_problem(self) -> str:
        pd = f"{self.environment.get('CLUSTER_NAME', '')}-pd"
        reached = contact(self.container, pd, Call("http", CLIENT_PORT, f"{API}/stores"), CALL_NS)
        if reached.outcome != "ok" or reached.answer is None or reached.answer.status != 200:
            return "[pd] failed to get cluster id"
        stores = [entry["store"] for entry in json.loads(reached.answer.body)["stores"]]
        up = [store["address"] for store in stores if store["state_name"] == "Up"]
        if not up:
            return "[tikv:9005]Region is unavailable"
        # All stores are behind one headless Service; a query goes to the leader of its region, to any of them.
        service = up[0].partition(".")[2].partition(":")[0]
        self.environment = {
            **self.environment,
            "PD_ADDRESS": f"{pd}:{CLIENT_PORT}",
            "TIKV_ADDRESS": f"{service}:{TIKV_PORT}",
        }
        return ""

    def _say(self, level: str, where: str, message: str, **fields: object) -> None:
        self.container.write(log_line(self.container.sim.now, level, where, message, **fields))
