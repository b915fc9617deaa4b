"""How fast and how far an autoscaler may move: stabilization, scaling rules, bounds.

Source: kubernetes pkg/controller/podautoscaler/horizontal.go.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from simcluster.engine import MINUTE, SECOND

#: --horizontal-pod-autoscaler-downscale-stabilization.
DOWNSCALE_STABILIZATION_NS = 5 * MINUTE
#: Without `spec.behavior` a step up at most doubles, or reaches this many.
SCALE_UP_FACTOR = 2
SCALE_UP_MINIMUM = 4

SCALED_DOWN_SLOWLY = "recent recommendations were higher than current one, applying the highest recent recommendation"
SCALED_UP_SLOWLY = "recent recommendations were lower than current one, applying the lowest recent recommendation"
WITHIN_RANGE = ("DesiredWithinRange", "the desired count is within the acceptable range")
TOO_FEW = ("TooFewReplicas", "the desired replica count is less than the minimum replica count")
TOO_MANY = ("TooManyReplicas", "the desired replica count is more than the maximum replica count")
UP_LIMIT = ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate")
DOWN_LIMIT = ("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate")


class Sample(NamedTuple):
    """A recommendation, or a change of the scale, and when it was made."""

    t_ns: int
    replicas: int


class Limited(NamedTuple):
    """A number of replicas after a limit, with reason and message of the limit."""

    replicas: int
    reason: str
    message: str


class Bounds(NamedTuple):
    """`spec.minReplicas` and `spec.maxReplicas`."""

    least: int
    most: int


def _record(samples: Sequence[Sample], cutoff_ns: int, new: Sample) -> list[Sample]:
    """The samples with the new one in the place of the last outdated one, if there is one."""
    old = [index for index, sample in enumerate(samples) if sample.t_ns < cutoff_ns]
    if not old:
        return [*samples, new]
    return [*samples[: old[-1]], new, *samples[old[-1] + 1 :]]


def stabilize(samples: Sequence[Sample], wanted: int, now_ns: int) -> tuple[int, list[Sample]]:
    """The highest recommendation of the last five minutes, and the samples to keep."""
    cutoff = now_ns - DOWNSCALE_STABILIZATION_NS
    highest = max([wanted, *(sample.replicas for sample in samples if sample.t_ns >= cutoff)])
    return highest, _record(samples, cutoff, Sample(now_ns, wanted))


def within_default_rules(current: int, wanted: int, bounds: Bounds) -> Limited:
    """The bounds, and the largest step up without `spec.behavior`."""
    fastest = max(SCALE_UP_FACTOR * current, SCALE_UP_MINIMUM)
    most, why = (fastest, UP_LIMIT) if bounds.most > fastest else (bounds.most, TOO_MANY)
    if wanted < bounds.least:
        return Limited(bounds.least, *TOO_FEW)
    return Limited(most, *why) if wanted > most else Limited(wanted, *WITHIN_RANGE)


# With spec.behavior.


def window_ns(behavior: Mapping[str, Any], direction: str) -> int:
    """`stabilizationWindowSeconds` of `scaleUp` or `scaleDown`, in nanoseconds."""
    seconds = (behavior.get(direction) or {}).get("stabilizationWindowSeconds")
    if seconds is not None:
        return int(seconds) * SECOND
    return DOWNSCALE_STABILIZATION_NS if direction == "scaleDown" else 0


def stabilize_with_behavior(
    behavior: Mapping[str, Any], samples: Sequence[Sample], current: int, wanted: int, now_ns: int
) -> tuple[Limited, list[Sample]]:
    """The recommendation within what was recommended in the two windows; the samples to keep."""
    up_cutoff = now_ns - window_ns(behavior, "scaleUp")
    down_cutoff = now_ns - window_ns(behavior, "scaleDown")
    lowest = min([wanted, *(sample.replicas for sample in samples if sample.t_ns > up_cutoff)])
    highest = max([wanted, *(sample.replicas for sample in samples if sample.t_ns > down_cutoff)])
    stable = min(max(current, lowest), highest)
    kept = _record(samples, min(up_cutoff, down_cutoff), Sample(now_ns, wanted))
    if wanted >= current:
        return Limited(stable, "ScaleUpStabilized", SCALED_UP_SLOWLY), kept
    return Limited(stable, "ScaleDownStabilized", SCALED_DOWN_SLOWLY), kept


def within_behavior(
    behavior: Mapping[str, Any],
    current: int,
    wanted: int,
    bounds: Bounds,
    ups: Sequence[Sample],
    downs: Sequence[Sample],
    now_ns: int,
) -> Limited:
    """The bounds and the policies of `spec.behavior`.

    Args:
        ups, downs: past changes of the scale, as positive counts.
    """
    if wanted > current:
        fastest = max(current, _limit_up(behavior.get("scaleUp") or {}, current, ups, downs, now_ns))
        most, why = (fastest, UP_LIMIT) if bounds.most > fastest else (bounds.most, TOO_MANY)
        if wanted > most:
            return Limited(most, *why)
    elif wanted < current:
        slowest = min(current, _limit_down(behavior.get("scaleDown") or {}, current, ups, downs, now_ns))
        least, why = (slowest, DOWN_LIMIT) if bounds.least < slowest else (bounds.least, TOO_FEW)
        if wanted < least:
            return Limited(least, *why)
    return Limited(wanted, *WITHIN_RANGE)


def _limit_up(
    rules: Mapping[str, Any], current: int, ups: Sequence[Sample], downs: Sequence[Sample], now_ns: int
) -> int:
    if rules.get("selectPolicy", "Max") == "Disabled":
        return current
    proposals = []
    for policy in rules.get("policies") or ():
        start = _at_period_start(policy, current, ups, downs, now_ns)
        if policy.get("type") == "Pods":
            proposals.append(start + int(policy["value"]))
        else:
            proposals.append(math.ceil(start * (1 + policy["value"] / 100)))
    return min(proposals) if rules.get("selectPolicy") == "Min" else max(proposals)


def _limit_down(
    rules: Mapping[str, Any], current: int, ups: Sequence[Sample], downs: Sequence[Sample], now_ns: int
) -> int:
    if rules.get("selectPolicy", "Max") == "Disabled":
        return current
    proposals = []
    for policy in rules.get("policies") or ():
        start = _at_period_start(policy, current, ups, downs, now_ns)
        if policy.get("type") == "Pods":
            proposals.append(start - int(policy["value"]))
        else:
            proposals.append(int(start * (1 - policy["value"] / 100)))
    return max(proposals) if rules.get("selectPolicy") == "Min" else min(proposals)


def _at_period_start(
    policy: Mapping[str, Any], current: int, ups: Sequence[Sample], downs: Sequence[Sample], now_ns: int
) -> int:
    cutoff = now_ns - int(policy["periodSeconds"]) * SECOND
    added = sum(sample.replicas for sample in ups if sample.t_ns > cutoff)
    return current - added + sum(sample.replicas for sample in downs if sample.t_ns > cutoff)


def longest_period_ns(rules: Mapping[str, Any]) -> int:
    """The longest `periodSeconds` of the rules: older changes are forgotten."""
    return max((int(policy["periodSeconds"]) for policy in rules.get("policies") or ()), default=0) * SECOND


def record_change(samples: Sequence[Sample], rules: Mapping[str, Any], count: int, now_ns: int) -> list[Sample]:
    """Past changes with a new one."""
    return _record(samples, now_ns - longest_period_ns(rules), Sample(now_ns, count))
