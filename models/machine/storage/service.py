"""How fast a drive answers: the service law of one request, and waiting by everybody's load.

A hard disk is one server whose positioning gets shorter the deeper its queue is (it chooses the order);
flash is many servers. Waiting follows Pollaczek and Khinchine, for many servers Sakasegawa's approximation
(1977). Left out: the elevator of the kernel, and merging of requests.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from simcluster.engine import SECOND, arithmetic
from simcluster.models.machine.storage.drivemodel import BLOCK, DriveModel
from simcluster.models.machine.storage.io import Latency
from simcluster.models.machine.storage.slow import SlowMode

#: Share of the positioning time that is saved by every doubling of the queue: 7200 rpm drives do some 80 random
#: reads a second one at a time, 115 at a depth of 4, 160 at 16, 185 at 32.
_GAIN = 0.26
#: Command and bus, each request.
OVERHEAD_NS = {"hdd": 60_000, "ssd": 15_000, "nvme": 4_000}
#: Mean of sqrt|x - y| of two uniform places, and its variance.
_ROOT_DISTANCE, _ROOT_VARIANCE = 8.0 / 15.0, 1.0 / 3.0 - (8.0 / 15.0) * (8.0 / 15.0)
#: Writes are cached by a hard disk and laid down in its own order, as from a full queue.
_WRITE_DEPTH = 32.0
#: Squared coefficient of variation of one read of flash (channel collisions, read retries of single pages).
_FLASH_CV2 = 0.25
#: Waits are reckoned for that utilisation at most; what is beyond is in the backlog.
_CEILING = 0.95
#: Steps in which the depth of the queue is searched: to a fifth of a request.
_HALVINGS = 7
#: 99 % quantile of a standard normal.
_Z99 = 2.326


class Rates(NamedTuple):
    """Requests a second of one owner, mean sizes in bytes, and which share of the surface they cover."""

    random_reads: float = 0.0
    random_size: float = 4096.0
    sequential_reads: float = 0.0
    sequential_size: float = 131072.0
    writes: float = 0.0
    write_size: float = 4096.0
    fsyncs: float = 0.0
    span: float = 1.0
    depth: int = 128


class Law(NamedTuple):
    """Mean service time and its second moment, ns and ns²."""

    mean: float
    square: float


class Answer(NamedTuple):
    """What the drive does with a load: response times, busy share, work offered per server, time of a request.

    `own` is the part of the work offered that the asking owner brings.
    """

    read: Latency
    write: Latency
    fsync: Latency
    busy: float
    offered: float
    request_ns: float
    own: float


def gain(depth: float) -> float:
    """How many times as many random requests a hard disk does with that many to choose from."""
    return 1.0 + _GAIN * (arithmetic.log(max(1.0, depth)) / 0.6931471805599453)


def positioning(model: DriveModel, span: float, depth: float = 1.0) -> tuple[float, float]:
    """Mean and variance of seek and rotation, ns, over a share of the surface; (0, 0) for flash."""
    if not model.rotates:
        return 0.0, 0.0
    root = math.sqrt(min(1.0, max(span, 1e-6)))
    mean = model.settle_ns + model.stroke_ns * root * _ROOT_DISTANCE + model.turn_ns / 2.0
    deviation = model.stroke_ns * root
    variance = deviation * deviation * _ROOT_VARIANCE + model.turn_ns * (model.turn_ns / 12.0)
    faster = gain(min(depth, float(model.queue)))
    return mean / faster, variance / (faster * faster)


def transfer_ns(model: DriveModel, size: float, modes: Iterable[SlowMode], place: float = 0.3) -> float:
    """Time on the surface or the bus; `place` is where on the drive, 0 outside, 1 inside."""
    rate = model.outer_bytes_per_s + (model.inner_bytes_per_s - model.outer_bytes_per_s) * place
    for mode in modes:
        if mode.bytes_per_s:
            rate = min(rate, float(mode.bytes_per_s))
    return size * SECOND / rate


class Parts(NamedTuple):
    """Service of one request: what is there anyway, and positioning, which a deep queue shortens.

    Mean and variance of both in ns and ns², then share and length of the worst tail.
    """

    fixed: float
    fixed_variance: float
    place: float
    place_variance: float
    tail_share: float
    tail_ns: float

    def law(self, shorter: float) -> Law:
        """Its law when positioning takes `shorter` of its time."""
        mean = self.fixed + self.place * shorter
        return Law(mean, self.fixed_variance + self.place_variance * shorter * shorter + mean * mean)


def parts_of(model: DriveModel, what: str, size: float, span: float, modes: tuple[SlowMode, ...]) -> Parts:
    """Service of one request.

    Args:
        what: `random`, `sequential`, `write` or `flush`.
    """
    fixed, variance = float(OVERHEAD_NS[model.kind]), 0.0
    if what != "flush":
        fixed += transfer_ns(model, size, modes)
    place, spread = 0.0, 0.0
    if not model.rotates:
        cell = model.flush_ns if what == "flush" else model.write_ns if what == "write" else model.read_ns
        if what == "sequential":  # read ahead from many channels at once: the bus is what counts
            cell = cell // 4
        fixed, variance = fixed + cell, _FLASH_CV2 * cell * float(cell)
    elif what == "flush":
        fixed, variance = fixed + model.flush_ns, model.turn_ns * (model.turn_ns / 6.0)
    elif what == "random":
        place, spread = positioning(model, span)
    elif what == "write":
        cost, variance = positioning(model, span, _WRITE_DEPTH)
        fixed += cost
    own = model.write_factor if what in ("write", "flush") else model.read_factor
    for factor in (own, *(mode.factor for mode in modes)):
        squared = factor * factor
        fixed, variance = fixed * factor, variance * squared
        place, spread = place * factor, spread * squared
    tail_share, tail_ns = 0.0, 0.0
    for mode in modes:
        extras = mode.tails if what in ("write", "flush") else (*mode.tails, (mode.read_share, mode.read_ns))
        for share, extra in extras:
            if share > 0.0:
                fixed, variance = fixed + share * extra, variance + share * (1.0 - share) * extra * float(extra)
                if share >= 0.01 and extra > tail_ns:
                    tail_share, tail_ns = share, float(extra)
    return Parts(fixed, variance, place, spread, tail_share, tail_ns)


def law_of(model: DriveModel, what: str, size: float, span: float, modes: tuple[SlowMode, ...]) -> Law:
    """Law of one request that comes alone."""
    return parts_of(model, what, size, span, modes).law(1.0)


def respond(model: DriveModel, loads: Iterable[Rates], asked: Rates, modes: tuple[SlowMode, ...]) -> Answer:
    """What one owner meets when all these loads (its own among them) are on the drive."""
    rates = list(loads) or [asked]
    mixture = _mixture(model, rates, modes)
    most = min(float(model.queue), float(max(1, sum(load.depth for load in rates))))  # integers
    shorter = 1.0 / gain(_queue_depth(model, mixture, most)) if model.rotates else 1.0
    whole = mixture.law(shorter)
    offered = mixture.rate * whole.mean / SECOND / model.channels
    wait = _waiting(model.channels, mixture.rate, whole, min(offered, _CEILING))
    reading = "random" if asked.random_reads >= asked.sequential_reads else "sequential"
    size = asked.random_size if reading == "random" else asked.sequential_size
    read = parts_of(model, reading, size, asked.span, modes)
    # A write is done when it is in the drive's cache; a hard disk's service law is what laying it down costs.
    laid = parts_of(model, "write", asked.write_size, asked.span, modes)
    cached = laid
    if model.rotates:
        writing = model if model.read_factor == model.write_factor else replace(model, read_factor=model.write_factor)
        cached = parts_of(writing, "sequential", asked.write_size, asked.span, modes)
    flush = parts_of(model, "flush", 0.0, asked.span, modes)
    both = flush._replace(fixed=flush.fixed + laid.fixed, fixed_variance=flush.fixed_variance + laid.fixed_variance)
    answers = [_latency(part.law(shorter), part.tail_share, part.tail_ns, wait) for part in (read, cached, both)]
    busy = min(1.0, offered) if model.channels == 1 else _any_busy(min(1.0, offered) * model.channels)
    own = offered
    if len(rates) > 1:
        mine = _mixture(model, [asked], modes)
        own = mine.rate * mine.law(shorter).mean / SECOND / model.channels
    return Answer(answers[0], answers[1], answers[2], busy, offered, whole.mean, own)


class Mixture(NamedTuple):
    """All requests together: rate, and mean and second moment of their service as polynomials of `shorter`."""

    rate: float
    mean0: float
    mean1: float
    square0: float
    square1: float
    square2: float

    def law(self, shorter: float) -> Law:
        """The law of any of them when positioning takes `shorter` of its time."""
        mean = self.mean0 + self.mean1 * shorter
        return Law(mean, self.square0 + self.square1 * shorter + self.square2 * shorter * shorter)


def _mixture(model: DriveModel, rates: list[Rates], modes: tuple[SlowMode, ...]) -> Mixture:
    total, mean0, mean1, square0, square1, square2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    others = 0.0
    for load in rates:
        others += load.random_reads + load.writes
    for load in rates:
        for what, rate, size in (
            ("random", load.random_reads, load.random_size),
            ("sequential", load.sequential_reads, load.sequential_size),
            ("write", load.writes, load.write_size),
            ("flush", load.fsyncs, 0.0),
        ):
            if rate <= 0.0:
                continue
            part = parts_of(model, what, size, load.span, modes)
            place = part.place
            if what == "sequential" and model.rotates and others > 0.0:
                # Somebody else moved the arm away: the stream has to be found again.
                place = positioning(model, 1.0)[0] * min(1.0, others / rate)
            total += rate
            mean0, mean1 = mean0 + rate * part.fixed, mean1 + rate * place
            square0 += rate * (part.fixed_variance + part.fixed * part.fixed)
            square1 += rate * (2.0 * part.fixed * place)
            square2 += rate * (part.place_variance + place * place)
    if total <= 0.0:
        return Mixture(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    return Mixture(total, mean0 / total, mean1 / total, square0 / total, square1 / total, square2 / total)


def _queue_depth(model: DriveModel, mixture: Mixture, most: float) -> float:
    """How many requests a hard disk has to choose from: as many as are inside when it has so many to choose from.

    The deeper the queue the faster it works, and the fewer are inside, so that there is one such depth; it is
    found by halving.
    """
    if _inside(model, mixture, 1.0) <= 1.0:
        return 1.0
    if _inside(model, mixture, most) >= most:
        return most
    low, high = 1.0, most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if _inside(model, mixture, middle) > middle:
            low = middle
        else:
            high = middle
    return high


def _inside(model: DriveModel, mixture: Mixture, depth: float) -> float:
    """Mean number of requests in the drive when it chooses from so many."""
    whole = mixture.law(1.0 / gain(depth))
    offered = mixture.rate * whole.mean / SECOND
    if offered >= 1.0:
        return float(model.queue)
    return offered + _waiting(1, mixture.rate, whole, min(offered, _CEILING)) * mixture.rate / SECOND


def _waiting(servers: int, rate: float, law: Law, utilisation: float) -> float:
    """Mean wait in ns."""
    if rate <= 0.0 or law.mean <= 0.0:
        return 0.0
    squared = max(0.0, law.square / (law.mean * law.mean) - 1.0)
    if servers == 1:
        return utilisation * law.mean * (1.0 + squared) / (2.0 * (1.0 - utilisation))
    power = arithmetic.power(utilisation, math.sqrt(2.0 * (servers + 1)) - 1.0)
    return (1.0 + squared) / 2.0 * power / (servers * (1.0 - utilisation)) * law.mean


def _any_busy(requests: float) -> float:
    """Share of time in which at least one channel works (what %util shows), for Poisson many."""
    return 1.0 - arithmetic.exp(-requests)


def _latency(law: Law, tail_share: float, tail_ns: float, wait: float) -> Latency:
    mean = law.mean + wait
    variance = max(0.0, law.square - law.mean * law.mean) + wait * wait  # waiting is close to exponential
    cv2 = variance / (mean * mean) if mean > 0.0 else 0.0
    sigma2 = arithmetic.log(1.0 + cv2)
    p99 = mean * arithmetic.exp(_Z99 * math.sqrt(sigma2) - sigma2 / 2.0)
    if tail_share > 0.0:
        p99 = max(p99, tail_ns + mean - tail_share * tail_ns)
    return Latency(round(mean), cv2, round(p99))


def span_of(model: DriveModel, size_bytes: int) -> float:
    """Share of the surface that a file of a size lies on."""
    return min(1.0, max(size_bytes, BLOCK) / model.size_bytes)
