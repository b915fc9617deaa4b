"""PD, the placement driver: members that elect a leader, and the list of the key-value stores.

Members find each other by their headless Service, as long as the network lets them. What PD
knows of stores is what they report; a store that is silent for 20 s is Disconnected, after 30
minutes Down. The members' data directory is not kept apart: who starts anew learns from the
others, or from the stores. Left out: regions, scheduling, the etcd log.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from simcluster.apps.tidb.metrics import MeteredProgram, of_pd
from simcluster.apps.tidb.wording import log_line
from simcluster.engine import MINUTE, SECOND, Shared, Timer
from simcluster.engine.streams import mix
from simcluster.models.machine.imagetools.network import contact
from simcluster.models.machine.process import Answer, Call
from simcluster.telemetry.metrics.columns import Group, Row

CLIENT_PORT = 2379
#: etcd's heartbeats are far more frequent; nobody here needs to know of a lost member earlier.
TICK_NS = 3 * SECOND
#: A store without heartbeat is Disconnected after 20 s, Down after max-store-down-time (30 min).
DISCONNECTED_NS, DOWN_NS = 20 * SECOND, 30 * MINUTE
#: How long a call to another member may take.
CALL_NS = 3 * SECOND
API = "/pd/api/v1"


@dataclass(frozen=True)
class Store(Shared):
    """One key-value store: `state` is Up, Offline (being emptied) or Tombstone."""

    number: int
    address: str
    seen_ns: int
    state: str = "Up"
    version: str = ""

    def state_at(self, now_ns: int) -> str:
        """What PD's API calls its state."""
        silent = now_ns - self.seen_ns
        if self.state != "Up" or silent <= DISCONNECTED_NS:
            return self.state
        return "Down" if silent > DOWN_NS else "Disconnected"


class PdProgram(MeteredProgram):
    """`pd-server`.

    Attributes:
        members: names of all members it knows, in order of joining.
        leader: name of the leader; empty while there is none.
        stores: by address.
    """

    metrics_port = CLIENT_PORT
    members: dict[str, None]
    leader: str
    stores: dict[str, Store]
    _ticks: Timer | None

    def start(self) -> None:
        """Begin to load."""
        self.members, self.leader, self.stores, self._ticks = {}, "", {}, None
        super().start()

    def stop(self) -> None:
        """The process is gone."""
        super().stop()
        if self._ticks is not None:
            self._ticks.cancel()

    @property
    def own_name(self) -> str:
        """Its member name: the pod's."""
        return self.container.spec.pod_name

    def answer(self, call: Call) -> Answer:
        """PD's HTTP API; everything else as any server."""
        answer = super().answer(call)
        if call.kind != "http" or answer.outcome != "ok" or not call.path.startswith("/pd/"):
            return answer
        status, body = self._api(call.method, call.path)
        return answer._replace(status=status, body=json.dumps(body))

    def samples(self) -> dict[Group, Row]:
        """Its place among the members and, of the leader, what stores are like."""
        now = self.container.sim.now
        return of_pd(self.container, self.leader, [store.state_at(now) for store in self.stores.values()])

    # Life.

    def _ready(self) -> None:
        super()._ready()
        self.members = {self.own_name: None}
        self._join()
        self._elect()
        self._ticks = self.container.sim.every(TICK_NS, self._tick)

    def _join(self) -> None:
        """Become a member of the cluster that the others form, if there are any."""
        for address in self._peers():
            known = self._ask("GET", address, f"{API}/members")
            if known is None:
                continue
            for member in known["members"]:
                self.members.setdefault(member["name"])
            self.leader = known["leader"].get("name", "")
            stores = self._ask("GET", address, f"{API}/stores/raw") or {"stores": []}
            self.stores = {entry["address"]: Store(**entry) for entry in stores["stores"]}
            for name in list(self.members):
                if name != self.own_name:
                    self._ask("POST", self._host(name), f"{API}/members/join/{self.own_name}")
            return

    def _tick(self) -> None:
        if self.server is None:
            return
        if len(self.members) == 1 and self._peers():
            self._join()
        self._elect()

    def _elect(self) -> None:
        alive = self._alive()
        assert self.server is not None
        quorum = 2 * len(alive) > len(self.members)
        if self.server.accepting != quorum:
            self.server.accepting = quorum
            self._traffic.rewire()
        if not quorum:
            if self.leader:
                self._say("WARN", "raft.go:1", "etcd cluster has no leader")
            self.leader = ""
        elif self.leader not in alive:
            self.leader = alive[0]
            self._say("INFO", "server.go:1260", "PD cluster leader is changed", leader=self.leader)

    def _alive(self) -> list[str]:
        """Members that answer, itself included, in order of joining."""
        return [
            name
            for name in self.members
            if name == self.own_name or self._ask("GET", self._host(name), f"{API}/version") is not None
        ]

    def _host(self, member: str) -> str:
        service = self.environment.get("PEER_SERVICE_NAME", "")
        return f"{member}.{service}.{self.container.spec.namespace}.svc"

    def _peers(self) -> list[str]:
        """Addresses behind the headless Service, but its own."""
        sandbox = self.container.sandbox
        service = self.environment.get("PEER_SERVICE_NAME", "")
        if not service:
            return []
        found = self._traffic.network.resolve_for(sandbox, f"{service}.{sandbox.namespace}.svc")
        return sorted(address for address in found.addresses if address != sandbox.address)

    def _ask(self, method: str, host: str, path: str) -> Any:
        reached = contact(self.container, host, Call("http", CLIENT_PORT, path, method=method), CALL_NS)
        if reached.outcome != "ok" or reached.answer is None or reached.answer.status != 200:
            return None
        return json.loads(reached.answer.body)

    def _say(self, level: str, where: str, message: str, **fields: object) -> None:
        self.container.write(log_line(self.container.sim.now, level, where, message, **fields))

    # The HTTP API.

    def _api(self, method: str, path: str) -> tuple[int, Any]:
        parts = path.removeprefix(API).strip("/").split("/")
        if parts[0] in ("version", "members") and method in ("GET", "POST"):
            return self._membership(method, parts)  # answered by every member, leader or not
        if parts == ["stores", "raw"]:
            return 200, {"stores": [vars(store) for store in self.stores.values()]}
        if not self.leader:
            return 503, "no leader"
        match (method, *parts):
            case ("GET", "health"):
                alive = self._alive()
                return 200, [self._member(name) | {"health": name in alive} for name in self.members]
            case ("GET", "cluster"):
                return 200, {"id": self._number("cluster"), "max_peer_count": 3}
            case ("GET", "leader"):
                return 200, self._member(self.leader)
            case ("GET", "stores"):
                return 200, self._stores()
            case ("POST", "leader", "transfer", name) if name in self.members:
                self._everybody("POST", f"{API}/leader/set/{name}")
                return 200, "The transfer command is submitted."
            case ("POST", "leader", "set", name):
                self.leader = name
                return 200, ""
            case ("DELETE", "members", "name", name) if name in self.members:
                self._everybody("DELETE", f"{API}/members/forget/{name}")
                return 200, f"removed, pd: {name}"
            case ("DELETE", "members", "forget", name):
                self.members.pop(name, None)
                return 200, ""
            case ("DELETE", "store", number):
                self._everybody("POST", f"{API}/stores/offline/{number}")
                return 200, "The store is set as Offline."
            case ("POST", "stores", "offline", number):
                self._offline(int(number))
                return 200, ""
            case ("POST", "heartbeat", address, version):
                self._everybody("POST", f"{API}/heard/{address}/{version}")
                return 200, ""
            case ("POST", "heard", address, version):
                self._heard(address, version)
                return 200, ""
        return 404, "404 page not found"

    def _membership(self, method: str, parts: list[str]) -> tuple[int, Any]:
        if parts == ["version"]:
            return 200, {"version": self.container.spec.image.rpartition(":")[2]}
        if method == "POST" and parts[1:2] == ["join"]:
            self.members.setdefault(parts[2])
            return 200, ""
        members = [self._member(name) for name in self.members]
        return 200, {"members": members, "leader": self._member(self.leader) if self.leader else {}}

    def _everybody(self, method: str, path: str) -> None:
        """Have every member that answers do it, itself first."""
        self._api(method, path)
        for name in list(self.members):
            if name != self.own_name:
                self._ask(method, self._host(name), path)

    def _member(self, name: str) -> dict[str, Any]:
        return {
            "name": name,
            "member_id": self._number(name),
            "client_urls": [f"http://{self._host(name)}:{CLIENT_PORT}"],
        }

    def _number(self, name: str) -> int:
        """An id as etcd and PD draw them."""
        return mix(self.container.sim.streams.key("pd", self.container.spec.namespace, name), 0) >> 1

    def _stores(self) -> dict[str, Any]:
        now = self.container.sim.now
        entries = [
            {
                "store": {
                    "id": store.number,
                    "address": store.address,
                    "version": store.version.removeprefix("v"),
                    "state_name": store.state_at(now),
                },
                "status": {"leader_count": 0 if store.state_at(now) != "Up" else 1, "region_count": 1},
            }
            for store in self.stores.values()
        ]
        return {"count": len(entries), "stores": entries}

    def _heard(self, address: str, version: str) -> None:
        """A heartbeat of a store. One that is being emptied gives its regions away, if others can take them."""
        now = self.container.sim.now
        known = self.stores.get(address)
        if known is None or known.state == "Tombstone":
            number = 1 + 3 * len(self.stores) if known is None else 1 + 3 * len(self.stores) + known.number
            self.stores[address] = Store(number, address, now, "Up", version)
            return
        state = known.state
        others = [s for s in self.stores.values() if s.address != address and s.state_at(now) == "Up"]
        if state == "Offline" and len(others) >= min(3, len(self.stores) - 1):
            state = "Tombstone"
        self.stores[address] = replace(known, seen_ns=now, state=state, version=version)

    def _offline(self, number: int) -> None:
        for address, store in list(self.stores.items()):
            if store.number == number and store.state == "Up":
                self.stores[address] = replace(store, state="Offline")
