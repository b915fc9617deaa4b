"""Compiled twin of `Splits.fallen`: how the requests of a tick fall on replicas."""

from __future__ import annotations

import math

from simcluster.models.traffic.aggregate.fast.signatures import FLAGS, FLOATS, INDEX, compiled


@compiled(
    f"void(int64, int64, int64, int64, {INDEX}, {INDEX}, {FLAGS}, {INDEX}, {FLOATS}, {FLOATS}, {FLOATS}, {FLOATS},"
    f"{FLOATS}, {FLOATS}, {FLOATS}, {FLOATS}, {FLOATS}, {FLOATS}, {FLOATS})"
)
def fallen(  # type: ignore[no-untyped-def]
    first_pod, end_pod, first_lane, end_lane, lane_edge, lane_pod, drawn, service, relative, noise, come, owed,
    mean, wanted, got, all_, sums, before, after,
):  # fmt: skip
    """`Splits.fallen` of one level, in place; of the last line of arrays what is in them means nothing."""
    some = False
    for lane in range(first_lane, end_lane):
        some |= drawn[lane]
    if not some:
        return
    for pod in range(first_pod, end_pod):
        mean[pod] = got[pod] = all_[service[pod]] = sums[service[pod]] = 0.0
    for lane in range(first_lane, end_lane):
        before[lane_edge[lane]] = after[lane_edge[lane]] = 0.0
    for lane in range(first_lane, end_lane):
        if drawn[lane]:
            mean[lane_pod[lane]] += come[lane] * relative[lane]
            before[lane_edge[lane]] += come[lane]
    for pod in range(first_pod, end_pod):
        wanted[pod] = owed[pod] + math.sqrt(mean[pod]) * noise[pod]
        all_[service[pod]] += mean[pod]
        sums[service[pod]] += wanted[pod]
    for pod in range(first_pod, end_pod):
        whole = all_[service[pod]]
        if whole > 0.0:
            wanted[pod] = wanted[pod] - mean[pod] / max(whole, 1e-300) * sums[service[pod]]
    for lane in range(first_lane, end_lane):
        if drawn[lane]:
            pod = lane_pod[lane]
            after[lane_edge[lane]] += come[lane] * (max(mean[pod] + wanted[pod], 0.0) / max(mean[pod], 1e-300))
    for lane in range(first_lane, end_lane):
        if drawn[lane]:
            pod, edge = lane_pod[lane], lane_edge[lane]
            if after[edge] > 0.0:
                factor = max(mean[pod] + wanted[pod], 0.0) / max(mean[pod], 1e-300)
                come[lane] = come[lane] * factor * (before[edge] / max(after[edge], 1e-300))
            got[pod] += come[lane] * relative[lane]
    for pod in range(first_pod, end_pod):
        if mean[pod] > 0.0:
            owed[pod] = mean[pod] + wanted[pod] - got[pod]
        else:
            owed[pod] = 0.0 if all_[service[pod]] > 0.0 else wanted[pod]
