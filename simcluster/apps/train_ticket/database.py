"""RadonDB's MySQL: Percona Server 5.7 in three pods, and xenon beside each, which elects the one that leads.

xenon gives its pod the label `role` by which the Services `-leader` and `-follower` select, and makes followers read
only. As root it asks the MySQL beside it how it is, by the one connection that is kept for such users when no other is
left. Sources: radondb/xenon 1.1.5, the chart's scripts, Percona Server 5.7. Left out: replication (a member that
becomes the leader has the accounts and tables that it began with), semi-synchronous commits, `xenoncli` but for looks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api.objects import ApiObject, is_terminating, labels_of, name_of
from simcluster.api.store import Change
from simcluster.control.operator.operator import Operator
from simcluster.engine import SECOND, format_rfc3339
from simcluster.models.apps.server import ServerProgram
from simcluster.models.apps.stores.contents import Contents
from simcluster.models.apps.stores.mysql.mysqld import MysqldProgram
from simcluster.models.userland.outcome import Outcome

ROLE, LEADER, FOLLOWER = "role", "leader", "follower"
XENON_PORT, REBOOT = 8801, "/sbin/reboot"
_KEY = "/raft"
#: For how long xenon holds the connection that is kept for a superuser, and how often it takes it (recorded: of probes
#: every ten seconds that came while no other was left, 24 to 29 % found it taken, never three in a row).
HELD_NS, TAKEN_NS = 10 * SECOND, 37 * SECOND


class PerconaProgram(MysqldProgram):
    """The main process of `radondb/percona`: root has no password on the pod itself."""

    def _initialise(self) -> Contents | None:
        self.environment = {**self.environment, "MYSQL_ALLOW_EMPTY_PASSWORD": "yes"}
        return super()._initialise()

    def has_spare(self) -> bool:
        """Whether xenon does not hold the superuser's connection just now."""
        if self.container.sandbox.container_on(XENON_PORT) is None:
            return True
        return self.container.sim.now % TAKEN_NS >= HELD_NS

    def say(self, level: str, number: str, part: str, text: str) -> None:
        """A line of 5.7's error log, which has no numbers."""
        when = format_rfc3339(self.container.sim.now, digits=6)
        shown = {"System": "Note", "ERROR": "ERROR"}.get(level, level)
        prefix = f"{part}: " if part == "InnoDB" else ""
        self.container.write(f"{when} 0 [{shown}] {prefix}{text}", "stderr")


class XenonProgram(ServerProgram):
    """The process that `xenoncli` asks."""

    leads = False

    def run(self, argv: tuple[str, ...]) -> Outcome | None:
        """`xenoncli xenon ping`, `xenoncli raft status`; `/sbin/reboot`, on which the container's init ends it."""
        if argv and argv[0] == REBOOT:
            self.container.sim.after(0, self.container.exit, 0)
            return Outcome()
        if not argv or argv[0].rpartition("/")[2] != "xenoncli":
            return None
        if self.server is None:
            return Outcome("", "xenoncli: dial tcp 127.0.0.1:8801: connect: connection refused\n", 1)
        if argv[1:] == ("raft", "status"):
            state = "LEADER" if self.leads else "FOLLOWER"
            return Outcome(f'{{\n  "state": "{state}",\n  "nodes": 3\n}}\n')
        return Outcome("" if argv[1:] == ("xenon", "ping") else "xenoncli: unknown command\n")


class Xenon(Operator):
    """One member's election: the first of a majority of living members leads, and stays so while it lives."""

    name = "xenon"
    reads = ("pods",)
    workers = 1
    qps, burst = 20, 20
    resync_ns = 10 * SECOND

    def scope(self) -> str:
        """Its own namespace."""
        return self.container.spec.namespace

    def started(self) -> None:
        """It has heard of all members."""
        self.queue.add(_KEY)

    def noticed(self, change: Change) -> None:
        """A member has changed."""
        if self.running and labels_of(change.object).get("app") == self._app:
            self.queue.add(_KEY)

    @property
    def _app(self) -> str:
        return self.container.spec.pod_name.rpartition("-")[0]

    def sync(self, namespace: str, name: str) -> None:
        """Whether to lead."""
        members = [pod for pod in self.listed("pods") if labels_of(pod).get("app") == self._app]
        own = next((pod for pod in members if name_of(pod) == self.container.spec.pod_name), None)
        living = [pod for pod in members if _lives(pod)]
        if own is None:
            return
        # Three members: two are a majority; as many are named when a cluster is made.
        leader = next((pod for pod in living if labels_of(pod).get(ROLE) == LEADER), living[0] if living else None)
        if len(living) < 2 or leader is None:
            return
        role = LEADER if name_of(leader) == name_of(own) else FOLLOWER
        if isinstance(self.program, XenonProgram):
            self.program.leads = role == LEADER
        if labels_of(own).get(ROLE) != role:
            self._become(own, role)

    def _become(self, own: Mapping[str, Any], role: str) -> None:
        before = labels_of(own).get(ROLE, "none")
        self.log("W", "raft.go:218", f"{self.container.spec.pod_name} state machine: {before} -> {role}")
        patch = {"metadata": {"labels": {ROLE: role}}}
        self.client.patch("pods", self.container.spec.namespace, name_of(own), patch, kind="merge")
        server = self.container.sandbox.container_on(3306)
        if server is not None and isinstance(server.program, MysqldProgram):
            server.program.settings["read_only"] = "OFF" if role == LEADER else "ON"
            server.program.republish()


def _lives(pod: ApiObject) -> bool:
    """Whether its MySQL answers and nobody is taking it away."""
    status = pod.get("status") or {}
    ready = any(one["name"] == "mysql" and one.get("ready") for one in status.get("containerStatuses") or ())
    lost = any(one["type"] == "Ready" and one.get("reason") == "NodeNotReady" for one in status.get("conditions") or ())
    return ready and not lost and not is_terminating(pod)
