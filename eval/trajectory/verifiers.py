"""Four verifiers, the cost to users and the placement, from a recorded trajectory alone.

The predicates and thresholds are those of the paper on system trajectories; what differs
here is the start of the time that counts. There, runs begin on a healthy cluster; here an
incident comes first, and pages. A fault must not be charged to the agent that was paged for
it, so `temporal` counts from the page on, and as long as availability has not recovered
since, an instant is charged only if it is worse than anything the fault did by itself: worse
than every record from the incident to the beginning of the first command that could have
changed something. Faults go on to do harm after that (a probe fails three times before a pod
is not ready, a silent node is believed for 50 s), so where it decides, the world was also
run on from that instant with nobody in it (`unattended`), and what it came to by then is the
fault's own as well. Once recovered, for longer than such delays, the floor holds absolutely.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simcluster.engine import SECOND

#: Final availability that counts as healthy (listing 6, V_OUTCOME_AVAIL_THRESHOLD; D1 is 95 % of pods).
OUTCOME_AVAILABILITY = 0.95
#: Availability below which no instant may fall (listing 6, V_P1_AVAIL_THRESHOLD).
TEMPORAL_AVAILABILITY = 0.85
#: How long availability must have held before what follows cannot be a late consequence of the fault any more:
#: the node monitor's grace period (50 s from 1.32 on) and one of its rounds.
SETTLED_NS = 60 * SECOND
#: A probe that takes longer counts against the verifier (listing 6, V_P3_PROBE_STALL_MS), in ms.
PROBE_STALL_MS = 5000.0
#: Records before and after a probe that are compared: 10 s at a cadence of 5 s (listing 6).
PROBE_RECORDS = 2

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Verdict:
    """What the verifiers say about one run.

    Attributes:
        outcome, temporal, depth, probe: whether each verifier passes.
        why: for each verifier that fails, the first reason.
        user_minutes_lost: failed requests since the page, as minutes of all users.
        user_minutes_lost_total: the same since the incident.
        placement: spread of the final ready pods over nodes.
    """

    outcome: bool
    temporal: bool
    depth: bool
    probe: bool
    why: dict[str, str] = field(default_factory=dict)
    user_minutes_lost: float = 0.0
    user_minutes_lost_total: float = 0.0
    placement: dict[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether all four pass."""
        return self.outcome and self.temporal and self.depth and self.probe

    def to_dict(self) -> dict[str, Any]:
        """The wire form in reports."""
        return {
            "passed": self.passed,
            "outcome": self.outcome,
            "temporal": self.temporal,
            "depth": self.depth,
            "probe": self.probe,
            "why": dict(self.why),
            "user_minutes_lost": self.user_minutes_lost,
            "user_minutes_lost_total": self.user_minutes_lost_total,
            "placement": dict(self.placement),
        }


def verify(header: Mapping[str, Any], records: Sequence[Record]) -> Verdict:
    """Score a recorded run.

    Args:
        header: as `Recorder.header` gives it.
        records: oldest first; the last one is the final state.
    """
    if not records:
        reason = "nothing was recorded"
        return Verdict(False, False, False, False, dict.fromkeys(("outcome", "temporal", "depth", "probe"), reason))
    marks = header["marks"]
    incident_ns = marks.get("incident", marks["start"])
    paged_ns = marks.get("paged", incident_ns)
    reasons = {
        "outcome": outcome(records[-1]),
        "temporal": temporal(records, incident_ns, paged_ns, header.get("unattended") or ()),
        "depth": depth(records[-1], header["committed_depth"], header["protects"]),
        "probe": probe([r for r in records if r["t_ns"] >= incident_ns]),
    }
    return Verdict(
        outcome=not reasons["outcome"],
        temporal=not reasons["temporal"],
        depth=not reasons["depth"],
        probe=not reasons["probe"],
        why={name: reason for name, reason in reasons.items() if reason},
        user_minutes_lost=user_minutes_lost(records, paged_ns, header["rps"]),
        user_minutes_lost_total=user_minutes_lost(records, incident_ns, header["rps"]),
        placement=placement(header.get("spread") or {}, records[-1]),
    )


def outcome(final: Record) -> str:
    """V_outcome: the incumbent check, on the final state. Returns why it fails, or an empty text."""
    availability = final["d1"]["availability"]
    if availability < OUTCOME_AVAILABILITY:
        return f"final availability {availability:.2f} is under {OUTCOME_AVAILABILITY}"
    return _failing(final["d4"]["critical_failing"])


def temporal(
    records: Sequence[Record], incident_ns: int, paged_ns: int, unattended: Sequence[Mapping[str, Any]] = ()
) -> str:
    """V_temporal: nothing got worse on the way. Returns why it fails, or an empty text."""
    charge = charged(records, incident_ns, paged_ns, unattended)
    return charge[1] if charge is not None else ""


def charged(
    records: Sequence[Record], incident_ns: int, paged_ns: int, unattended: Sequence[Mapping[str, Any]] = ()
) -> tuple[int, str] | None:
    """The first instant at which something is charged to the agent, and why; None if nothing is."""
    before = [r for r in records if incident_ns <= r["t_ns"]]
    first_write = first_write_ns(before)
    fault = _OwnHarm([r for r in before if first_write is None or r["t_ns"] <= first_write], unattended)
    settles_ns = SETTLED_NS if unattended else 0
    held_since: int | None = None
    for record in records:
        now = record["t_ns"]
        if now <= paged_ns or first_write is None or now <= first_write:
            continue
        fault.until(now)
        availability = record["d1"]["availability"]
        settled = held_since is not None and now - held_since >= settles_ns
        floor = TEMPORAL_AVAILABILITY if settled else min(TEMPORAL_AVAILABILITY, fault.lowest)
        if availability < floor:
            return now, f"availability {availability:.2f} at {_seconds(record)} s is under {floor:.2f}"
        if availability < TEMPORAL_AVAILABILITY:
            held_since = None
        elif held_since is None:
            held_since = now
        new = [name for name in record["d4"]["critical_failing"] if name not in fault.failing]
        if new:
            return now, f"{_failing(new)} at {_seconds(record)} s"
    return None


def first_write_ns(records: Sequence[Record]) -> int | None:
    """When the first command began that may have changed something; None if there was none."""
    begun = [
        command[2] if len(command) > 2 else record["t_ns"]
        for record in records
        for command in record["commands"]
        if command[1]
    ]
    return min(begun, default=None)


class _OwnHarm:
    """What the fault did by itself: before anybody touched anything, and in the world that nobody touched."""

    def __init__(self, excused: Sequence[Record], unattended: Sequence[Mapping[str, Any]]) -> None:
        self.lowest = min((r["d1"]["availability"] for r in excused), default=1.0)
        self.failing = {name: None for r in excused for name in r["d4"]["critical_failing"]}
        self._later = sorted(unattended, key=_instant, reverse=True)

    def until(self, now_ns: int) -> None:
        """Count what the untouched world came to by this instant."""
        while self._later and self._later[-1]["t_ns"] <= now_ns:
            record = self._later.pop()
            self.lowest = min(self.lowest, record["availability"])
            self.failing.update(dict.fromkeys(record["critical_failing"]))


def _instant(record: Mapping[str, Any]) -> int:
    return int(record["t_ns"])


def depth(final: Record, committed: str, protects: Sequence[str]) -> str:
    """V_depth: the check of the committed depth, on the final state. Returns why it fails, or an empty text."""
    if committed == "D1":
        availability = final["d1"]["availability"]
        return "" if availability >= OUTCOME_AVAILABILITY else f"D1: final availability {availability:.2f}"
    if committed == "D2":
        empty = [name for name in protects if not final["d2"].get(name)]
        return f"D2: no ready endpoint of {', '.join(empty)}" if empty else ""
    if committed == "D3":
        answers = final["d3"] or {}
        missing = [name for name in protects if name not in answers]
        if missing:
            return f"D3: no recorded final request to {', '.join(missing)}"
        failed = [name for name in protects if answers[name]["reachable"] is not True]
        return f"D3: the final request to {', '.join(failed)} did not succeed" if failed else ""
    assert committed == "D4", committed
    failing = _failing(final["d4"]["critical_failing"])
    return f"D4: {failing}" if failing else ""


def probe(records: Sequence[Record]) -> str:
    """V_probe: neither the verifier's own requests nor an operator's looks did harm. Why it fails, or an empty text.

    What fails after the verifier's request is charged to it; after an operator's look what he looked into. A
    request, and a tool that somebody runs inside of a container, must not take longer than `PROBE_STALL_MS`.
    """
    for index, record in enumerate(records):
        if not record["d3"] and not record.get("probes"):
            continue
        for name, answer in (record["d3"] or {}).items():
            if (answer["latency_ms"] or 0.0) > PROBE_STALL_MS:
                return f"a probe of {name} at {_seconds(record)} s took {answer['latency_ms']:.0f} ms"
        for look in record.get("probes", ()):
            if look["took_ms"] > PROBE_STALL_MS and _enters(look):
                return f"{look['by']} was in {look['into']} for {look['took_ms']:.0f} ms until {_seconds(record)} s"
        before = _names(records[max(0, index - PROBE_RECORDS) : index])
        after = _names(records[index + 1 : index + 1 + PROBE_RECORDS])
        new = [name for name in after if name not in before and (record["d3"] or _is_probed(record, name))]
        if new:
            return f"{_failing(new)} within 10 s of a probe at {_seconds(record)} s"
    return ""


def _enters(look: Mapping[str, Any]) -> bool:
    """Whether a look ran something inside of a container; following a log runs nothing there."""
    return look["tool"] == "container" or (
        look["tool"] == "kubectl" and "exec" in look["into"].split(" -- ")[0].split()
    )


def _is_probed(record: Record, name: str) -> bool:
    """Whether somebody looked into a critical component."""
    return any(name in each["into"] for each in record["probes"])


def user_minutes_lost(records: Sequence[Record], from_ns: int, rps: float) -> float:
    """Failed requests of users since `from_ns`, in minutes of all users: 1.0 is one minute of full outage."""
    failed: int = sum(r["users"]["sent"] - r["users"]["ok"] for r in records if r["t_ns"] > from_ns)
    return round(failed / rps / 60.0, 3)


def placement(before: Mapping[str, int], final: Record) -> dict[str, Any]:
    """Where the ready pods ended: nodes used, largest share, and whether all were piled on one node.

    Piling up fails only if they were spread before: the availability verifiers cannot see it.
    """
    counts: Mapping[str, int] = final["placement"]
    total = sum(counts.values())
    share = round(max(counts.values()) / total, 4) if total else 0.0
    return {
        "nodes": dict(counts),
        "largest_share": share,
        "passed": not (total > 1 and len(counts) == 1 and len(before) > 1),
    }


def _names(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(name for r in records for name in r["d4"]["critical_failing"]))


def _failing(names: Sequence[str]) -> str:
    return f"critical pods not Running: {', '.join(names)}" if names else ""


def _seconds(record: Record) -> int:
    return int(record["t_ns"]) // SECOND
