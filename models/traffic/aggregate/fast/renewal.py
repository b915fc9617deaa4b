"""Compiled twin of `RunState.refresh` while speeds and routes stand still: times, laws and noises for the loads of now.

Sums go as NumPy's `add.reduceat` goes: the first number, and to it the sum of the others.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from simcluster.models.traffic.aggregate.stationary import CROWD, FULL, POINTS, RHO_MAX, STEP

together = numba.njit(cache=True, fastmath=False, error_model="numpy", nogil=True)
#: Numbers that NumPy adds one after the other, and up to how many it keeps eight sums.
ONE_BY_ONE, MOST_ADDED = 8, 128


@together
def _summed(values, start, stop):  # type: ignore[no-untyped-def]
    """`np.add.reduceat` of up to `MOST_ADDED` numbers."""
    if stop - start == 1:
        return values[start]
    count, at = stop - start - 1, start + 1
    if count < ONE_BY_ONE:
        rest = values[at]
        for i in range(at + 1, stop):
            rest = rest + values[i]
        return values[start] + rest
    eight = values[at : at + 8].copy()
    i = 8
    while i < count - count % 8:
        for k in range(8):
            eight[k] += values[at + i + k]
        i += 8
    rest = ((eight[0] + eight[1]) + (eight[2] + eight[3])) + ((eight[4] + eight[5]) + (eight[6] + eight[7]))
    for k in range(i, count):
        rest = rest + values[at + k]
    return values[start] + rest


@together
def _durations(quality, latency, period, tries, duration):  # type: ignore[no-untyped-def]
    """`Outcomes._durations` of edges with time-outs."""
    edges, most = len(quality), 0
    fail, power = np.empty(edges), np.empty(edges)
    for edge in range(edges):
        fail[edge] = power[edge] = 1.0 - min(max(quality[edge], 0.0), 1.0)
        duration[edge] = 1.0
        most = max(most, tries[edge])
    for number in range(1, most):
        some = False
        for edge in range(edges):
            some |= number < tries[edge] and power[edge] > 1e-9
        if not some:
            break
        for edge in range(edges):
            duration[edge] = duration[edge] + (power[edge] if number < tries[edge] else 0.0)
            power[edge] = power[edge] * fail[edge]
    for edge in range(edges):
        well = min(max(quality[edge], 0.0), 1.0)
        duration[edge] = duration[edge] * (well * latency[edge] + fail[edge] * period[edge])


@together
def _calls(per_visit, duration, tree, below, delay):  # type: ignore[no-untyped-def]
    """The sums of times in `Outcomes.times`: calls in arms, arms in units, units in nodes."""
    sum_edges, arm_starts, unit_starts, node_starts, sum_nodes, unit_of = tree
    calls, arms, units, nodes = len(sum_edges), len(arm_starts), len(unit_starts), len(node_starts)
    each, of_arm, of_unit = np.empty(calls), np.empty(arms), np.empty(units)
    before, earlier = np.empty(calls), np.empty(units)
    for i in range(calls):
        each[i] = per_visit[sum_edges[i]] * duration[sum_edges[i]]
    total = 0.0
    for arm in range(arms):
        stop = arm_starts[arm + 1] if arm + 1 < arms else calls
        of_arm[arm] = _summed(each, arm_starts[arm], stop)
        first = 0.0
        for i in range(arm_starts[arm], stop):
            total = each[i] if i == 0 else total + each[i]
            so_far = total - each[i]
            first = so_far if i == arm_starts[arm] else first
            before[i] = max(so_far - first, 0.0)
    for unit in range(units):
        stop = unit_starts[unit + 1] if unit + 1 < units else arms
        of_unit[unit] = of_arm[unit_starts[unit]]
        for arm in range(unit_starts[unit] + 1, stop):
            of_unit[unit] = max(of_unit[unit], of_arm[arm])
    for node in range(nodes):
        stop = node_starts[node + 1] if node + 1 < nodes else units
        below[sum_nodes[node]] = _summed(of_unit, node_starts[node], stop)
        first = 0.0
        for unit in range(node_starts[node], stop):
            total = of_unit[unit] if unit == 0 else total + of_unit[unit]
            so_far = total - of_unit[unit]
            first = so_far if unit == node_starts[node] else first
            earlier[unit] = max(so_far - first, 0.0)
    for i in range(calls):
        since = earlier[unit_of[i]] + before[i]
        delay[sum_edges[i]] = since if since > 0.5 else 0.0


@together
def times(waits, quality, flow, lane, edges, tree, others, found):  # type: ignore[no-untyped-def]
    """`Outcomes.times` and what `RunState.refresh` makes of them."""
    lane_own, share, lane_edge, lane_pod, lane_node = lane
    network, timeout, period, tries, per_visit, child = edges
    other_of, other, weight = others
    latency, duration, below, delay, other_time, below_now, stay_of_pod = found
    latency[:] = 0.0
    for i in range(len(lane_own)):
        stay = min(waits[lane_pod[i]], 1e7) + lane_own[i] + below[lane_node[i]]
        latency[lane_edge[i]] += stay * share[i]
    for edge in range(len(latency)):
        latency[edge] = min(latency[edge] + 2.0 * network[edge], timeout[edge])
    _durations(quality, latency, period, tries, duration)
    if len(tree[0]):
        _calls(per_visit, duration, tree, below, delay)
        if len(other):
            other_time[:] = 0.0
            for i in range(len(other)):
                edge = other[i]
                once = latency[edge] + (1.0 - min(quality[edge], 1.0)) * period[edge]
                other_time[other_of[i]] += weight[i] * min(duration[edge], once)
    for edge in range(len(latency)):
        below_now[edge] = below[child[edge]] + 2.0 * network[edge]
    total = np.zeros(len(stay_of_pod))
    stay_of_pod[:] = 0.0
    for i in range(len(lane_own)):
        part = share[i] * max(flow[lane_edge[i]], 1e-12)
        stay_of_pod[lane_pod[i]] += (lane_own[i] + below[lane_node[i]]) * part
        total[lane_pod[i]] += part
    for pod in range(len(total)):
        stay_of_pod[pod] = stay_of_pod[pod] / max(total[pod], 1e-300)


@together
def laws(rate, sums, weight, tables, kind, servers, crowd, found):  # type: ignore[no-untyped-def]
    """`Queues.refresh`, with `stationary.at_utilisation`, at speeds that have not changed."""
    offered, shift, noise, usual, deviation, variance2, places = found
    come, most, ahead, near = crowd
    for pod in range(len(rate)):
        offered[pod] = sums[pod] / max(weight[pod], 1e-300)
        rho = min(offered[pod] / max(rate[pod], 1e-12), RHO_MAX)
        at = max(rho / RHO_MAX * (POINTS - 0.75) - 0.25, 0.0)
        low = min(int(at), POINTS - 2)
        table, part = tables[kind[pod]], at - low
        shift[pod] = table[low, 0] + part * (table[low + 1, 0] - table[low, 0])
        noise[pod] = table[low, 1] + part * (table[low + 1, 1] - table[low, 1])
        usual[pod] = (table[low, 2] + part * (table[low + 1, 2] - table[low, 2])) / 12.0
        own = noise[pod] * min(rate[pod], 1e6)
        deviation[pod] = math.sqrt(own)
        arrive = offered[pod]
        if most[pod] > 0.0:
            beyond = come[pod] / max(rate[pod], 1e-12) - 1.0
            crowded = most[pod] * beyond
            near[pod] = most[pod] - FULL / max(beyond, 1e-12) if beyond > 0.0 else 0.0
            ahead[pod] = 0.5 * (1.0 + crowded / math.sqrt(crowded * crowded + STEP)) if crowded > -CROWD else 0.0
            arrive = come[pod] if come[pod] > rate[pod] else arrive
        variance2[pod] = 2.0 * (own + arrive)
        places[pod] = servers[pod] if servers[pod] <= 1.0 else shift[pod]
