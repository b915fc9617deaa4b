from __future__ import annotations

from typing import Any

import pytest

from simcluster.control.horizontalpodautoscaler import limits
from simcluster.control.horizontalpodautoscaler.limits import Bounds, Sample
from simcluster.control.horizontalpodautoscaler.metricsclient import MetricError, PodMetric
from simcluster.control.horizontalpodautoscaler.replicas import for_average_value, for_utilization
from simcluster.engine import MINUTE, SECOND, format_rfc3339

NOW = 60 * MINUTE


def pod(name: str, *, request: str = "100m", ready: bool = True, age_s: int = 1200, phase: str = "Running") -> Any:
    since = format_rfc3339(NOW - age_s * SECOND)
    resources = {"requests": {"cpu": request}} if request else {}
    status = {
        "phase": phase,
        "startTime": since,
        "conditions": [{"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": since}],
    }
    spec = {"containers": [{"name": "c", "resources": resources}]}
    return {"metadata": {"name": name}, "spec": spec, "status": status}


def usage(**values: int) -> dict[str, PodMetric]:
    return {name: PodMetric(NOW, 15 * SECOND, value) for name, value in values.items()}


def utilization(pods: list[Any], metrics: dict[str, PodMetric], target: int = 50, current: int = 0) -> int:
    return for_utilization(current or len(pods), target, "cpu", metrics, pods, NOW).replicas


PAIR = [pod("a"), pod("b")]


@pytest.mark.parametrize(
    ("values", "expected"),
    [((50, 50), 2), ((54, 54), 2), ((56, 56), 3), ((100, 100), 4), ((46, 44), 2), ((44, 44), 2), ((20, 20), 1)],
)
def test_usage_over_target_rounded_up_within_a_tolerance(values: tuple[int, int], expected: int) -> None:
    assert utilization(PAIR, usage(a=values[0], b=values[1])) == expected


def test_missing_pods_dampen_both_directions() -> None:
    pods = [pod("a"), pod("b"), pod("c")]
    # Up: the missing pod counts as idle, 160 / 300 = 53 % is within the tolerance.
    assert utilization(pods, usage(a=80, b=80)) == 3
    # Down: it counts as using all of its request, 120 / 300 = 40 %.
    assert utilization(pods, usage(a=10, b=10)) == 3
    assert utilization(pods, usage(a=10, b=10), target=80) == 2


def test_starting_pods_count_as_idle_on_the_way_up() -> None:
    pods = [pod("a"), pod("b", ready=False, age_s=20)]
    assert utilization(pods, usage(a=200, b=100)) == 4
    assert utilization([pod("a"), pod("b")], usage(a=200, b=100)) == 6


def test_a_pod_that_was_never_ready_is_left_out() -> None:
    pods = [pod("a"), pod("b", ready=False, age_s=1200)]
    assert utilization(pods, usage(a=50, b=500)) == 2


def test_what_cannot_be_computed() -> None:
    with pytest.raises(MetricError, match="missing request for cpu in container c of Pod b"):
        utilization([pod("a"), pod("b", request="")], usage(a=1, b=1))
    with pytest.raises(MetricError, match="did not receive metrics for targeted pods"):
        utilization([pod("a", ready=False, age_s=5)], usage(a=1))
    with pytest.raises(MetricError, match="no pods returned by selector"):
        utilization([], usage(a=1), current=1)


def test_an_average_value_is_a_target_per_pod() -> None:
    proposal = for_average_value(2, 100, "cpu", usage(a=150, b=250), PAIR, NOW)
    assert (proposal.replicas, proposal.average, proposal.utilization) == (4, 200, None)


def test_recommendations_of_five_minutes_hold_the_size_up() -> None:
    samples = [Sample(NOW - 6 * MINUTE, 9), Sample(NOW - 4 * MINUTE, 5)]
    wanted, kept = limits.stabilize(samples, 2, NOW)
    assert wanted == 5
    assert kept == [Sample(NOW, 2), samples[1]]


def test_a_step_up_doubles_or_reaches_four() -> None:
    bounds = Bounds(1, 100)
    assert limits.within_default_rules(1, 50, bounds)[:2] == (4, "ScaleUpLimit")
    assert limits.within_default_rules(10, 50, bounds)[:2] == (20, "ScaleUpLimit")
    assert limits.within_default_rules(10, 50, Bounds(1, 12))[:2] == (12, "TooManyReplicas")
    assert limits.within_default_rules(10, 1, Bounds(3, 12))[:2] == (3, "TooFewReplicas")
    assert limits.within_default_rules(10, 7, bounds)[:2] == (7, "DesiredWithinRange")


def rules(select: str = "Max", **policies: tuple[int, int]) -> Any:
    listed = [{"type": kind, "value": value, "periodSeconds": period} for kind, (value, period) in policies.items()]
    return {"selectPolicy": select, "policies": listed}


def test_behavior_limits_by_policies_and_past_changes() -> None:
    bounds, past = Bounds(1, 100), [Sample(NOW - 30 * SECOND, 2)]
    up = {"scaleUp": rules(Pods=(4, 60), Percent=(100, 60))}
    assert limits.within_behavior(up, 10, 50, bounds, [], [], NOW)[:2] == (20, "ScaleUpLimit")
    assert limits.within_behavior(up, 10, 50, bounds, past, [], NOW)[:2] == (16, "ScaleUpLimit")
    up["scaleUp"]["selectPolicy"] = "Min"
    assert limits.within_behavior(up, 10, 50, bounds, past, [], NOW)[:2] == (12, "ScaleUpLimit")
    down = {"scaleDown": rules(Pods=(1, 60))}
    assert limits.within_behavior(down, 10, 2, bounds, [], [], NOW)[:2] == (9, "ScaleDownLimit")
    assert limits.within_behavior(down, 10, 2, bounds, [], past, NOW)[:2] == (10, "ScaleDownLimit")
    assert limits.within_behavior({"scaleDown": {"selectPolicy": "Disabled"}}, 10, 2, bounds, [], [], NOW)[0] == 10


def test_behavior_windows_look_back_in_both_directions() -> None:
    behavior = {"scaleUp": {"stabilizationWindowSeconds": 60}, "scaleDown": {"stabilizationWindowSeconds": 120}}
    samples = [Sample(NOW - 50 * SECOND, 4), Sample(NOW - 100 * SECOND, 7)]
    slowed, _ = limits.stabilize_with_behavior(behavior, samples, 4, 9, NOW)
    assert (slowed.replicas, slowed.reason) == (4, "ScaleUpStabilized")
    slowed, _ = limits.stabilize_with_behavior(behavior, samples, 8, 2, NOW)
    assert (slowed.replicas, slowed.reason) == (7, "ScaleDownStabilized")
