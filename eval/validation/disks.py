"""Rows D1-D4: populations of drives over months, against field studies.

They draw from the laws that single drives of a machine use (`models/machine/storage/latentlaw.py`, `failslowlaw.py`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import arithmetic
from simcluster.engine.streams import Streams, uniforms_at
from simcluster.eval.validation.context import Context
from simcluster.eval.validation.finding import Estimate, Share
from simcluster.eval.validation.row import Row
from simcluster.models.machine.storage import failslowlaw, latentlaw
from simcluster.models.machine.storage.latentlaw import ENTERPRISE, NEARLINE, LatentErrorLaw

#: Errors of a burst are followed up to so many: nothing asks whether there were more.
MOST_FOLLOWED = 200
MONTHS, MONTH_S, DAY_S = 32.0, 30.44 * 86_400.0, 86_400.0
NEAR_BYTES = 10e6
SCRUB_DAYS = 14.0
#: Perseus: drives and months under observation.
FLEET, FLEET_YEARS = 248_000, 10.0 / 12.0

Array = NDArray[np.float64]
Keys = NDArray[np.uint64]


class Affected(NamedTuple):
    """Drives with at least one error: how many in 32 months and in the month after the first; one within 10 MB."""

    total: NDArray[np.int64]
    month: NDArray[np.int64]
    near: NDArray[np.bool_]
    minute_gaps: int
    gaps: int


def keys_of(identity: str, count: int) -> Keys:
    """Keys of so many independent drives."""
    base = Streams(0).key("validation", identity)
    return np.arange(count, dtype=np.uint64) * np.uint64(0xD1342543DE82EF95) + np.uint64(base)


def _first_errors(law: LatentErrorLaw, count: int) -> Array:
    return latentlaw.first_error_month(law, uniforms_at(keys_of(f"first/{law.name}", count), 1))


def affected_drives(law: LatentErrorLaw, count: int) -> Affected:
    """What happens after the first error of each of so many drives: its burst, and perhaps a second one."""
    keys = keys_of(f"after/{law.name}", count)
    room = MONTHS * MONTH_S  # from the first error on
    second = uniforms_at(keys, 1) < law.again
    begins = latentlaw.again_seconds(uniforms_at(keys, 2))
    total, month = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    near = np.zeros(count, dtype=bool)
    quick, gaps = 0, 0
    for burst in (0, 1):
        lengths = latentlaw.burst_errors(law, uniforms_at(keys, 3 + 2 * burst), uniforms_at(keys, 4 + 2 * burst))
        lengths = np.minimum(lengths, MOST_FOLLOWED)
        if burst:
            lengths = np.where(second, lengths, 0)
        start = begins if burst else np.zeros(count)
        found, soon, close, fast, all_gaps = _burst(keys, burst, lengths, start, room)
        total, month = total + found, month + soon
        quick, gaps = quick + fast, gaps + all_gaps
        if not burst:
            near = close
    return Affected(total, month - 1, near, quick, gaps)


def _burst(
    keys: Keys, burst: int, lengths: NDArray[np.int64], start: Array, room: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_], int, int]:
    """Errors of one burst of each drive: within the time, within a month; whether the second is near the first."""
    when = start.copy()
    found = ((lengths > 0) & (when <= room)).astype(np.int64)
    soon = ((lengths > 0) & (when <= MONTH_S)).astype(np.int64)
    near = np.zeros(len(keys), dtype=bool)
    fast, gaps, index = 0, 0, np.flatnonzero(lengths > 1)
    number = 1
    while len(index):
        some = keys[index]
        gap = latentlaw.gap_seconds(uniforms_at(some, 1000 + 10_000 * burst + 2 * number))
        when[index] += gap
        fast, gaps = fast + int(np.count_nonzero(gap <= 60.0)), gaps + len(index)
        found[index] += when[index] <= room
        soon[index] += when[index] <= MONTH_S
        if number == 1:
            step = latentlaw.step_bytes(uniforms_at(some, 1001 + 10_000 * burst))
            near[index] = step <= NEAR_BYTES
        number += 1
        index = index[lengths[index] > number]
    return found, soon, near, fast, gaps


def d1(context: Context) -> None:
    """How many drives have latent sector errors."""
    count = 100_000
    for law, year, whole in ((NEARLINE, 0.0315, 0.085), (ENTERPRISE, 0.0146, 0.019)):
        first = _first_errors(law, count)
        for months, expected in ((12.0, year), (MONTHS, whole)):
            context.note(f"drives with errors in {months:g} months, {law.name}", expected,
                         _proportion(first <= months), 0.003)  # fmt: skip


def d2(context: Context) -> None:
    """Clusters in space and time."""
    count = context.size(50_000, 20_000)
    for law, again, fifty in ((NEARLINE, 0.548, 0.05), (ENTERPRISE, 0.62, 0.10)):
        drives = affected_drives(law, count)
        _share(context, f"another within 10 MB, {law.name}", 0.5, drives.near, 0.01)
        _share(context, f"another within a month, {law.name}", again, drives.month >= 1, 0.01)
        _share(context, f"50 more within a month, {law.name}", fifty, drives.month >= 50, 0.01)
        few = _proportion(drives.total < 50)
        context.note(f"affected drives with fewer than 50 errors, {law.name}", 0.80, few, 0.0, "below")
        quick = drives.minute_gaps / drives.gaps
        context.note(f"errors within a minute of the one before, {law.name}", 0.60, quick, 0.20)


def _proportion(hits: NDArray[np.bool_]) -> Estimate:
    share = Share(int(np.count_nonzero(hits)), len(hits))
    return Estimate(share.mean, share.half)


def _share(context: Context, name: str, expected: float, hits: NDArray[np.bool_], slack: float) -> None:
    context.note(name, expected, _proportion(hits), slack)


def d3(context: Context) -> None:
    """Who finds an error first: the scrub every two weeks, or somebody who reads the sector."""
    count = context.size(100_000, 30_000)
    for law, expected in ((NEARLINE, 0.866), (ENTERPRISE, 0.615)):
        keys = keys_of(f"scrub/{law.name}", count)
        scrub = SCRUB_DAYS * uniforms_at(keys, 1)
        user = -law.read_days * arithmetic.log_array(uniforms_at(keys, 2))
        _share(context, f"errors found by scrubs, {law.name}", expected, scrub < user, 0.01)


def d4(context: Context) -> None:
    """Fail-slow drives of a fleet, and how long comparing peers takes."""
    slow = failslowlaw.fail_slow_years(keys_of("fail-slow", FLEET)) <= FLEET_YEARS
    number = int(np.count_nonzero(slow))
    context.note("fail-slow drives of 248,000 in ten months", 304.0, Estimate(number, 2.576 * number**0.5), 0.0)
    years = failslowlaw.fail_slow_years(keys_of("fail-slow/nodes", 39_000 * failslowlaw.DRIVES_A_NODE))
    nodes = int(np.count_nonzero((years <= 1.0).reshape(39_000, -1).any(axis=1)))
    share = Estimate(nodes / 39_000, Share(nodes, 39_000).half)
    context.note("nodes with a fail-slow drive in a year (of 39,000)", 0.0102, share, 0.00005)
    detector = failslowlaw.PeerDetector(Streams(0).key("validation", "peers"))
    sick = detector.hours_until_suspected(context.size(400, 150), True)
    healthy = detector.hours_until_suspected(context.size(400, 150), False)
    known = np.sort(sick[np.isfinite(sick)])
    context.note("hours until peers show a fail-slow drive, median", 2.0, float(np.median(known)), 0.0, "below")
    context.note("hours until peers show a fail-slow drive, fastest", 1.0, float(known[0]), 0.0, "below")
    context.note("share of fail-slow drives found in ten days", 0.80, len(known) / len(sick), 0.0, "below")
    wrong = float(np.count_nonzero(np.isfinite(healthy))) / len(healthy)
    context.note("healthy drives suspected in ten days", 0.01, wrong, 0.0, "above")


_ENGINE = ("exact",)
#: D1-D4.
ROWS: dict[str, Row] = {
    "D1": Row(
        "latent sector errors of 100,000 drives in 32 months",
        "Bairavasundaram et al. 2007",
        "0.3 % of the drives beyond the interval. Fitted: the shares of a year and of 32 months fix the "
        "law's two constants, so that this checks the drawing of populations, not the law",
        d1,
        _ENGINE,
    ),
    "D2": Row(
        "clusters of latent sector errors, from a drive's first error on",
        "Bairavasundaram et al. 2007; Schroeder et al. 2010",
        "1 % beyond the 99 % confidence interval; 40-80 % within a minute, as by model of drive. Near, month, "
        "fifty and minute are fitted by the constants of bursts; fewer than 50 follows from them",
        d2,
        _ENGINE,
    ),
    "D3": Row(
        "errors found by a scrub every two weeks",
        "Bairavasundaram et al. 2007",
        "1 % beyond the 99 % confidence interval. Fitted: how soon somebody reads a sector is chosen for these shares",
        d3,
        _ENGINE,
    ),
    "D4": Row(
        "fail-slow drives: how many, and how long detection by peers takes",
        "Lu et al. 2023 (Perseus); Panda et al. 2019 (IASO); Hao et al. 2016",
        "99 % confidence interval; detection: hours, not seconds, with hardly a false alarm. The 304 drives "
        "are fitted (they are the hazard), seven drives a node chosen for the 1.02 % of nodes; the hours follow",
        d4,
        _ENGINE,
    ),
}
