"""What GetAlerts answers: a script of the data set compares a window of metrics with the time before.

Its rules, as they were recovered from its recordings: throughput below half in most samples; latency above twice
(p90) or three times (p50) what it was, and by more than a floor; success below 70 %; packets down by 45 %; segments
sent again where none were. Samples are 5 s apart. Left out: CPU, throttling and memory, which no fault that is
injected here raises.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from statistics import median
from typing import Any

from simcluster.engine import SECOND
from simcluster.models.apps.server import ServerProgram
from simcluster.models.traffic.cluster.server import Server
from simcluster.models.traffic.cluster.statistics import EdgeStats
from simcluster.world import World

SAMPLE_S = 5
_RETRANSMITTED_PER_S = 0.5
#: A share of requests of a kind that fail, which the client's log tells of.
_NOTED = 0.02
_SNMP = re.compile(r"Tcp: (\D.*)\nTcp: (.*)")


@dataclass(frozen=True)
class Rules:
    """What the script asks of a window, for each of its two applications.

    Attributes:
        most: share of the samples that have to be out.
        least_rps: of a service whose throughput is looked at.
        p90_more_ms, p50_ms: floors of latency: what was alerted began there.
        success: the share of requests below which a service's errors are told.
    """

    most: float = 0.6
    least_rps: float = 0.0
    p90_more_ms: float = 15.0
    p50_ms: float = 34.0
    success: float = 0.7


RULES = Rules()
#: Train Ticket's: half of the samples, nothing below a request or about a second.
RULES_OF_TICKETS = Rules(most=0.5, least_rps=1.0, p90_more_ms=900.0, p50_ms=1000.0, success=0.8)


@dataclass(frozen=True)
class Window:
    """Two spans of simulated time, in nanoseconds: before a fault, and during it."""

    before: tuple[int, int]
    during: tuple[int, int]


def retransmitted(world: World) -> dict[str, int]:
    """Segments that each node has sent again so far."""
    found = {}
    for node in sorted(world.machines):
        match = _SNMP.search(world.on_node(node, "cat /proc/net/snmp")[1])
        names = match[1].split() if match else []
        found[node] = int(match[2].split()[names.index("RetransSegs")]) if match and "RetransSegs" in names else 0
    return found


def alerts(
    world: World,
    services: Sequence[str],
    window: Window,
    segments: Sequence[dict[str, int]],
    rules: Rules = RULES,
) -> dict[str, Any]:
    """The answer: empty if nothing is out.

    Args:
        segments: what `retransmitted` said at the begin of the time before, of the window, and at its end.
    """
    names = names_of(world)
    before, during = _samples(world, window.before, names), _samples(world, window.during, names)
    found = []
    for service in services:
        evidence = _Compared(world, service, before, during, rules).evidence()
        if evidence:
            found.append(_alert("Service", service, evidence))
    spans_s = [(end - begin) / SECOND for begin, end in (window.before, window.during)]
    for node in segments[0] if segments else ():
        usual = (segments[1][node] - segments[0][node]) / spans_s[0]
        now = (segments[2][node] - segments[1][node]) / spans_s[1]
        if now - usual > _RETRANSMITTED_PER_S:
            text = f"Normal={usual:.2f}retrans -> Current={now:.2f}retrans (New Spike)"
            found.append(_alert("Node", node, [f"NETWORK_QUALITY_DEGRADED [TCP Retransmission] | {text}"]))
    if not found:
        return {}
    return {"status": "has_anomalies", "alert_count": len(found), "alerts": found}


def _alert(kind: str, name: str, evidence: list[str]) -> dict[str, Any]:
    return {"type": kind, "name": name, "status": "ABNORMAL", "evidence": evidence}


def names_of(world: World) -> dict[str, str]:
    """The workload behind each address of a pod or a Service: calls may be made by either, as a sidecar sees."""
    found = {}
    for pod in world.api.store.objects("pods"):
        labels, status = pod["metadata"].get("labels") or {}, pod.get("status") or {}
        if labels.get("app") and status.get("podIP"):
            found[status["podIP"]] = labels["app"]
    for service in world.api.store.objects("services"):
        address = service["spec"].get("clusterIP", "None")
        if address not in ("", "None"):
            found[address] = service["metadata"]["name"]
    return found


def calls_per_request(world: World, service: str, span_ns: int) -> float:
    """How many calls a service made for each request that it got, of late."""
    names, now = names_of(world), world.sim.now
    made = asked = 0
    for edge in world.traffic.history.between(now - span_ns, now):
        made += edge.sent if edge.key.pod.startswith(f"{service}-") else 0
        asked += edge.sent if _callee(edge, names) == service else 0
    return made / asked if asked else 0.0


def _callee(edge: EdgeStats, names: Mapping[str, str]) -> str:
    return names.get(edge.key.host) or edge.key.host.partition(".")[0]


@dataclass(frozen=True)
class _Sample:
    """Five seconds: the calls to each service, and how many messages each pod's calls were."""

    to: dict[str, list[EdgeStats]]
    made: dict[str, int]

    def rate(self, service: str) -> float:
        """Requests a second that were answered."""
        return sum(edge.ok + sum(edge.errors.values()) for edge in self.to.get(service, ())) / SAMPLE_S

    def success(self, service: str) -> float:
        """Share of the answers that were good."""
        ok = sum(edge.ok for edge in self.to.get(service, ()))
        failed = sum(sum(edge.errors.values()) for edge in self.to.get(service, ()))
        return ok / (ok + failed) if ok + failed else 1.0

    def packets(self, service: str) -> float:
        """Messages that a service's pods sent and got: requests to it, and those that it makes."""
        made = sum(count for pod, count in self.made.items() if pod.startswith(f"{service}-"))
        return made / SAMPLE_S + 2 * self.rate(service)


def _samples(world: World, span: tuple[int, int], names: Mapping[str, str]) -> list[_Sample]:
    begin, end = span
    step = SAMPLE_S * SECOND
    found = []
    for at in range(begin, end - step + 1, step):
        sample = _Sample(defaultdict(list), defaultdict(int))
        for edge in world.traffic.history.between(at, at + step):
            sample.to[_callee(edge, names)].append(edge)
            sample.made[edge.key.pod] += edge.sent
        found.append(sample)
    return found


@dataclass(frozen=True)
class _Compared:
    """A service before a fault and during it."""

    world: World
    service: str
    before: list[_Sample]
    during: list[_Sample]
    rules: Rules

    def evidence(self) -> list[str]:
        """What is out."""
        service, found = self.service, []
        usual, now = ([sample.rate(service) for sample in samples] for samples in (self.before, self.during))
        if not usual or not now or not median(usual):
            return []
        normal, current = sum(usual) / len(usual), sum(now) / len(now)
        change = f"({100 * (current / normal - 1):+.1f}%)"
        if normal >= self.rules.least_rps and self._most(rate < 0.5 * normal for rate in now):
            found.append(f"THROUGHPUT_DROP [RPS] | Normal={normal:.2f}req/s -> Current={current:.2f}req/s {change}")
        good = median(sample.success(service) for sample in self.during)
        if good < self.rules.success:
            found.append(f"ERROR_SPIKE [Success Rate Drop] | Normal=100.0% -> Cur={100 * good:.1f}%")
        packets = [median(sample.packets(service) for sample in samples) for samples in (self.before, self.during)]
        if packets[0] and packets[1] < 0.55 * packets[0]:
            text = f"Normal={packets[0]:.2f}pps -> Current={packets[1]:.2f}pps"
            found.append(f"TRAFFIC_ANOMALY [Network Drop] | {text}")
        slow = self._slow()
        return found + ([slow] if slow else [])

    def _slow(self) -> str:
        parts = []
        for name, times, floor in (("p50", 3.0, self.rules.p50_ms), ("p90", 2.0, self.rules.p90_more_ms)):
            usual, now = self._latencies(self.before, name), self._latencies(self.during, name)
            if not usual or not now:
                continue
            normal, current = sum(usual) / len(usual), sum(now) / len(now)
            above = current > floor if name == "p50" else current - normal > floor
            if above and self._most(each > times * normal for each in now):
                parts.append(f"{self.service}-{name}latency: Normal={normal:.2f}ms -> Current={current:.2f}ms")
        return " | ".join(["LATENCY_DEGRADATION [Slow Response]", *parts]) if parts else ""

    def _latencies(self, samples: list[_Sample], name: str) -> list[float]:
        summary = self.world.traffic.history.summary
        edges = [sample.to[self.service] for sample in samples if sample.to.get(self.service)]
        return [getattr(summary(each), f"latency_ms_{name}") for each in edges]

    def _most(self, flags: Iterable[bool]) -> bool:
        found = list(flags)
        return bool(found) and sum(found) / len(found) >= self.rules.most


def refused(world: World, entry: str, gateway: str, services: Sequence[str]) -> dict[str, Any]:
    """What the log of the client tells, where nobody watched metrics: requests that are answered with errors now.

    Args:
        entry: program at which its users ask; `gateway`: that which knows who answers.
        services: of the namespace.
    """
    found = []
    servers = {server.identity[2]: server for server in world.traffic.servers.values()}
    asked = {name for load in world.traffic.users.values() for name, _ in load.shares(servers[entry].spec.mix)} if (
        entry in servers) else set()  # fmt: skip
    operations = servers[gateway].spec.operations if gateway in servers else ()
    for index, operation in enumerate(operations):
        fate = world.traffic.fate(servers[gateway], index)
        call, target = operation.steps[0][0], _meant(servers[gateway], operation.name)
        if operation.name not in asked or fate is None or target not in services:
            continue
        share = sum(failure.probability for failure in fate.failures)
        if share >= _NOTED:
            side = "Client" if call.status < HTTPStatus.INTERNAL_SERVER_ERROR else "Server"
            found.append(
                {
                    "request_method": "POST",
                    "business_action": operation.name,
                    "entry_service": target,
                    "url": operation.path,
                    "occurrences": max(1, round(share * 10)),
                    "raw_error": f"HTTPError('{call.status} {side} Error: {HTTPStatus(call.status).phrase}')",
                }
            )
    if not found:
        text = "No Error report found in logfile.log."
        return {"status": "clean", "message": text, "alert_count": 0, "alerts": []}
    return {"status": "has_anomalies", "alert_count": len(found), "alerts": found}


def _meant(gateway: Server, operation: str) -> str:
    """Which service a path of the gateway is for, wherever its routes lead now."""
    program = gateway.container.program
    own = program.behaviour.service().operations if isinstance(program, ServerProgram) else gateway.spec.operations
    calls = [one.steps[0][0].env for one in own if one.name == operation]
    return calls[0].partition("#")[0] if calls else ""
