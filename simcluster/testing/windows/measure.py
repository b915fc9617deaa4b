"""One recorded window of metrics and the same minutes of a simulated shop.

Of a recording are taken: which node ran what, how much its users asked for while all was well (the entry's own rate,
which is therefore not scored), the kind of the fault, its target, and of a delay its size: that with which the
target's own median latencies rise as recorded, found by trying on copies of the simulated shop (a node's are those of
what runs on it). Everything else is foretold: the other services' rates, latencies and CPU. The shop's costs are those
of `simcluster.testing.healthy` and are not fitted to the window.
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
#: So far rates look back, in seconds.
BACK_S = 60
#: Seconds between an answer and the next request of Locust's users (1 to 10 s), as the shop's own load waits.
THINK_S = 5.5
#: A lost segment in fifty, where a node loses some: no case tells it.
LOSS = 0.02
#: A delay is tried so often, for so many seconds, and moves by so much at most; if what is added to the medians is a
#: smaller share of it than this, they do not hold it.
TRIES, PROBE_S, STEP, LEAST_SHARE = 3, 45.0, 8.0, 0.2
#: Smaller figures are noise of the recording: requests a second, milliseconds, cores.
LEAST = {"rps": 0.5, "p50": 0.2, "cpu": 0.003}
#: A recorded change by less than this factor has no direction; one that is foretold has to go the recorded way by more
#: than the second.
CHANGED, MOVED = 1.5, 1.1
ORDER = 10.0


@dataclass(frozen=True)
class Recorded:
    """Means over the rows before a fault and over the alerted window, by service and metric.

    Attributes:
        settled: of the window's rows, those whose rates look back on the fault alone.
    """

    before: dict[tuple[str, str], float]
    during: dict[tuple[str, str], float]
    settled: dict[tuple[str, str], float]
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
    whole = ill[BACK_S // ROW_S - AHEAD_ROWS :] or ill
    if not well or not ill:
        raise CaseError(f"{path}: no row before the fault, or none in the window {begin} to {end}")
    try:
        before, during, settled = ({(service, metric): fmean(float(row[f"{service}-{column}"] or 0) for row in part)
                           for service in recorded() for metric, column in COLUMNS.items()}
                          for part in (well, ill, whole))  # fmt: skip
    except KeyError as missing:
        raise CaseError(f"{path}: there is no column {missing}") from None
    return Recorded(before, during, settled, len(well) * ROW_S, len(ill) * ROW_S)


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
    shaping, own = Shaping(loss=LOSS), list[str]()
    if "delay" in found.cause:
        own = _own(world, kind, target)
        shaping = Shaping(delay_ns=_delay_ns(world, there, here_before, (kind, target), own))
    here_during = _under(world, (kind, target), shaping, AHEAD_ROWS * ROW_S, there.during_s)
    for metric in COLUMNS:
        for service in recorded():
            key = (service, metric)
            if there.before[key] < LEAST[metric] or not here_before[key]:
                continue
            if key != (ENTRY, "rps"):
                found.healthy.setdefault(metric, {})[service] = here_before[key] / there.before[key] - 1
            if there.during[key] and here_during[key] and not (service in own and metric == "p50"):
                factors = there.during[key] / there.before[key], here_during[key] / here_before[key]
                found.faulty.setdefault(metric, {})[service] = factors
    return found


def _own(world: World, kind: str, target: str) -> list[str]:
    """The services whose latency is the target's own signal: itself, or what runs on a node."""
    if kind != "node":
        return [target]
    pods = world.api.store.objects("pods", NAMESPACE)
    found = {str((pod["metadata"].get("labels") or {}).get("app")) for pod in pods
             if pod["spec"].get("nodeName") == target}  # fmt: skip
    return sorted(found.intersection(recorded()))


def _under(
    world: World, target: tuple[str, str], shaping: Shaping, ahead_s: int, seconds: float
) -> dict[tuple[str, str], float]:
    """Shape the interfaces of the target (its kind and name), and measure `seconds` from `ahead_s` on."""
    kind, name = target
    ends = [name]
    if kind != "node":
        pods = world.api.store.objects("pods", NAMESPACE)
        ends = [pod["status"]["podIP"] for pod in pods if pod["metadata"]["name"].startswith(f"{name}-")]
    for end in ends:
        world.network.links.shape(end, shaping)
    world.run_for(ahead_s * SECOND)
    return _measured(world, seconds)


def _delay_ns(
    world: World,
    there: Recorded,
    here_before: dict[tuple[str, str], float],
    target: tuple[str, str],
    own: list[str],
) -> int:
    """The delay with which the target's own medians rise, all together, by what they rose by in the recording.

    Where a latency has no part of it in the model (it is measured behind the interface), it is the rise itself.
    """
    wanted_s = _rise_s(there.before, there.settled, own)
    delay_s = wanted_s / max(1, len(own))
    for _ in range(TRIES):
        shaping = Shaping(delay_ns=max(MILLISECOND, round(delay_s * SECOND)))
        rose_s = _rise_s(here_before, _under(world.fork(), target, shaping, BACK_S, PROBE_S), own)
        if rose_s < LEAST_SHARE * delay_s:
            return max(MILLISECOND, round(wanted_s * SECOND))
        delay_s *= min(STEP, max(1 / STEP, wanted_s / rose_s))
    return max(MILLISECOND, round(delay_s * SECOND))


def _rise_s(before: dict[tuple[str, str], float], during: dict[tuple[str, str], float], services: list[str]) -> float:
    """By how much the medians of some services rose, added up."""
    return sum(max(0.0, during[one, "p50"] - before[one, "p50"]) for one in services) / 1000


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
