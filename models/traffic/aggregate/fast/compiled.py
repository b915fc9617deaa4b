"""Compiled twins of the loops of a tick: judging attempts, queues, and when who began.

Every function does, number by number, what the NumPy code named in its docstring does, in the same order:
no fast-math, no fused operations, sums from the first to the last. A test compares the bits.
"""

from __future__ import annotations

import math

import numpy as np

from simcluster.models.traffic.aggregate.fast.signatures import FLAGS as _FLAGS
from simcluster.models.traffic.aggregate.fast.signatures import FLOATS as _FLOATS
from simcluster.models.traffic.aggregate.fast.signatures import INDEX as _INDEX
from simcluster.models.traffic.aggregate.fast.signatures import NEVER
from simcluster.models.traffic.aggregate.fast.signatures import PLACES as _PLACES
from simcluster.models.traffic.aggregate.fast.signatures import RING as _RING
from simcluster.models.traffic.aggregate.fast.signatures import TABLE as _TABLE
from simcluster.models.traffic.aggregate.fast.signatures import compiled as _compiled
from simcluster.models.traffic.aggregate.fast.splits import fallen as _fallen
from simcluster.models.traffic.aggregate.fast.walks import _finished, _unit, past_waits, renewed, visit
from simcluster.models.traffic.aggregate.losses import CHANGED, COUNTED, FORGOTTEN, POINTS

__all__ = (
    "attempts",
    "break_off",
    "end",
    "forward",
    "judge",
    "own_success",
    "passed_on",
    "past_waits",
    "renewed",
    "visit",
)

_GRID = 1024
_ATTEMPTS = 12


@_compiled(f"float64({_TABLE}, {_INDEX}, {_INDEX}, {_FLOATS}, int64, float64)")
def _profile_at(profile, ages, age_index, age_gap, edge, age):  # type: ignore[no-untyped-def]
    """`Outcomes._look`."""
    if age < 0.0:
        return 0.0
    last = len(ages) - 1
    at = min(age, float(ages[last]))
    index = age_index[int(at)]
    low = profile[edge, index]
    high = profile[edge, min(index + 1, last)]
    part = (at - ages[index]) / age_gap[min(index, len(age_gap) - 1)]
    return low + min(part, 1.0) * (high - low)


@_compiled(f"void({_INDEX}, {_INDEX}, {_INDEX}, {_INDEX}, {_FLOATS}, {_FLAGS}, {_TABLE}, {_FLOATS}, {_TABLE})")
def _together(lanes, place, edges, columns, weight, there, mine, quality, profile):  # type: ignore[no-untyped-def]
    """The end of `Outcomes.update` for a height: what lanes into different pods come to, by edge."""
    both = np.zeros((len(edges), mine.shape[1]))
    for i in range(len(lanes)):
        for c in range(columns[edges[place[i]]]):
            both[place[i], c] += mine[i, c] * weight[lanes[i]]
    for i in range(len(edges)):
        if there[edges[i]]:
            quality[edges[i]] = both[i, 0]
        for c in range(1, columns[edges[i]]):
            profile[edges[i], c - 1] = both[i, c]


@_compiled(
    f"void({_INDEX}, {_INDEX}, {_INDEX}, {_INDEX}, {_INDEX}, {_INDEX}, {_INDEX}, {_INDEX}, {_INDEX}, {_INDEX},"
    f"{_TABLE}, {_TABLE}, {_INDEX}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_INDEX}, {_INDEX}, {_FLOATS},"
    f"{_FLOATS}, {_FLOATS}, {_FLAGS}, {_INDEX}, {_INDEX}, {_FLOATS}, {_FLOATS}, {_TABLE}, int64, {_TABLE}, {_FLOATS},"
    f"{_FLAGS})"
)
def judge_height(  # type: ignore[no-untyped-def]
    lanes, place, edges, row, called, branch_starts, branch_first, group_starts, node_starts, with_calls,
    own, left, columns, lane_own, others, limit, period, attempts, times, inner, branch_share,
    weight, there, ages, age_index, age_gap, quality, profile, tick, past, ended, required,
):  # fmt: skip
    """`Outcomes._judge_height`, with `_calls` and `call_success`; of every edge so many columns as are asked for."""
    mine = np.empty((len(lanes), left.shape[1]))
    for i in range(len(lanes)):
        for c in range(columns[edges[place[i]]]):
            mine[i, c] = own[lanes[i], c]
    calls, slots = len(called), len(past)
    now = tick % slots
    fine = np.empty((calls, left.shape[1]))
    for r in range(calls):
        lane, edge = lanes[row[r]], called[r]
        base = lane_own[lane] + others[edge]
        most, wait, good, tries = limit[edge], max(period[edge], 1e-9), ended[edge], attempts[edge]
        for c in range(columns[edges[place[row[r]]]]):
            x = left[lane, c] - base
            if x < 0.0:
                ok = 0.0
            elif x <= most:
                ok = min(_profile_at(profile, ages, age_index, age_gap, edge, x) / good, 1.0)
            else:
                power, rest = 1.0, x
                for number in range(_ATTEMPTS):
                    if number >= tries or rest <= most:
                        break
                    judged = int(max(math.floor(tick - (rest - most)), tick + 1.0 - slots))
                    slot = now - (tick - judged)
                    power = power * (1.0 - past[slot + slots if slot < 0 else slot, edge])
                    last = number + 1 >= tries
                    rest = -1.0 if last else rest - wait
                    if last and not required[edge]:
                        power = 0.0
                flying = min(_profile_at(profile, ages, age_index, age_gap, edge, min(rest, most)) / good, 1.0)
                ok = 1.0 - power * (1.0 - flying)
            count = times[edge]
            if count > 1:
                whole = 1.0
                while count > 0:
                    if count & 1:
                        whole = whole * ok
                    ok, count = ok * ok, count >> 1
                ok = whole
            fine[r, c] = 1.0 - inner[edge] * (1.0 - ok)
    branches, groups = len(branch_starts), len(group_starts)
    for node in range(len(node_starts)):
        first_group = node_starts[node]
        end_group = node_starts[node + 1] if node + 1 < len(node_starts) else groups
        for c in range(columns[edges[place[with_calls[node]]]]):
            result = 1.0
            for group in range(first_group, end_group):
                end_branch = group_starts[group + 1] if group + 1 < groups else branches
                lost = 0.0
                for branch in range(group_starts[group], end_branch):
                    end = branch_starts[branch + 1] if branch + 1 < branches else calls
                    product = fine[branch_starts[branch], c]
                    for r in range(branch_starts[branch] + 1, end):
                        product = product * fine[r, c]
                    lost = lost + branch_share[branch_first[branch]] * (1.0 - product)
                kept = max(1.0 - lost, 0.0)
                result = kept if group == first_group else result * kept
            mine[with_calls[node], c] = mine[with_calls[node], c] * result
    _together(lanes, place, edges, columns, weight, there, mine, quality, profile)


@_compiled(
    f"void({_PLACES}, {_INDEX}, {_INDEX}, {_INDEX}, {_INDEX}, {_INDEX}, {_INDEX}, {_INDEX}, {_INDEX}, {_INDEX},"
    f"{_INDEX}, {_TABLE}, {_TABLE}, {_INDEX}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_INDEX}, {_INDEX},"
    f"{_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLAGS}, {_INDEX}, {_INDEX}, {_FLOATS}, {_FLOATS}, {_TABLE}, int64, {_TABLE},"
    f"{_FLOATS}, {_FLAGS})"
)
def judge(  # type: ignore[no-untyped-def]
    at, lanes, place, edges, row, called, branch_starts, branch_first, group_starts, node_starts,
    with_calls, own, left, columns, lane_own, others, limit, period, attempts, times,
    inner, branch_share, weight, there, ages, age_index, age_gap, quality, profile,
    tick, past, ended, required,
):  # fmt: skip
    """All heights of `Outcomes.update`; `at` says where each of them begins in every index array."""
    for h in range(len(at) - 1):
        judge_height(
            lanes[at[h, 0] : at[h + 1, 0]], place[at[h, 1] : at[h + 1, 1]], edges[at[h, 2] : at[h + 1, 2]],
            row[at[h, 3] : at[h + 1, 3]], called[at[h, 4] : at[h + 1, 4]], branch_starts[at[h, 5] : at[h + 1, 5]],
            branch_first[at[h, 6] : at[h + 1, 6]], group_starts[at[h, 7] : at[h + 1, 7]],
            node_starts[at[h, 8] : at[h + 1, 8]], with_calls[at[h, 9] : at[h + 1, 9]], own, left, columns, lane_own,
            others, limit, period, attempts, times, inner, branch_share, weight, there, ages, age_index, age_gap,
            quality, profile, tick, past, ended, required,
        )  # fmt: skip


@_compiled(
    f"int64({_INDEX}, {_INDEX}, {_INDEX}, {_INDEX}, {_INDEX}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_TABLE},"
    f"{_FLOATS}, {_FLOATS}, {_INDEX}, {_FLOATS}, float64, {_INDEX}, {_FLOATS}, {_FLOATS})"
)
def passed_on(  # type: ignore[no-untyped-def]
    below, above, child, lane_edge, lane_pod, flow, wait, share, node_own, final, backoff, timeout, limit,
    latency, least, edges, ages, amounts,
):  # fmt: skip
    """`Errors._passed_on`; how many there are."""
    total, base, count = np.zeros(len(node_own)), np.zeros(len(flow)), 0
    for edge in range(len(flow)):
        total[child[edge]] += flow[edge]
    for lane in range(len(lane_edge)):
        base[lane_edge[lane]] += min(wait[lane_pod[lane]], 1e7) * share[lane]
    for kind in range(4):
        for i in range(len(below)):
            call, edge = below[i], above[i]
            if final[kind, call] <= 0.0:
                continue
            amount = final[kind, call] * (flow[edge] / max(total[child[edge]], 1e-300))
            if amount > least:
                spent = backoff[call]
                if kind == 0:
                    spent = spent + timeout[call] * limit[call]
                elif kind == 2:
                    spent = spent + latency[call]
                edges[count], amounts[count] = edge, amount
                ages[count] = base[edge] + node_own[child[edge]] + spent
                count += 1
    return count


@_compiled(f"void(int64, {_INDEX}, {_FLOATS}, {_FLOATS}, {_FLAGS}, {_INDEX}, {_FLOATS}, {_RING}, {_TABLE}, {_TABLE})")
def break_off(  # type: ignore[no-untyped-def]
    tick, edges, ages, amounts, timed, timeout_ticks, broken, flying, open_, mix
):
    """`Callers.break_off`."""
    slots, tries = flying.shape[0], flying.shape[1]
    for i in range(len(edges)):
        edge = edges[i]
        if timed[edge] and ages[i] >= timeout_ticks[edge]:
            continue
        broken[edge] = 1.0
        last = max(1, timeout_ticks[edge] - 1) if timed[edge] else 1
        nearest, amount = min(max(1, int(ages[i])), last), amounts[i]
        for step in range(2 * last):
            age = nearest + (step + 1) // 2 if step % 2 else nearest - step // 2
            if age < 1 or age > last:
                continue
            column = flying[(tick - age) % slots] if timed[edge] else open_
            there = column[0, edge]
            for number in range(1, tries):
                there = there + column[number, edge]
            if there > 0.0:
                part = min(1.0, amount / there)
                for number in range(tries):
                    mix[number, edge] += column[number, edge] * part
                    column[number, edge] = column[number, edge] * (1.0 - part)
                amount = amount - there
            if amount <= 0.0:
                break


@_compiled("float64(float64, float64, uint64)")
def _whole(left, part, z):  # type: ignore[no-untyped-def]
    """`Callers._whole` of an edge; `z`: key and counter of its draw."""
    good = left * part
    if left != math.floor(left) or good <= 0.0 or good >= left:
        return part
    rounded = float(math.floor(good + _unit(_finished(z))))
    return min(rounded / max(left, 1e-300), 1.0)


@_compiled(
    f"UniTuple(float64, 2)({_FLOATS}, int64, int64, {_TABLE}, {_TABLE}, {_TABLE}, {_FLOATS}, {_FLOATS}, {_FLOATS})"
)
def _concluded(here, kind, e, may, on, direct, instant, passed, again):  # type: ignore[no-untyped-def]
    """Failures of an edge, and those that are made again: later or in this tick (`again`), or elsewhere."""
    all_, more = 0.0, 0.0
    for number in range(len(here)):
        all_ = here[number] if number == 0 else all_ + here[number]
        again[number] = here[number] * (may[number, e] * on[kind, e])
        come = again[number]
        if kind == 1:
            again[number] = again[number] * (1.0 - direct[number, e] * instant[e])
            come = again[number] + passed[number]
        more = come if number == 0 else more + come
    return all_, more


@_compiled(
    f"void(int64, uint64, boolean, boolean, boolean, {_INDEX}, {_RING}, {_TABLE}, {_FLOATS}, {_FLOATS}, {_FLOATS},"
    f"uint64[::1], {_TABLE}, {_TABLE}, {_TABLE}, {_TABLE}, {_TABLE}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_RING},"
    f"{_PLACES}, {_PLACES}, {_FLOATS}, {_TABLE}, {_TABLE}, {_TABLE}, {_FLOATS}, {_FLOATS})"
)
def attempts(  # type: ignore[no-untyped-def]
    tick, step, judged, breaking, waiting, timeout_ticks, flying, total, share, owed, broken,
    keys, mix, rejected, may, on, direct, instant, found, refusals, delayed,
    delay_of, delay_ticks, succeeded, failed, final, issue, retried, repeated,
):  # fmt: skip
    """`Callers.judge` of edges with time-outs: `_expired`, `_part`, `_whole`, and `_conclude` with `_fail`, `_repeat`
    and `_delay`."""
    slots, tries, ring = flying.shape[0], flying.shape[1], len(delayed)
    here, again, passed = np.empty(tries), np.empty(tries), np.zeros(tries)
    for e in range(len(succeeded)):
        for number in range(tries):
            issue[number, e] = 0.0
            if waiting:
                issue[number, e] += delayed[tick % ring, number, e]
                delayed[tick % ring, number, e] = 0.0
        begun = tick - timeout_ticks[e]
        slot, left = begun % slots, 0.0
        for number in range(tries):
            here[number] = 0.0
            if begun >= 0:
                here[number] = flying[slot, number, e]
                flying[slot, number, e] = 0.0
            left = here[number] if number == 0 else left + here[number]
        succeeded[e], retried[e], repeated[e] = left, 0.0, 0.0
        for kind in range(3):
            failed[kind, e] = final[kind, e] = 0.0
        failed[3, e] = final[3, e] = refusals[e]
        refusals[e] = 0.0
        if judged:
            wanted = share[e] * (total[slot, e] if begun >= 0 else 0.0)
            if breaking:
                wanted = wanted + owed[e]
                owed[e] = min(max(wanted - left, 0.0), max(wanted, 1.0) * broken[e])
            part = _whole(left, min(wanted / max(left, 1e-300), 1.0), keys[e] + step)
            for number in range(tries):
                good = here[number] * part
                succeeded[e] = good if number == 0 else succeeded[e] + good
                here[number] = here[number] - good
        for kind in range(3):
            if kind == 0 and not judged:
                continue
            if kind > 0:
                taken = rejected if kind == 1 else mix
                for number in range(tries):
                    here[number] = taken[number, e]
                    taken[number, e] = 0.0
            first = 0.0
            for number in range(tries):
                first = here[number] if number == 0 else first + here[number]
            if kind == 1:
                for number in range(tries - 1):
                    back = here[number] * (may[number, e] * on[1, e] * direct[number, e] * instant[e])
                    here[number + 1] += back * found[e]
                    passed[number] = back * (1.0 - found[e])
            all_, more = _concluded(here, kind, e, may, on, direct, instant, passed, again)
            failed[kind, e] = all_
            if kind == 1:
                repeated[e] = all_ - first
            final[kind, e] = all_ - more - repeated[e] if kind == 1 else all_ - more
            if kind < 2:
                retried[e] += more
            for number in range(tries - 1):
                at_once = again[number] * direct[number, e]
                issue[number + 1, e] += at_once + passed[number] if kind == 1 else at_once
                entry = delay_of[number, e] if waiting else -1
                if entry >= 0:
                    for column in range(delay_ticks.shape[1]):
                        later = (tick + delay_ticks[entry, column]) % ring
                        delayed[later, number + 1, e] += again[number] / delay_ticks.shape[1]


@_compiled(f"float64({_TABLE}, float64, int64, float64)")
def _table_at(table, top, row, x):  # type: ignore[no-untyped-def]
    """`Distribution._look`."""
    if x < 0.0:
        return 0.0
    if x >= top:
        return table[row, _GRID]
    at = _GRID * math.sqrt(min(max(x / top, 0.0), 1.0))
    index = int(at)
    part = at - index
    low = table[row, index]
    found = low + part * (table[row, index + 1] - low)
    return found


@_compiled(f"float64({_TABLE}, float64, int64, float64)")
def _integral(area, top, row, x):  # type: ignore[no-untyped-def]
    """`Distribution._integral`."""
    return _table_at(area, top, row, min(max(x, 0.0), top)) + max(x - top, 0.0)


@_compiled(f"float64({_TABLE}, {_TABLE}, float64, int64, float64, float64)")
def _mean_below(cdf, area, top, row, low, high):  # type: ignore[no-untyped-def]
    """`Distribution.mean_below`."""
    width = high - low
    if abs(width) < 1e-6 * top:
        result = _table_at(cdf, top, row, 0.5 * (low + high))
    else:
        result = (_integral(area, top, row, high) - _integral(area, top, row, low)) / width
    return min(max(result, 0.0), 1.0)


@_compiled(f"float64(int64, int64, int64, float64, {_TABLE}, {_TABLE}, {_FLOATS}, {_FLOATS}, {_FLOATS})")
def _left_at(border, pod, tick, budget, borders, instants, begun, position, rate):  # type: ignore[no-untyped-def]
    """`Outcomes._left` for one border, with `_instant`."""
    slot = border % len(borders)
    known = instants[slot, pod]
    if border >= tick:
        when = tick + max(position[pod] - begun[pod], 0.0) / max(rate[pod], 1e-12)
    elif known >= NEVER:
        when = tick + max(borders[slot, pod] - begun[pod], 0.0) / max(rate[pod], 1e-12)
    else:
        when = known
    return budget - (max(when, float(border)) - border)


@_compiled(f"float64(int64, int64, float64, {_FLOATS}, {_TABLE}, {_INDEX})")
def _speed_since(tick, lane, begun, speed, done, moved):  # type: ignore[no-untyped-def]
    """`Paces.since` of one lane."""
    slots = len(done)
    if slots == 0 or begun >= float(moved[0]):
        return speed[lane]
    at = min(max(begun, tick + 1.0 - slots), float(tick))
    gone = tick - at
    if gone <= 0.0:
        return speed[lane]
    whole = math.floor(at)
    low, high = done[whole % slots, lane], done[min(whole + 1, tick) % slots, lane]
    then = low + (at - whole) * (high - low)
    return (done[tick % slots, lane] - then) / max(gone, 1e-300)


@_compiled(
    f"void(int64, {_INDEX}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_INDEX}, {_INDEX}, {_INDEX}, {_TABLE}, {_TABLE},"
    f"{_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_TABLE}, {_TABLE}, {_FLOATS}, {_FLOATS}, {_INDEX}, {_TABLE},"
    f"{_TABLE}, {_FLOATS}, {_INDEX}, {_FLOATS}, {_TABLE}, {_TABLE}, {_TABLE}, {_INDEX})"
)
def own_success(  # type: ignore[no-untyped-def]
    tick, lane_ticks, lane_budget, lane_way, lane_speed, lane_pod, lane_node, ages, borders, instants,
    begun, position, rate, waiting, cdf, area, top, share, lane_edge, own,
    left, waited, columns, failure, extra, weight, done, moved,
):  # fmt: skip
    """`Outcomes._own_success` of queues that serve first come, first served."""
    slots = len(borders)
    now = tick % slots
    for lane in range(len(lane_pod)):
        pod, node, edge = lane_pod[lane], lane_node[lane], lane_edge[lane]
        first = _left_at(
            tick - lane_ticks[lane], pod, tick, lane_budget[lane], borders, instants, begun, position, rate
        )
        last = _left_at(
            tick - lane_ticks[lane] + 1, pod, tick, lane_budget[lane], borders, instants, begun, position, rate
        )
        last = min(last, first + 1.0)
        left[lane, 0] = 0.5 * (first + last)
        speed = _speed_since(tick, lane, tick - (left[lane, 0] + lane_way[lane]), lane_speed, done, moved)
        fits = 0.0
        for part in range(extra.shape[1]):
            if weight[edge, part] > 0.0:
                low, high = (last - extra[edge, part]) * speed, (first - extra[edge, part]) * speed
                fits += weight[edge, part] * _mean_below(cdf, area, top[node], node, low, high)
        waited[edge] += (lane_budget[lane] - left[lane, 0]) * share[lane]
        own[lane, 0] = fits * (1.0 - failure[node])
        for c in range(1, columns[edge]):
            border = tick - ages[c - 1]
            slot = now - ages[c - 1]
            known = instants[slot + slots if slot < 0 else slot, pod]
            if c == 1:
                known = NEVER if waiting[pod] > 0.0 else float(tick)
            elif border < 0:
                known = NEVER
            x = max(tick - known, -1e9) - lane_way[lane]
            left[lane, c] = x
            speed = _speed_since(tick, lane, tick - (x + lane_way[lane]), lane_speed, done, moved)
            fits = 0.0
            for part in range(extra.shape[1]):
                if weight[edge, part] > 0.0:
                    at = (x - extra[edge, part]) * speed
                    fits += weight[edge, part] * _table_at(cdf, top[node], node, at)
            own[lane, c] = fits * (1.0 - failure[node])


@_compiled(f"float64(int64, float64, float64, int64, float64, {_FLOATS}, {_FLOATS}, {_TABLE}, {_TABLE})")
def _lost_share(pod, arrived, rate, law, inside, usual, known, shares, memories):  # type: ignore[no-untyped-def]
    """`Losses.shares` of one pod."""
    off = arrived - usual[pod]
    changed = off * off > CHANGED * CHANGED * (max(usual[pod], arrived) + 1.0)
    known[pod] = 1.0 if changed else known[pod] + 1.0
    usual[pod] = usual[pod] + off / min(max(COUNTED / max(usual[pod], 1e-3), 1.0), known[pod])
    if law < 0:
        return -1.0
    rho = usual[pod] / max(rate, 1e-12)
    at = rho / (1.0 + rho) * (POINTS - 1.0)
    low = min(int(at), POINTS - 2)
    part = at - low
    memory = memories[law, low]
    memory = memory + part * (memories[law, low + 1] - memory)
    share = shares[law, low]
    share = share + part * (shares[law, low + 1] - share)
    return share if max(memory, inside) <= FORGOTTEN * rate else -1.0


@_compiled(
    f"void(int64, int64, int64, int64, {_INDEX}, {_INDEX}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS},"
    f"{_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLAGS}, {_FLAGS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS},"
    f"{_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, float64, {_FLOATS},"
    f"{_INDEX}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_TABLE}, {_TABLE}, {_FLOATS}, {_FLAGS}, {_INDEX}, {_FLOATS},"
    f"{_FLOATS}, {_TABLE}, {_TABLE}, {_TABLE})"
)
def _step(  # type: ignore[no-untyped-def]
    first_pod, end_pod, first_lane, end_lane, lane_edge, lane_pod, calls, share, relative, low, drift,
    shift, places, room, infinite, held_back, high, variance2, offered, number, arrived,
    waiting, queued, finished, content, refused, left, most_inside, whole, rate,
    law, inside, usual, known, shares, memories, owed, drawn, service, split, behind, of_pods, of_services, of_edges,
):  # fmt: skip
    """`Queues.step` with `_bound` and `_leave`, of one level."""
    for pod in range(first_pod, end_pod):
        arrived[pod] = 0.0
    for lane in range(first_lane, end_lane):
        left[lane] = calls[lane_edge[lane]] * share[lane]
    _fallen(
        first_pod, end_pod, first_lane, end_lane, lane_edge, lane_pod, drawn, service, relative, split, left, behind,
        of_pods[0], of_pods[1], of_pods[2], of_services[0], of_services[1], of_edges[0], of_edges[1],
    )  # fmt: skip
    for lane in range(first_lane, end_lane):
        arrived[lane_pod[lane]] += left[lane] * relative[lane]
    for pod in range(first_pod, end_pod):
        x = arrived[pod] + drift[pod]
        squared = x * x
        here = number[pod]
        up = max(here + x, 0.5 * (x + math.sqrt(squared + low[pod])))
        lost = 0.0
        if whole > 0.0 and held_back[pod]:
            most = min(places[pod] + room[pod], most_inside[pod]) + 1.0
            highest = here + 0.5 * (x + math.sqrt(squared + high[pod] * variance2[pod]))
            limit = max(most, here)
            beyond = max(max(highest, up) - limit, 0.0)
            up = max(min(up - beyond, limit), 0.0)
            full = _lost_share(pod, arrived[pod], rate[pod], law[pod], inside[pod], usual, known, shares, memories)
            due = owed[pod] + beyond
            beyond = full * arrived[pod] if full >= 0.0 else min(due, arrived[pod])
            owed[pod] = 0.0 if full >= 0.0 else due - beyond
            if arrived[pod] > 0.0:
                lost = beyond / max(arrived[pod], 1e-300)
            arrived[pod] = arrived[pod] - beyond
        number[pod] = 0.0 if infinite[pod] else up
        waiting[pod] = lost
    if whole > 0.0:
        for lane in range(first_lane, end_lane):
            refused[lane] = left[lane] * waiting[lane_pod[lane]]
            left[lane] = left[lane] - refused[lane]
    for pod in range(first_pod, end_pod):
        everything = queued[pod] + arrived[pod]
        rest = min(number[pod], everything)
        queued[pod] = rest
        finished[pod] = everything - rest
        waiting[pod] = 1.0 - rest / max(everything, 1e-300)
    for lane in range(first_lane, end_lane):
        there = content[lane] + left[lane]
        left[lane] = there * waiting[lane_pod[lane]]
        content[lane] = there - left[lane]
    for pod in range(first_pod, end_pod):
        waiting[pod] = max(number[pod] - shift[pod], 0.0)


@_compiled(
    f"void({_INDEX}, {_INDEX}, {_INDEX}, {_INDEX}, {_INDEX}, {_INDEX}, {_INDEX}, {_INDEX}, {_FLOATS}, {_FLOATS},"
    f"{_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS},"
    f"{_FLAGS}, {_FLAGS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS},"
    f"{_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, float64, {_FLOATS}, {_INDEX}, {_FLOATS}, {_FLOATS},"
    f"{_FLOATS}, {_TABLE}, {_TABLE}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLAGS}, {_INDEX}, {_FLOATS}, {_FLOATS})"
)
def forward(  # type: ignore[no-untyped-def]
    pods, lanes, edges, pairs, pair_lane, pair_edge, lane_edge, lane_pod, calls, fresh,
    admitted, kept, survive, per_call, share, relative, low, drift, shift, places,
    infinite, held_back, room, high, variance2, offered, number, arrived, waiting, queued,
    finished, content, refused, left, most_inside, whole, rate, law,
    inside, usual, known, shares, memories, delay, pending, owed, drawn, service, split, behind,
):  # fmt: skip
    """`AggregateRun._forward` of plain graphs: `pods`, `lanes`, `edges` and `pairs` say where each level begins."""
    sent, made = np.empty(len(calls)), np.zeros(len(calls))
    of_pods, of_services, of_edges = np.empty((3, len(number))), np.empty((2, len(number))), np.empty((2, len(calls)))
    for level in range(len(pods) - 1):
        for edge in range(edges[level], edges[level + 1]):
            calls[edge] += fresh[edge]
            sent[edge] = calls[edge] * admitted[edge] * kept[edge]
        _step(
            pods[level], pods[level + 1], lanes[level], lanes[level + 1], lane_edge, lane_pod, sent, share, relative,
            low, drift, shift, places, room, infinite, held_back, high, variance2, offered, number, arrived,
            waiting, queued, finished, content, refused, left, most_inside, whole, rate, law,
            inside, usual, known, shares, memories, owed, drawn, service, split, behind, of_pods, of_services, of_edges,
        )  # fmt: skip
        for pair in range(pairs[level], pairs[level + 1]):
            made[pair_edge[pair]] = 0.0
        for pair in range(pairs[level], pairs[level + 1]):
            lane, edge = pair_lane[pair], pair_edge[pair]
            made[edge] += left[lane] * survive[lane] * per_call[edge]
        for pair in range(pairs[level], pairs[level + 1]):
            edge = pair_edge[pair]
            if made[edge] >= 0.0:
                pool = pending[edge] + made[edge]
                out = pool / (1.0 + delay[edge])
                pending[edge] = pool - out
                fresh[edge] += out
                made[edge] = -1.0


@_compiled(
    f"void(int64, {_INDEX}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS},"
    f"{_TABLE}, {_TABLE}, float64, float64)"
)
def end(  # type: ignore[no-untyped-def]
    tick, head, position, begun, arrived, waiting, service, offered, sums, weight, borders, instants, ticks, requests
):
    """`Queues.end`, with `_average` and `_note`."""
    slots = len(borders)
    for pod in range(len(head)):
        position[pod] = position[pod] + arrived[pod]
        before, now = begun[pod], max(begun[pod], position[pod] - waiting[pod])
        memory = max(ticks, requests / max(offered[pod], 1e-3))
        keep = 1.0 - 1.0 / min(memory, 1e5)
        sums[pod] = sums[pod] * keep + arrived[pod]
        weight[pod] = weight[pod] * keep + 1.0
        ahead = max(head[pod], tick + 1 - slots)
        gained = max(now - before, 1e-300)
        if waiting[pod] <= 0.0:
            gained = max(gained, service[pod])
        while ahead <= tick and borders[ahead % slots, pod] <= now:
            slot = ahead % slots
            when = tick + max(borders[slot, pod] - before, 0.0) / gained
            if instants[slot, pod] == NEVER:
                instants[slot, pod] = min(when, tick + 1.0)
            ahead += 1
        head[pod] = ahead
        begun[pod] = now
