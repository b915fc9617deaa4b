"""Locust in its pod: its users come to the shop as long as it runs, and flood its home page when a flag says so."""

from __future__ import annotations

import json

from simcluster.models.apps.flags.client import FlaggedProgram
from simcluster.models.machine.process import Answer, Call
from simcluster.models.traffic.cluster.address import parse_address
from simcluster.models.traffic.cluster.users import UserLoad

#: Weights of the tasks (`locustfile.py`), without the one that floods, and its weight; a user thinks 1 to 10 s.
TASKS, FLOODS = 27.0, 5.0
THINKS_S = 5.5
#: Requests of a working task, on average, and how they spread; `user_checkout_multi` puts three products into the cart.
MIX = {
    "products": 16.0, "recommendations": 3.0, "reviews": 2.0, "ask-assistant": 1.0, "ads": 3.0, "view-cart": 3.0,
    "add-to-cart": 6.0, "checkout": 2.0, "index": 1.0,
}  # fmt: skip


class LoadGeneratorProgram(FlaggedProgram):
    """The main process of the load generator's container.

    Attributes:
        load: its users, while they are there.
    """

    load: UserLoad | None = None

    def switched(self) -> None:
        """Users come, or come otherwise."""
        number = self.environment.get("LOCUST_USERS", "10")
        users = int(number) if number.isdigit() else 10
        if self.environment.get("LOCUST_AUTOSTART", "true") != "true" or not users:
            return
        flood = self.flags.number("loadGeneratorFloodHomepage") * FLOODS
        requests = sum(int(weight) for weight in MIX.values()) + int(flood)
        tasks_per_s = users / THINKS_S
        rps = tasks_per_s * requests / (TASKS + FLOODS)
        mix = {**MIX, "index": MIX["index"] + flood}
        if self.load is not None:
            self.traffic.remove_users(self.load)
        host, port = parse_address(self.environment.get("LOCUST_HOST", ""))
        service, _, rest = host.partition(".")
        namespace = rest.partition(".")[0] or self.container.spec.namespace
        name = f"locust-{self.container.spec.pod_name}"
        self.load = self.traffic.add_users(name, namespace, service, port, rps=rps, mix=mix, concurrency=users)

    def rest(self) -> None:
        """Nobody comes while idle time is skipped."""
        if self.load is not None:
            self.traffic.remove_users(self.load)
            self.load = None

    def resume(self) -> None:
        """Users come again."""
        if self.server is not None and self.load is None and not self.draining:
            self.switched()

    def stop(self) -> None:
        """The process is gone, and its users with it."""
        super().stop()
        if self.load is not None:
            self.traffic.remove_users(self.load)
            self.load = None

    def answer(self, call: Call) -> Answer:
        """Locust's page, and its statistics of the last minute."""
        path = call.path.partition("?")[0]
        base = super().answer(call._replace(path="/") if path == "/stats/requests" else call)
        if base.outcome != "ok" or path != "/stats/requests" or self.load is None:
            return base
        now = self.container.sim.now
        seen = self.load.window(max(0, now - 60_000_000_000), now)
        whole = {"name": "Aggregated", "num_requests": seen.sent, "num_failures": seen.failed}
        body = {"stats": [whole], "state": "running", "user_count": self.load.concurrency}
        return base._replace(body=json.dumps(body), content_type="application/json")
