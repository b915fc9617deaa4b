"""Many fine ticks in one call: compiled twins of what `AggregateRun._fine_tick` does around those of `compiled`.

Arrays come in tuples, one for each part of a run, in the order of `together`. Sums go from the first to the last.
"""

from __future__ import annotations

import math

import numpy as np

from simcluster.models.traffic.aggregate.fast.compiled import (
    _table_at,
    attempts,
    break_off,
    end,
    forward,
    judge,
    own_success,
    passed_on,
    past_waits,
    renewed,
    visit,
)
from simcluster.models.traffic.aggregate.fast.renewal import laws, times, together
from simcluster.models.traffic.aggregate.fast.signatures import NEVER

__all__ = (
    "_table_at", "attempts", "break_off", "end", "forward", "judge", "own_success", "passed_on", "past_waits",
    "renewed", "ticks", "visit",
)  # fmt: skip


@together
def _begin(tick, slot, noise, pods, scratch):  # type: ignore[no-untyped-def]
    """`Queues.begin`."""
    borders, instants, position, begun, deviation, variance2, rate, ahead, near, number = pods
    push, low, drift = scratch
    normals, lows = noise
    for pod in range(len(position)):
        full = ahead[pod] > 0.0 and number[pod] >= near[pod]
        border = max(position[pod] - ahead[pod], begun[pod]) if full else position[pod]
        borders[slot, pod] = border
        instants[slot, pod] = float(tick) if border <= begun[pod] else NEVER
        push[pod] = normals[pod] * deviation[pod]
        low[pod] = lows[pod] * variance2[pod]
        drift[pod] = push[pod] - rate[pod]


@together
def _is_calm(waiting, rate, factor, place, edges, way, longest, below):  # type: ignore[no-untyped-def]
    """`AggregateRun._calm` of queues that are neither contended nor stacks; `way` says which edges are strained."""
    edge_service, nested, caller, child, calls_per_visit, slack, deepest = edges
    of_service = np.zeros(place[-1] + 1)
    for pod in range(len(waiting)):
        if factor[pod] < 1.0:
            way[:] = np.inf
            return False
        of_service[place[pod]] = max(of_service[place[pod]], waiting[pod] / max(rate[pod], 1e-12))
    for edge in range(len(way)):
        way[edge] = longest[edge] = of_service[edge_service[edge]]
    if len(nested):
        for _ in range(deepest - 1):
            below[:] = 0.0
            for i in range(len(nested)):
                below[caller[nested[i]]] += calls_per_visit[nested[i]] * way[nested[i]]
            for edge in range(len(way)):
                way[edge] = longest[edge] + below[child[edge]]
    calm = True
    for edge in range(len(way)):
        calm &= way[edge] <= slack[edge]
    return calm


@together
def _answered(tick, below_then, own_of_edge, waited, succeeded, edges, counts):  # type: ignore[no-untyped-def]
    """`AggregateRun._answer` of ticks in which deadlines are judged."""
    timed, timeout, timeout_ticks, tick_ns = edges
    roots, root_load, done, window_ns = counts
    slots = len(below_then)
    for i in range(len(roots)):
        edge = roots[i]
        begun = tick - timeout_ticks[edge]
        rest = own_of_edge[edge] + below_then[max(begun, 0) % slots, edge]
        took = min(max(waited[edge], 0.0) + rest, timeout[edge])
        middle = begun + 0.5 + took if timed[edge] else tick - 0.5
        window = math.floor(min(middle, float(tick)) * tick_ns) // window_ns
        done[min(max(window, 0), len(done) - 1), root_load[i]] += succeeded[edge]


@together
def _refusals(calls, lane_edge, lane_refused, refused, usual):  # type: ignore[no-untyped-def]
    """`AggregateRun._refusals` where nothing falls under the table, and the average of the shares."""
    refused[:] = 0.0
    for lane in range(len(lane_edge)):
        refused[lane_edge[lane]] += lane_refused[lane]
    some = False
    for edge in range(len(calls)):
        per_call = 1.0 / max(calls[edge], 1e-300)
        refused[edge] = refused[edge] * per_call if calls[edge] > 0.0 else 0.0
        some |= refused[edge] != 0.0 or usual[edge] != 0.0
    if some:
        for edge in range(len(calls)):
            usual[edge] += (refused[edge] - usual[edge]) * 0.02


@together
def _fly(slot, fresh, refused, sent, callers):  # type: ignore[no-untyped-def]
    """`Callers.fly` of edges with time-outs whose callees are there; whether somebody is refused."""
    issue, rejected, again, single, flying, total = callers
    tries, some = len(issue), False
    for edge in range(len(fresh)):
        some |= refused[edge] != 0.0
    for edge in range(len(fresh)):
        issue[0, edge] += fresh[edge]
        total[slot, edge] = 0.0
        for number in range(tries):
            here = issue[number, edge]
            sent[edge] = here if number == 0 else sent[edge] + here
            if some:
                rejected[number, edge] += here * refused[edge]
                here = here * (1.0 - refused[edge])
            flying[slot, number, edge] = here
            total[slot, edge] = here if number == 0 else total[slot, edge] + here
        if some:
            again[edge] = 1.0 if single[edge] else refused[edge]
    return some


@together
def _gate(succeeded, final, hot, gates):  # type: ignore[no-untyped-def]
    """`Gates.update` of graphs all of whose calls have time-outs."""
    fails, gated, before, starts, keep, expected, done, share, open_, fine = gates
    if not len(gated):
        return
    if not hot and not fails:
        done[:] = 0.0
        share[:] = expected
        open_[:] = 1.0
        fine[:] = 1.0
        return
    for edge in range(len(succeeded)):
        all_ = final[0, edge] + final[1, edge] + final[2, edge] + final[3, edge]
        done[0, edge] = done[0, edge] * keep[edge] + succeeded[edge]
        done[1, edge] = done[1, edge] * keep[edge] + (succeeded[edge] + all_)
        known = min(done[0, edge] / max(done[1, edge], 1e-300), 1.0)
        share[edge] = known if done[1, edge] > 1e-6 else expected[edge]
        open_[edge] = 1.0
    for i in range(len(gated)):
        last = starts[i + 1] if i + 1 < len(starts) else len(before)
        product = share[before[starts[i]]]
        for at in range(starts[i] + 1, last):
            product = product * share[before[at]]
        open_[gated[i]] = product


@together
def _break_off(tick, sent, errors, edges, callers, lanes, waits, found):  # type: ignore[no-untyped-def]
    """`Errors.tell`; whether there was any."""
    below, above, faulty, age, (least, unknown) = errors
    child, timeout, timed, timeout_ticks, node_own, node_failure = edges
    final, backoff, limit, latency, flow, broken, flying, open_, mix = callers
    lane_edge, lane_pod, share = lanes
    at, ages, amounts = found
    count, some = 0, False
    total, weighed = np.zeros(len(age)), np.zeros(len(age))
    if len(below):
        failing = False
        for kind in range(4):
            for edge in range(len(sent)):
                failing |= final[kind, edge] != 0.0
        if failing:
            late = np.empty(len(age))
            for edge in range(len(age)):
                late[edge] = latency[edge] if age[edge] == unknown else age[edge]
            count = passed_on(
                below, above, child, lane_edge, lane_pod, flow, waits, share, node_own, final, backoff, timeout, limit,
                late, least, at, ages, amounts,
            )  # fmt: skip
    if count:
        some = True
        for i in range(count):
            total[at[i]] += amounts[i]
            weighed[at[i]] += amounts[i] * ages[i]
        break_off(tick, at[:count], ages[:count], amounts[:count], timed, timeout_ticks, broken, flying, open_, mix)
    if len(faulty):
        some = True
        for i in range(len(faulty)):
            ages[i] = node_own[child[faulty[i]]]
            amounts[i] = sent[faulty[i]] * node_failure[child[faulty[i]]]
            total[faulty[i]] += amounts[i]
            weighed[faulty[i]] += amounts[i] * ages[i]
        size = len(faulty)
        break_off(tick, faulty, ages[:size], amounts[:size], timed, timeout_ticks, broken, flying, open_, mix)
    for edge in range(len(age)):
        if total[edge] > 0.0:
            age[edge] = weighed[edge] / max(total[edge], 1e-300)
    return some


@together
def _counted(sent, repeated, refused, fresh, left, lane_refused, succeeded, failed, final, pods, sums):  # type: ignore[no-untyped-def]
    """What `Recorder` counts of a tick."""
    waiting, finished, infinite, stay, mean_service = pods
    of_edges, of_failed, of_final, of_fresh, of_pods, of_lanes = sums
    for edge in range(len(sent)):
        of_edges[0, edge] += sent[edge] + repeated[edge]
        of_edges[1, edge] += sent[edge] * refused[edge] + repeated[edge]
        of_edges[2, edge] += succeeded[edge]
        of_fresh[edge] += fresh[edge]
        for kind in range(4):
            of_failed[kind, edge] += failed[kind, edge]
            of_final[kind, edge] += final[kind, edge]
    for pod in range(len(waiting)):
        own = stay[pod] if infinite[pod] else mean_service[pod]
        of_pods[0, pod] += math.floor(waiting[pod])
        of_pods[1, pod] += min(finished[pod] * own, 1e12)
        of_pods[2, pod] += finished[pod]
    for lane in range(len(left)):
        of_lanes[0, lane] += left[lane]
        of_lanes[1, lane] += lane_refused[lane]


@together
def _watched(tick, number, waiting, offered, rate, usual, place, wide):  # type: ignore[no-untyped-def]
    """`Wide.watch`, but for who is late; whether a queue is no ordinary one."""
    infinite, most, short, room, unsettled, settled = wide
    some = False
    for pod in range(len(waiting)):
        odd = waiting[pod] * min(usual[pod], most[pod]) > 1.0
        odd |= offered[pod] > rate[pod] and not short[pod] and tick > settled
        unsettled[place[pod]] |= odd
        some |= odd
    if unsettled.any():
        length = np.zeros(len(unsettled))
        for pod in range(len(waiting)):
            length[place[pod]] += 0.0 if infinite[pod] else number[pod] * (usual[pod] * 12.0)
        for service in range(len(unsettled)):
            unsettled[service] &= length[service] > room[service]
        some |= unsettled.any()
    return some


@together
def _lateness(quality, expected, some_refused, hardly, loud, most, watched):  # type: ignore[no-untyped-def]
    """`Wide.watch` of who is late: for how many ticks hardly anybody may be so."""
    loud = most if some_refused else max(loud - 1, 0)
    for edge in range(len(quality)):
        if max(1.0 - quality[edge] / max(expected[edge], 1e-300), 0.0) > hardly:
            loud = max(loud, watched[edge])
    return loud


@together
def _went_on(tick, speed, worked):  # type: ignore[no-untyped-def]
    """`Paces.note` of speeds that have not changed."""
    if len(worked) > 0:
        for lane in range(len(speed)):
            worked[tick % len(worked), lane] = worked[(tick - 1) % len(worked), lane] + speed[lane]


@together
def _judged(tick, law, queues, judging, waited, own, left, there, lane):  # type: ignore[no-untyped-def]
    """`Outcomes.update` of queues that serve first come, first served, and `note`."""
    cdf, area, top, failure, extra, weight = law
    borders, instants, begun, position, rate, waiting = queues
    (flat, columns, lane_own, others, limit, period, tries, times, inner, branch_share, ages, age_index, age_gap,
     quality, profile, past, ended, required, timeout_ticks) = judging  # fmt: skip
    lane_ticks, budget, way, speed, lane_pod, lane_node, share, lane_edge, worked, moved = lane
    waited[:] = 0.0
    own_success(
        tick, lane_ticks, budget, way, speed, lane_pod, lane_node, ages, borders, instants, begun, position, rate,
        waiting, cdf, area, top, share, lane_edge, own, left, waited, columns, failure, extra, weight, worked,
        moved,
    )  # fmt: skip
    for edge in range(len(there)):
        there[edge] = tick >= timeout_ticks[edge]
    rest = (own, left, columns, lane_own, others, limit, period, tries, times, inner, branch_share, share, there)
    judge(*(flat + rest + (ages, age_index, age_gap, quality, profile, tick, past, ended, required)))


@together
def _expired(tick, attempted, quality, kept, strained, hot):  # type: ignore[no-untyped-def]
    """`Callers.judge`, `Outcomes.note` and `AggregateRun._cool`: for how many ticks deadlines are still looked at."""
    (
        keys, share_of, broken, owed, mix, rejected, may, on, direct, instant, again, refusals, delayed, delay_of,
        delay_ticks, succeeded, failed, final, issue, retried, repeated, ring, flying, total, timeout_ticks,
    ) = attempted  # fmt: skip
    past, ended, usual_share, watched = kept
    way, slack = strained
    share_of[:] = quality
    attempts(
        tick, np.uint64(tick + 1) * np.uint64(0x9E3779B97F4A7C15), True, True, ring > 0, timeout_ticks, flying, total,
        share_of, owed, broken, keys, mix, rejected, may, on, direct, instant, again, refusals, delayed, delay_of,
        delay_ticks, succeeded, failed, final, issue, retried, repeated,
    )  # fmt: skip
    hot = max(hot - 1, 0)
    for edge in range(len(quality)):
        past[tick % len(past), edge] = min(quality[edge] / ended[edge], 1.0)
        if share_of[edge] < usual_share[edge] or retried[edge] != 0.0 or way[edge] > slack[edge]:
            hot = max(hot, watched[edge])
    return hot


@together
def _passed(come, high, low, drift, split, issued, issue, open_, forwarded):  # type: ignore[no-untyped-def]
    """`AggregateRun._forward`."""
    (
        calls, _, fresh, _, lane_refused, lane_edge, refused, usual_refused, bounded, per_visit, per_call,
    ) = issued  # fmt: skip
    for edge in range(len(calls)):
        fresh[edge] = come[edge]
        per_call[edge] = per_visit[edge] * open_[edge]
        calls[edge] = issue[0, edge]
        for number in range(1, len(issue)):
            calls[edge] += issue[number, edge]
    lane_refused[:] = 0.0
    through = forwarded[0] + (calls, fresh) + forwarded[1] + (low, drift)
    forward(*(through + forwarded[2] + (high,) + forwarded[3] + (split,) + forwarded[4]))
    if bounded:
        _refusals(calls, lane_edge, lane_refused, refused, usual_refused)


@together
def _remembered(tick, row, quality, refused, fresh, timeout_ticks, memory):  # type: ignore[no-untyped-def]
    """`Sampler.arrived`, but for the shares refused, which are kept."""
    refused_rows, vain, arrivals, roots = memory
    refused_rows[row, :] = refused
    for edge in range(len(vain)):
        failing = quality[edge] < 1e-6
        vain[edge] = min(vain[edge], float(tick - timeout_ticks[edge])) if failing else np.inf
    for i in range(len(roots)):
        arrivals[tick % len(arrivals), i] = fresh[roots[i]]


@together
def ticks(tick, count, noise, come, state, flags):  # type: ignore[no-untyped-def]
    """`AggregateRun._fine_tick` so many times, or until the graph may be calm.

    Args:
        noise: normals, exponentials for the lower and for the upper boundary, normals of splits, a row for each tick.
        come: requests of every edge, a row for each tick.
        state: tuples of arrays, see `together.Together`.
        flags: for how many ticks deadlines are looked at; in how many more hardly anybody may be late before a wide
            tick, and how many that are after somebody was refused (0: it is not counted); the tick after the last one
            with a queue that is no ordinary one; whether a wide tick may follow; after how many ticks rates are worked
            out anew.

    Returns:
        How many ticks were made, the first, second and fourth of the flags, whether errors are under way, and whether
        nobody can miss a deadline.
    """
    (begin, calm, law, judged_queues, judging, lane, attempted, issued, answered, forwarded, flown, gate, failing, over,
     counted, watched, renewed, scratch) = state  # fmt: skip
    hot, loud, most_loud, odd, may_be_wide, period = flags
    mixed, is_calm = False, False
    (own, left_time, there, way, longest, below, waits, found, waited, memory, kept, below_then, below_now, first,
     hardly, flow) = scratch  # fmt: skip
    quality, issue, timeout_ticks = judging[13], attempted[18], attempted[24]
    succeeded, failed, final, repeated = attempted[15], attempted[16], attempted[17], attempted[20]
    sent, fresh, lane_left, lane_refused, refused = issued[1], issued[2], issued[3], issued[4], issued[6]
    head, position, begun, pod_arrived, waiting, service, offered, sums, weight, borders, instants, least, most = over
    queue_number, usual, place, rate, wide = watched
    done = 0
    while done < count:
        if tick % period == 0:
            for pod in range(len(waits)):
                waits[pod] = waiting[pod] / max(rate[pod], 1e-12)
            times(waits, quality, flow, renewed[0], renewed[1], renewed[2], renewed[3], renewed[4])
            laws(rate, sums, weight, renewed[5], renewed[6], renewed[7], renewed[8], renewed[9])
        _begin(tick, tick % len(borders), (noise[0][done], noise[1][done]), begin[0], begin[1])
        is_calm = _is_calm(waiting, rate, calm[0], place, calm[1], way, longest, below)
        if done > 0:
            _went_on(tick, lane[3], lane[8])
        _judged(tick, law, judged_queues, judging, waited, own, left_time, there, lane)
        hot = _expired(tick, attempted, quality, kept, (way, calm[1][5]), hot)
        _answered(tick, below_then, answered[0], waited, succeeded, answered[1], answered[2])
        _passed(come[done], noise[2][done], begin[1][1], begin[1][2], noise[3][done], issued, issue, gate[8], forwarded)
        below_then[tick % len(below_then), :] = below_now
        some = _fly(tick % len(flown[4]), fresh, refused, sent, flown)
        _gate(succeeded, final, hot > 0, gate)
        for edge in range(len(flow)):
            flow[edge] += (sent[edge] - flow[edge]) * 0.05
        end(
            tick, head, position, begun, pod_arrived, waiting, service, offered, sums, weight, borders, instants,
            least, most,
        )  # fmt: skip
        for pod in range(len(waits)):
            waits[pod] = waiting[pod] / max(rate[pod], 1e-12)
        mixed = _break_off(tick, sent, failing[0], failing[1], failing[2], failing[3], waits, found)
        _remembered(tick, done, quality, refused, fresh, timeout_ticks, memory)
        counted_tick = (sent, repeated, refused, fresh, lane_left, lane_refused, succeeded, failed, final)
        _counted(*(counted_tick + counted))
        if _watched(tick, queue_number, waiting, offered, rate, usual, place, wide):
            odd = tick + 1
        if most_loud > 0:
            loud = _lateness(quality, first, some, hardly, loud, most_loud, kept[3])
        tick, done = tick + 1, done + 1
        if may_be_wide and ((hot == 0 and is_calm) or loud == 0):
            break
    return done, hot, loud, odd, mixed, is_calm
