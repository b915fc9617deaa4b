"""What GetAlerts answers: a script of the data set compares a window of metrics with the time before.

Its rules, as they were recovered from its recordings: throughput below half in most samples; latency above twice
(p90) or three times (p50) what it was, and by more than a floor; success below 70 %; packets down by 45 %; segments
sent again where none were. Samples are 5 s apart. Left out: CPU, throttling and memory, which no fault that is
injected here raises.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from simcluster.engine import SECOND
from simcluster.models.traffic.cluster.statistics import EdgeStats
from simcluster.world import World

SAMPLE_S = 5
#: Most of the samples of a window.
_MOST = 0.6
#: Floors of latency, in ms: what was alerted began there.
_P90_MORE_MS, _P50_MS = 15.0, 34.0
_RETRANSMITTED_PER_S = 0.5
#: A share of requests of a kind that fail, which the client's log tells of.
_NOTED = 0.02
_SNMP = re.compile(r"Tcp: (\D.*)\nTcp: (.*)")


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


def alerts(world: World, services: Sequence[str], window: Window, segments: Sequence[dict[str, int]]) -> dict[str, Any]:
    """The answer: empty if nothing is out.

    Args:
        segments: what `retransmitted` said at the begin of the time before, of the window, and at its end.
    """
    before, during = _samples(world, window.before), _samples(world, window.during)
    found = []
    for service in services:
        evidence = _evidence(world, service, before, during)
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


def _samples(world: World, span: tuple[int, int]) -> list[list[EdgeStats]]:
    begin, end = span
    step = SAMPLE_S * SECOND
    history = world.traffic.history
    return [list(history.between(at, at + step)) for at in range(begin, end - step + 1, step)]


def _evidence(world: World, service: str, before: list[list[EdgeStats]], during: list[list[EdgeStats]]) -> list[str]:
    found = []
    usual, now = ([_rate(sample, service) for sample in samples] for samples in (before, during))
    if not usual or not now or not median(usual):
        return []
    normal, current = sum(usual) / len(usual), sum(now) / len(now)
    change = f"({100 * (current / normal - 1):+.1f}%)"
    if _share(rate < 0.5 * normal for rate in now) >= _MOST:
        found.append(f"THROUGHPUT_DROP [RPS] | Normal={normal:.2f}req/s -> Current={current:.2f}req/s {change}")
    good = [_success(sample, service) for sample in during]
    if median(good) < 0.7:
        found.append(f"ERROR_SPIKE [Success Rate Drop] | Normal=100.0% -> Cur={100 * median(good):.1f}%")
    packets = [median(_packets(sample, service) for sample in samples) for samples in (before, during)]
    if packets[0] and packets[1] < 0.55 * packets[0]:
        text = f"Normal={packets[0]:.2f}pps -> Current={packets[1]:.2f}pps"
        found.append(f"TRAFFIC_ANOMALY [Network Drop] | {text}")
    slow = _slow(world, service, before, during)
    return found + ([slow] if slow else [])


def _slow(world: World, service: str, before: list[list[EdgeStats]], during: list[list[EdgeStats]]) -> str:
    parts = []
    summary = world.traffic.history.summary
    for name, times, floor in (("p50", 3.0, _P50_MS), ("p90", 2.0, _P90_MORE_MS)):
        field = f"latency_ms_{name}"
        usual, now = (
            [getattr(summary(_to(sample, service)), field) for sample in samples if _to(sample, service)]
            for samples in (before, during)
        )
        if not usual or not now:
            continue
        normal, current = sum(usual) / len(usual), sum(now) / len(now)
        above = current > floor if name == "p50" else current - normal > floor
        if above and _share(each > times * normal for each in now) >= _MOST:
            parts.append(f"{service}-{name}latency: Normal={normal:.2f}ms -> Current={current:.2f}ms")
    return " | ".join(["LATENCY_DEGRADATION [Slow Response]", *parts]) if parts else ""


def _to(sample: list[EdgeStats], service: str) -> list[EdgeStats]:
    return [edge for edge in sample if edge.key.host.partition(".")[0] == service]


def _rate(sample: list[EdgeStats], service: str) -> float:
    return sum(edge.ok + sum(edge.errors.values()) for edge in _to(sample, service)) / SAMPLE_S


def _success(sample: list[EdgeStats], service: str) -> float:
    ok = sum(edge.ok for edge in _to(sample, service))
    failed = sum(sum(edge.errors.values()) for edge in _to(sample, service))
    return ok / (ok + failed) if ok + failed else 1.0


def _packets(sample: list[EdgeStats], service: str) -> float:
    """Messages that a service's pods sent and got: requests to it, and those that it makes."""
    made = sum(edge.sent for edge in sample if edge.key.pod.startswith(f"{service}-"))
    return made / SAMPLE_S + 2 * _rate(sample, service)


def _share(flags: Any) -> float:
    found = list(flags)
    return sum(found) / len(found) if found else 0.0


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
    for index, operation in enumerate(servers[gateway].spec.operations if gateway in servers else ()):
        fate = world.traffic.fate(servers[gateway], index)
        call = operation.steps[0][0]
        if operation.name not in asked or fate is None or call.env.partition("#")[0] not in services:
            continue
        share = sum(failure.probability for failure in fate.failures)
        if share >= _NOTED:
            found.append(
                {
                    "request_method": "POST",
                    "business_action": operation.name,
                    "entry_service": call.env.partition("#")[0],
                    "url": operation.path,
                    "occurrences": max(1, round(share * 10)),
                    "raw_error": f"HTTPError('{call.status} Server Error')",
                }
            )
    if not found:
        text = "No Error report found in logfile.log."
        return {"status": "clean", "message": text, "alert_count": 0, "alerts": []}
    return {"status": "has_anomalies", "alert_count": len(found), "alerts": found}
