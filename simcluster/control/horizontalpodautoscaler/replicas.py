"""How many replicas a measured usage calls for, as pure functions.

Source: kubernetes pkg/controller/podautoscaler/replica_calculator.go and
metrics/utilization.go, with the defaults of kube-controller-manager 1.32.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from simcluster.api.objects import condition, is_terminating, name_of
from simcluster.api.quantity import parse
from simcluster.control.horizontalpodautoscaler.metricsclient import MetricError, PodMetric
from simcluster.control.pods.status import phase_of
from simcluster.engine import MINUTE, SECOND, parse_rfc3339

#: --horizontal-pod-autoscaler-tolerance.
TOLERANCE = 0.1
#: --horizontal-pod-autoscaler-cpu-initialization-period.
CPU_INITIALIZATION_NS = 5 * MINUTE
#: --horizontal-pod-autoscaler-initial-readiness-delay.
INITIAL_READINESS_NS = 30 * SECOND


class Proposal(NamedTuple):
    """Replicas that one metric proposes, and what it measured.

    Attributes:
        average: thousandths of the resource's unit per pod.
        utilization: percent of the requests; None for a target that is an average value.
    """

    replicas: int
    average: int
    utilization: int | None = None


class Groups(NamedTuple):
    """Pods by what their metrics are worth."""

    ready: int
    unready: list[str]
    missing: list[str]
    ignored: list[str]


def group_pods(
    pods: Sequence[Mapping[str, Any]], metrics: Mapping[str, PodMetric], resource: str, now_ns: int
) -> Groups:
    """Sort pods: deleted or failed ones are ignored, starting ones are unready."""
    groups = Groups(0, [], [], [])
    ready = 0
    for pod in pods:
        name = name_of(pod)
        if is_terminating(pod) or phase_of(pod) == "Failed":
            groups.ignored.append(name)
        elif phase_of(pod) == "Pending":
            groups.unready.append(name)
        elif name not in metrics:
            groups.missing.append(name)
        elif resource == "cpu" and _is_unready(pod, metrics[name], now_ns):
            groups.unready.append(name)
        else:
            ready += 1
    return groups._replace(ready=ready)


def _is_unready(pod: Mapping[str, Any], metric: PodMetric, now_ns: int) -> bool:
    """Whether the pod's CPU usage may still be that of its start."""
    entry, started = condition(pod, "Ready"), (pod.get("status") or {}).get("startTime")
    if entry is None or started is None:
        return True
    started_ns, since_ns = parse_rfc3339(started), parse_rfc3339(entry.get("lastTransitionTime") or started)
    if started_ns + CPU_INITIALIZATION_NS > now_ns:
        return entry.get("status") == "False" or metric.t_ns < since_ns + metric.window_ns
    return entry.get("status") == "False" and started_ns + INITIAL_READINESS_NS > since_ns


def requests_of(pods: Sequence[Mapping[str, Any]], resource: str, container: str = "") -> dict[str, int]:
    """Requests by pod name in thousandths of the unit.

    Raises:
        MetricError: a container states none.
    """
    found = {}
    for pod in pods:
        total = 0
        for entry in _lasting_containers(pod):
            if container and entry["name"] != container:
                continue
            request = ((entry.get("resources") or {}).get("requests") or {}).get(resource)
            if request is None:
                raise MetricError(f"missing request for {resource} in container {entry['name']} of Pod {name_of(pod)}")
            total += parse(request).milli
        found[name_of(pod)] = total
    return found


def _lasting_containers(pod: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Containers and restartable init containers (sidecars)."""
    sidecars = [c for c in pod["spec"].get("initContainers") or () if c.get("restartPolicy") == "Always"]
    return [*pod["spec"]["containers"], *sidecars]


def utilization_ratio(metrics: Mapping[str, int], requests: Mapping[str, int], target: int) -> tuple[float, int, int]:
    """(usage over target, utilization in percent, average value). Raises MetricError."""
    used = requested = count = 0
    for name, value in metrics.items():
        if name in requests:
            used += value
            requested += requests[name]
            count += 1
    if not requested:
        raise MetricError("no metrics returned matched known pods")
    utilization = used * 100 // requested
    return _over(utilization, target), utilization, used // count


def usage_ratio(metrics: Mapping[str, int], target: int) -> tuple[float, int]:
    """(usage over target, average value), the target being a value per pod."""
    average = sum(metrics.values()) // len(metrics)
    return _over(average, target), average


def _over(value: int, target: int) -> float:
    """How often the value exceeds the target; whatever is used exceeds a target of 0 by far."""
    return value / target if target else float(value)


def is_near(ratio: float) -> bool:
    """Whether the ratio is so near to 1 that nothing is done."""
    return abs(1.0 - ratio) <= TOLERANCE


def for_utilization(
    current: int,
    target: int,
    resource: str,
    metrics: Mapping[str, PodMetric],
    pods: Sequence[Mapping[str, Any]],
    now_ns: int,
    container: str = "",
) -> Proposal:
    """Replicas for an average utilization of `target` percent of the requests.

    Args:
        current: `spec.replicas` of the target.

    Raises:
        MetricError: nothing can be said.
    """
    groups, values = _usable(resource, metrics, pods, now_ns)
    requests = requests_of(pods, resource, container)
    ratio, utilization, average = utilization_ratio(values, requests, target)
    stay = Proposal(current, average, utilization)
    if not groups.missing and not (groups.unready and ratio > 1.0):
        if is_near(ratio):
            return stay
        return stay._replace(replicas=math.ceil(ratio * groups.ready))
    fallback = max(100, target)
    filled = _with_guesses(values, groups, ratio, {name: requests[name] * fallback // 100 for name in groups.missing})
    again = utilization_ratio(filled, requests, target)[0]
    return stay._replace(replicas=_corrected(current, ratio, again, len(filled)))


def for_average_value(
    current: int,
    target: int,
    resource: str,
    metrics: Mapping[str, PodMetric],
    pods: Sequence[Mapping[str, Any]],
    now_ns: int,
) -> Proposal:
    """Replicas for an average of `target` thousandths of the unit per pod. Raises MetricError."""
    groups, values = _usable(resource, metrics, pods, now_ns)
    ratio, average = usage_ratio(values, target)
    stay = Proposal(current, average)
    if not groups.missing and not (groups.unready and ratio > 1.0):
        if is_near(ratio):
            return stay
        return stay._replace(replicas=math.ceil(ratio * groups.ready))
    filled = _with_guesses(values, groups, ratio, dict.fromkeys(groups.missing, target))
    again = usage_ratio(filled, target)[0]
    return stay._replace(replicas=_corrected(current, ratio, again, len(filled)))


def _usable(
    resource: str, metrics: Mapping[str, PodMetric], pods: Sequence[Mapping[str, Any]], now_ns: int
) -> tuple[Groups, dict[str, int]]:
    if not pods:
        raise MetricError("no pods returned by selector while calculating replica count")
    groups = group_pods(pods, metrics, resource, now_ns)
    dropped = dict.fromkeys([*groups.ignored, *groups.unready])
    values = {name: metric.value for name, metric in metrics.items() if name not in dropped}
    if not values:
        raise MetricError("did not receive metrics for targeted pods (pods might be unready)")
    return groups, values


def _with_guesses(values: Mapping[str, int], groups: Groups, ratio: float, full: Mapping[str, int]) -> dict[str, int]:
    """Usage with guesses for pods without metrics: full on the way down, nothing on the way up."""
    filled = dict(values)
    if ratio < 1.0:
        filled.update(full)
    elif ratio > 1.0:
        filled.update(dict.fromkeys([*groups.missing, *groups.unready], 0))
    return filled


def _corrected(current: int, before: float, after: float, count: int) -> int:
    """Replicas after the guesses, unless they turn the direction round."""
    if is_near(after) or (before < 1.0 < after) or (after < 1.0 < before):
        return current
    wanted = math.ceil(after * count)
    if (after < 1.0 and wanted > current) or (after > 1.0 and wanted < current):
        return current
    return wanted
