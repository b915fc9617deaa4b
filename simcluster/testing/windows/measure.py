"""One recorded window of metrics and the same minutes of a simulated shop.

Of a recording are taken: which node ran what, how much its users asked for while all was well (the entry's own rate,
which is therefore not scored), the kind of the fault, its target, and of a delay its size: what the target's own
median latency rose by. Everything else is foretold: the other services' rates, latencies and CPU. The shop's costs
are those of `simcluster.testing.healthy` and are not fitted to the window.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from statistics import fmean, median

from simcluster.calibration.cloudopsbench.case import Case, CaseError, read_case
from simcluster.engine import MILLISECOND, SECOND
from simcluster.models.machine.links.shaping import Shaping
from simcluster.testing.healthy.measure import ENTRY, NAMESPACE, QUERIES, asked, recorded, shop
from simcluster.world import World
from simcluster.world.world import NodeSpec

METRICS = "metrics.csv"
#: Metrics that are compared, and the names of their columns.
COLUMNS = {"rps": "rps", "p50": "p50latency", "cpu": "cpu"}
#: Rows of the file are 5 s apart; the fault begins so many rows before the alerted window.
ROW_S, AHEAD_ROWS = 5, 4
#: Seconds between an answer and the next request of Locust's users (1 to 10 s), as the shop's own load waits.
THINK_S = 5.5
#: A lost segment in fifty, where a node loses some: no case tells it.
LOSS = 0.02
#: Smaller figures are noise of the recording: requests a second, milliseconds, cores.
LEAST = {"rps": 0.5, "p50": 0.2, "cpu": 0.003}
#: A recorded change by less than this factor has no direction; one that is foretold has to go the recorded way by more
#: than the second.
CHANGED, MOVED = 1.5, 1.1
ORDER = 10.0


@dataclass(frozen=True)
class Recorded:
    """Means over the rows before a fault and over the alerted window, by service and metric."""

    before: dict[tuple[str, str], float]
    during: dict[tuple[str, str], float]
    before_s: float
    during_s: float


@dataclass
class Compared:
    """One case.

    Attributes:
        healthy: relative errors of the time before the fault, by metric and service.
        faulty: recorded and simulated factor (during over before), by metric and service.
    """

    name: str
    cause: str
    target: str
    healthy: dict[str, dict[str, float]] = field(default_factory=dict)
    faulty: dict[str, dict[str, tuple[float, float]]] = field(default_factory=dict)

    def error(self, metric: str) -> float:
        """The median error over the services in the healthy window."""
        return median(abs(one) for one in self.healthy[metric].values())

    def right(self) -> Iterator[tuple[bool, bool]]:
        """Of each factor: whether its direction and its order of magnitude are as recorded."""
        for factors in self.faulty.values():
            for there, here in factors.values():
                yield same_direction(there, here), 1 / ORDER < here / there < ORDER


def same_direction(there: float, here: float) -> bool:
    """Whether a foretold factor goes where the recorded one goes; where that stays, whether it stays, too.

    >>> same_direction(4.0, 1.3), same_direction(0.3, 0.98), same_direction(1.1, 1.3), same_direction(1.1, 2.0)
    (True, False, True, False)
    """
    if there >= CHANGED:
        return here > MOVED
    if there <= 1 / CHANGED:
        return here < 1 / MOVED
    return 1 / CHANGED < here < CHANGED


def window_of(case: Case) -> Recorded:
    """The recorded figures. Raises CaseError without a file of metrics, an alerted window, or the columns."""
    path = case.folder / METRICS
    if not path.is_file() or case.alerted is None:
        raise CaseError(f"{case.folder} has no {METRICS} with an alerted window")
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    begin, end = _alerted(case)
    at = [datetime.fromisoformat(row["time"]) for row in rows]
    first = next((index for index, when in enumerate(at) if when >= begin), len(rows))
    well = rows[: max(0, first - AHEAD_ROWS)]
    ill = [row for row, when in zip(rows, at, strict=True) if begin <= when <= end]
    if not well or not ill:
        raise CaseError(f"{path}: no row before the fault, or none in the window {begin} to {end}")
    try:
        before, during = ({(service, metric): fmean(float(row[f"{service}-{column}"] or 0) for row in part)
                           for service in recorded() for metric, column in COLUMNS.items()}
                          for part in (well, ill))  # fmt: skip
    except KeyError as missing:
        raise CaseError(f"{path}: there is no column {missing}") from None
    return Recorded(before, during, len(well) * ROW_S, len(ill) * ROW_S)


def _alerted(case: Case) -> tuple[datetime, datetime]:
    for _, answer in case.answers("GetAlerts"):
        for alert in answer.get("alerts") or ():
            begin, _, end = str(alert.get("time_range", "")).partition(" ~ ")
            if end:
                return datetime.fromisoformat(begin), datetime.fromisoformat(end)
    raise CaseError(f"{case.folder}: no alert names a window")


def compared(folder: Path, seed: int = 0) -> Compared:
    """Play the window of a case. Raises CaseError."""
    case = read_case(folder)
    there = window_of(case)
    rate = there.before[ENTRY, "rps"]
    nodes = [NodeSpec(one.name, control_plane=one.control_plane, tainted=one.control_plane, cpu=one.cpu,
                      memory=one.memory) for one in case.nodes]  # fmt: skip
    workers = {node.name for node in nodes if not node.control_plane}
    placed = {re.sub(r"-[0-9a-f]+-[0-9a-z]{5}$", "", row["NAME"]): row["NODE"]
              for row in case.table("pods", wide=True) if row.get("NODE") in workers}  # fmt: skip
    world = shop(seed, rate, nodes, placed, max(1, round(rate * THINK_S)))
    kind, _, target = case.fault.get("fault_object", "").partition("/")
    found = Compared("/".join(folder.parts[-2:]), case.fault.get("root_cause", ""), target)
    here_before = _measured(world, there.before_s)
    _shape(world, case, there, kind, target)
    world.run_for(AHEAD_ROWS * ROW_S * SECOND)
    here_during = _measured(world, there.during_s)
    for metric in COLUMNS:
        for service in recorded():
            key = (service, metric)
            if there.before[key] < LEAST[metric] or not here_before[key]:
                continue
            if key != (ENTRY, "rps"):
                found.healthy.setdefault(metric, {})[service] = here_before[key] / there.before[key] - 1
            if there.during[key] and here_during[key] and not (service == target and metric == "p50"):
                factors = there.during[key] / there.before[key], here_during[key] / here_before[key]
                found.faulty.setdefault(metric, {})[service] = factors
    return found


def _shape(world: World, case: Case, there: Recorded, kind: str, target: str) -> None:
    """The fault, at the interfaces of the target."""
    shaping = Shaping(loss=LOSS)
    if "delay" in case.fault.get("root_cause", ""):
        shaping = Shaping(delay_ns=max(MILLISECOND, round(_rise_s(world, there, kind, target) * SECOND)))
    ends = [target]
    if kind != "node":
        pods = world.api.store.objects("pods", NAMESPACE)
        ends = [pod["status"]["podIP"] for pod in pods if pod["metadata"]["name"].startswith(f"{target}-")]
    for end in ends:
        world.network.links.shape(end, shaping)


def _rise_s(world: World, there: Recorded, kind: str, target: str) -> float:
    """By how much the target's own median rose; of a node, the least of those of what runs on it and rose."""
    if kind != "node":
        return (there.during[target, "p50"] - there.before[target, "p50"]) / 1000
    rises = []
    for pod in world.api.store.objects("pods", NAMESPACE):
        service = str((pod["metadata"].get("labels") or {}).get("app"))
        if pod["spec"].get("nodeName") == target and (service, "p50") in there.during:
            rises.append((there.during[service, "p50"] - there.before[service, "p50"]) / 1000)
    return min((one for one in rises if one > 0.01), default=0.0)


def _measured(world: World, seconds: float) -> dict[tuple[str, str], float]:
    """Means over looks 15 s apart, as the recorded script looked at rates of a minute."""
    looks: dict[tuple[str, str], list[float]] = {}
    for _ in range(max(1, round(seconds / 15))):
        world.run_for(15 * SECOND)
        ask: Callable[[str], float] = partial(asked, world)
        for service in recorded():
            for metric in COLUMNS:
                query = QUERIES[metric].replace("SERVICE", service)
                looks.setdefault((service, metric), []).append(ask(query))
    return {key: fmean(values) for key, values in looks.items()}
