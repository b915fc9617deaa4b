"""Nacos: which instances of which service were heard of lately, at three servers that tell each other.

An instance renews itself with heartbeats; one that was not heard of for thirty seconds is taken out. Each server has a
list of its own; what it hears it passes on to those of its peers that it can reach (Distro), and a server that starts
asks one of them for its list. Sources: Nacos 2.0 (`ClientBeatCheckTask`, Distro protocol), its open API.

Left out: configurations, namespaces and groups but the default ones, weights, the Raft of persistent instances.
"""

from __future__ import annotations

import json

from simcluster.engine import SECOND, Timer, format_rfc3339
from simcluster.models.apps.reaching import reach
from simcluster.models.apps.server import ServerProgram
from simcluster.models.machine.container import Container
from simcluster.models.machine.process import Answer, Call
from simcluster.models.traffic.cluster.address import parse_address

Place = tuple[str, int]

#: preserved.heart.beat.timeout and preserved.ip.delete.timeout, and how often they are looked at.
UNHEALTHY_NS, REMOVED_NS, SWEEP_NS = 15 * SECOND, 30 * SECOND, 5 * SECOND
#: The JDBC pool of a server that starts gives up after this.
DATABASE_NS = 3 * SECOND
#: Its own log in the image, below the home of the user that it runs as.
LOG = "/".join(("", "home", "nacos", "logs", "nacos.log"))
_LIST = "/nacos/v1/ns/instance/list"
_SERVICES = "/nacos/v1/ns/service/list"
_HEALTH = "/nacos/v1/console/health/"


class NacosProgram(ServerProgram):
    """The main process of a Nacos server.

    Attributes:
        heard: when each instance was heard of last, by service and place.
        version: how often its list has changed.
    """

    heard: dict[str, dict[Place, int]]
    version = 0
    _peers: tuple[Container, ...] = ()
    _seen = -1
    _sweeping: Timer | None = None

    def start(self) -> None:
        """A server that knows nobody."""
        self.heard = {}
        self._say("INFO", "The server IP list of Nacos is []")
        super().start()

    def stop(self) -> None:
        """The process is gone."""
        super().stop()
        if self._sweeping is not None:
            self._sweeping.cancel()

    def leapt(self, since_ns: int) -> None:
        """Idle time was skipped, in which heartbeats came."""
        super().leapt(since_ns)
        skipped = self.container.sim.now - since_ns
        self.heard = {name: {place: at + skipped for place, at in known.items()} for name, known in self.heard.items()}

    def _ready(self) -> None:
        """Loaded: its database first."""
        self._timer = None
        host = self.environment.get("MYSQL_SERVICE_HOST", "")
        found = reach(self._traffic.network, self.container, host, 3306)
        if host and found.outcome != "ok":
            self._timer = self.container.sim.after(DATABASE_NS, self._failed)
            return
        super()._ready()
        if self.server is None or not self.container.running:
            return
        for peer in self._others():
            if isinstance(peer.program, NacosProgram) and peer.program.heard:
                self.heard = {name: dict(known) for name, known in peer.program.heard.items()}
                break
        self._say("INFO", "Nacos started successfully in cluster mode. use external storage")
        self._sweeping = self.container.sim.every(SWEEP_NS, self._sweep)

    def _failed(self) -> None:
        self._say("ERROR", f"Nacos failed to start, please see {LOG} for more details.")
        self.container.write("java.lang.RuntimeException: [db-load-error]load jdbc.properties error")
        self.container.exit(1)

    # --- instances ------------------------------------------------------------------------

    def instances(self, name: str) -> tuple[Place, ...]:
        """The instances of a service that are in its list."""
        return tuple(self.heard.get(name, ()))

    def beat(self, name: str, place: Place) -> None:
        """An instance registers or renews itself; peers are told."""
        self.hear(name, place)
        for peer in self._others():
            if isinstance(peer.program, NacosProgram):
                peer.program.hear(name, place)

    def hear(self, name: str, place: Place) -> None:
        """An instance was heard of, here or by a peer."""
        known = self.heard.setdefault(name, {})
        if place not in known:
            self.version += 1
        known[place] = self.container.sim.now

    def deregister(self, name: str, place: Place) -> None:
        """An instance says that it ends; peers are told."""
        self.forget(name, place)
        for peer in self._others():
            if isinstance(peer.program, NacosProgram):
                peer.program.forget(name, place)

    def forget(self, name: str, place: Place) -> None:
        """An instance is gone."""
        if self.heard.get(name, {}).pop(place, None) is not None:
            self.version += 1

    def _sweep(self) -> None:
        """Take out whom nobody has heard of."""
        before = self.container.sim.now - REMOVED_NS
        for name, known in self.heard.items():
            for place in [place for place, at in known.items() if at < before]:
                del known[place]
                self.version += 1
                self._say("INFO", f"[AUTO-DELETE-IP] service: DEFAULT_GROUP@@{name}, ip: {place[0]}:{place[1]}")

    def _others(self) -> tuple[Container, ...]:
        """Its peers that serve and can be reached."""
        network = self._traffic.network
        if self._seen != network.version:
            self._seen, found = network.version, []
            for word in self.environment.get("NACOS_SERVERS", "").split():
                host, port = parse_address(word)
                there = reach(network, self.container, host, port)
                if there.outcome == "ok" and there.container is not None and there.container is not self.container:
                    found.append(there.container)
            self._peers = tuple(found)
        return tuple(peer for peer in self._peers if peer.running)

    # --- its API --------------------------------------------------------------------------

    def answer(self, call: Call) -> Answer:
        """The parts of the open API that people look at."""
        base = super().answer(call)
        path, _, query = call.path.partition("?")
        if base.outcome != "ok" or call.kind != "http" or call.port != 8848:
            return base
        if path.startswith(_HEALTH):
            return base._replace(status=200, body="OK")
        given = dict(pair.partition("=")[::2] for pair in query.split("&") if pair)
        if path == _SERVICES:
            body: dict[str, object] = {"count": len(self.heard), "doms": sorted(self.heard)}
        elif path == _LIST:
            name = given.get("serviceName", "").rpartition("@@")[2]
            body = {"name": f"DEFAULT_GROUP@@{name}", "hosts": self._hosts(name), "cacheMillis": 10000}
        else:
            return base._replace(status=404, body="")
        return base._replace(status=200, body=json.dumps(body), content_type="application/json")

    def _hosts(self, name: str) -> list[dict[str, object]]:
        now = self.container.sim.now
        return [
            {"ip": ip, "port": port, "healthy": now - at < UNHEALTHY_NS, "ephemeral": True, "weight": 1.0}
            for (ip, port), at in self.heard.get(name, {}).items()
        ]

    def _say(self, level: str, text: str) -> None:
        stamp = format_rfc3339(self.container.sim.now, digits=3).replace("T", " ").replace(".", ",")[:-1]
        self.container.write(f"{stamp} {level} {text}\n")


class InitMysqlProgram(ServerProgram):
    """The init container of Nacos: it loads the schema into the database, or fails."""

    def start(self) -> None:
        """Connect once."""
        host = self.environment.get("MYSQL_SERVICE_HOST", "")
        found = reach(self._traffic.network, self.container, host, 3306)
        if found.outcome == "ok":
            self.container.exit(0)
            return
        number = "2005 (HY000): Unknown" if found.outcome == "unknown host" else "2003 (HY000): Can't connect to"
        self.container.write(f"ERROR {number} MySQL server on '{host}'", "stderr")
        self.container.exit(1)
