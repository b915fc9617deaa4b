"""Why an output differs from the recorded one, as far as the differing lines tell.

Each differing line is put down to what two runs of one real cluster do not fix either. A
line that nothing here explains makes the whole output unexplained: such a difference is a
finding about the simulator.
"""

from __future__ import annotations

import re

UNEXPLAINED = "unexplained"
NODE = "node chosen among equals"
ORDER = "order within an instant"
TIMING = "state or count at a boundary of timing"
LAG = "lag of controllers, and updates seen as one"
SAMPLING = "instant of a metrics sample"
VOLUME = "volume chosen among equals"
RACE = "race of the client's own threads"
VALUE = "value that the rules of comparison leave in"

#: First match wins.
_RULES: tuple[tuple[str, str], ...] = (
    (RACE, r"websocket\.go|Unknown stream id"),
    (VALUE, r"Resource Version:|Created on:|\"window\":"),
    (LAG, r"^Waiting for .*(spec update|rollout to finish|pods to be ready|partitioned)|successfully rolled out"),
    (LAG, r"WaitFor(PodScheduled|FirstConsumer)|status unknown for quota"),
    (
        SAMPLING,
        r"horizontalpodautoscaler|cpu: (\d+%|<unknown>)/|Failed(GetResource|ComputeMetrics)|resource cpu on pods",
    ),
    (SAMPLING, r"^(AbleToScale|ScalingActive|ScalingLimited)\b|SuccessfulRescale|^Deployment pods:"),
    (VOLUME, r"(?=.*\b(Bound|Released|Available)\b).*\b(R[WO][OX]|RWOP)\b|^Volume:"),
    (NODE, r"^Node: <WORKER>/|\b(hostIP|ip): \"?10\.|\"hostIPs?\":|<WORKER> .*Mi\b|Non-terminated Pods"),
    (NODE, r"^(hotel|sched|default|tiny|faults) \S+.*\(\d+%\)|^(cpu|memory) \S+ \(\d+%\)"),
    (NODE, r"TaintManagerEviction|unable to drain node|cannot delete|evicting pod|\bevicted$|^pod/\S+$|not found$"),
    (NODE, r"force deleted$|^\[.rc\]$|^\d+$"),
    (
        TIMING,
        r"(ImagePull|CrashLoop)BackOff|Err(or|Image\w+)|OOMKilled|PostStartHook|ContainerCreating|Init:|\bRunning\b",
    ),
    (TIMING, r"Completed|Restart Count:|^(State|Last State|Reason|Exit Code|Started|Finished|Ready):"),
    (TIMING, r"\b(Pulled|Pulling|Created|Started|Killing|BackOff|Unhealthy|Failed\w*|Scheduled|Preempted)\b"),
    (TIMING, r"^\S+ \d+/\d+ \d+ \d+ <AGE>$"),
    (TIMING, r"\"(restartCount|lastState|conditions)\""),
)
_HEAD = re.compile(r"^(---|\+\+\+|@@)")


def reason(diff: str, *, reordered: bool) -> str:
    """The reasons of a difference, joined by `; `.

    Args:
        diff: a unified diff of the normalised texts.
        reordered: whether both have the same lines.
    """
    if reordered:
        return ORDER
    found: dict[str, None] = {}
    for line in diff.splitlines():
        if line[:1] in ("+", "-") and not _HEAD.match(line) and line[1:].strip():
            found[_of_line(line[1:].strip())] = None
    if UNEXPLAINED in found:
        return UNEXPLAINED
    return "; ".join(found) or ORDER


def _of_line(line: str) -> str:
    for name, pattern in _RULES:
        if re.search(pattern, line):
            return name
    return UNEXPLAINED
