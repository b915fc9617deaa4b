"""How latent sector errors come: first errors over months, then clusters in space and time.

The same law makes single drives ill (`SectorMap.burst`) and whole populations (validation). Sources:
Bairavasundaram et al. (SIGMETRICS'07): 3.15 % / 1.46 % of nearline / enterprise drives within 12 months and
8.5 % / 1.9 % within 32; another error within 10 MB with probability 0.5; a further one within a month 54.8 % / 62 %,
50 more 5 % / 10 %; 40-80 % of errors within a minute of the one before; a scrub at most every two weeks finds
86.6 % / 61.5 %. Schroeder, Damouras, Gill (FAST'10): lengths and gaps of bursts are Pareto, nearly all errors of a
drive fall in two weeks.
Left out: correlation with the age and the make of single drives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import Shared, Stream, arithmetic

Array = NDArray[np.float64]

DAY_S = 86_400.0
#: Time between errors of a burst: Pareto from 8 s to a day; 64 % fall below a minute.
_GAP_S, _GAP_SHAPE, _GAP_MOST_S = 8.0, 0.5, DAY_S
#: Distance between neighbours of a burst: Pareto from one physical sector; 95 % fall below 10 MB.
_STEP_BYTES, _STEP_SHAPE = 4096.0, 0.384
#: A second burst: Pareto from an hour to two weeks.
_AGAIN_S, _AGAIN_SHAPE, _AGAIN_MOST_S = 3600.0, 0.6, 14.0 * DAY_S
#: Longest burst.
MOST_ERRORS = 4000


@dataclass(frozen=True)
class LatentErrorLaw(Shared):
    """The law of one class of drives.

    Attributes:
        early, late: hazard of the first error, per month, in the first year and afterwards.
        more: chance that a burst has more than one error.
        shape: Pareto shape of the number of errors of such a burst.
        again: chance of a second burst in the two weeks after.
        read_days: mean time between two reads of a sector by its users, days.
    """

    name: str
    early: float
    late: float
    more: float
    shape: float
    again: float
    read_days: float


NEARLINE = LatentErrorLaw("nearline", 0.002667, 0.002840, 0.526, 0.739, 0.0464, 47.5)
ENTERPRISE = LatentErrorLaw("enterprise", 0.001226, 0.000223, 0.526, 0.563, 0.198, 12.7)


def first_error_month(law: LatentErrorLaw, u: Array) -> Array:
    """Age at the first error, months, from uniform draws."""
    hazard = -arithmetic.log_array(u)
    early = hazard / law.early
    return np.where(early < 12.0, early, 12.0 + (hazard - 12.0 * law.early) / law.late)


def burst_errors(law: LatentErrorLaw, u: Array, v: Array) -> NDArray[np.int64]:
    """How many errors a burst has, from two uniform draws each."""
    many = np.floor(2.0 * arithmetic.exp_array(-arithmetic.log_array(v) / law.shape))
    return np.where(u < law.more, np.minimum(many, MOST_ERRORS), 1.0).astype(np.int64)


def gap_seconds(u: Array) -> Array:
    """Time between two errors of a burst, seconds."""
    return _pareto(u, _GAP_S, _GAP_SHAPE, _GAP_MOST_S)


def step_bytes(u: Array) -> Array:
    """Distance between two neighbouring errors of a burst, bytes."""
    return _pareto(u, _STEP_BYTES, _STEP_SHAPE, 1e12)


def again_seconds(u: Array) -> Array:
    """Time until a second burst, seconds."""
    return _pareto(u, _AGAIN_S, _AGAIN_SHAPE, _AGAIN_MOST_S)


def drawn_burst(law: LatentErrorLaw, stream: Stream) -> int:
    """How many errors the burst of one drive has."""
    u, v = np.array([stream.uniform()]), np.array([stream.uniform()])
    return int(burst_errors(law, u, v)[0])


def _pareto(u: Array, low: float, shape: float, high: float) -> Array:
    """Pareto between two bounds, by inversion."""
    kept = 1.0 - arithmetic.power(low / high, shape)
    return low * arithmetic.exp_array(-arithmetic.log_array(1.0 - u * kept) / shape)
