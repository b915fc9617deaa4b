"""Compiled twins of what a walked request meets: draws, pods, waits and own times.

A test compares the results, as those of `compiled`.
"""

from __future__ import annotations

import math

import numpy as np

from simcluster.engine.arithmetic import _ARTANH, _LN2_HI, _LN2_LO, _SQRT_HALF
from simcluster.models.traffic.aggregate.fast.signatures import FLAGS as _FLAGS
from simcluster.models.traffic.aggregate.fast.signatures import FLOATS as _FLOATS
from simcluster.models.traffic.aggregate.fast.signatures import INDEX as _INDEX
from simcluster.models.traffic.aggregate.fast.signatures import NEVER
from simcluster.models.traffic.aggregate.fast.signatures import TABLE as _TABLE
from simcluster.models.traffic.aggregate.fast.signatures import compiled as _compiled


@_compiled("uint64(uint64)")
def _finished(z):  # type: ignore[no-untyped-def]
    """`draws._bits`, of key and counter together."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@_compiled("float64(uint64)")
def _unit(z):  # type: ignore[no-untyped-def]
    """`draws._unit`."""
    return (float(z >> np.uint64(11)) + 0.5) * 2.0**-53


@_compiled(f"int64(uint64, int64, {_FLOATS})")
def _stratified(key, counter, found):  # type: ignore[no-untyped-def]
    """`Walker.uniform` in calm stretches, into an array; the next counter. The order is found by counting."""
    count = len(found)
    bits = np.empty(count, dtype=np.uint64)
    for i in range(count):
        bits[i] = _finished(key + np.uint64(counter + i + 1) * np.uint64(0x9E3779B97F4A7C15))
    order, other = np.arange(count), np.empty(count, dtype=np.int64)
    for shift in (0, 8):
        places = np.zeros(257, dtype=np.int64)
        for i in range(count):
            places[((bits[i] >> np.uint64(shift)) & np.uint64(255)) + np.uint64(1)] += 1
        for value in range(256):
            places[value + 1] += places[value]
        for i in range(count):
            value = (bits[order[i]] >> np.uint64(shift)) & np.uint64(255)
            other[places[value]] = order[i]
            places[value] += 1
        order, other = other, order
    for i in range(count):
        unit = _unit(bits[i])
        found[i] = unit if count < 4 else (order[i] + unit) / count
    return counter + count


@_compiled(f"int64(uint64, int64, boolean, {_FLOATS})")
def _uniforms(key, counter, stratified, found):  # type: ignore[no-untyped-def]
    """`Walker.uniform`, into an array; the next counter."""
    if stratified:
        return _stratified(key, counter, found)
    for i in range(len(found)):
        found[i] = _unit(_finished(key + np.uint64(counter + i + 1) * np.uint64(0x9E3779B97F4A7C15)))
    return counter + len(found)


@_compiled(f"void({_FLOATS}, float64, {_FLOATS})")
def renewed(residual, factor, found):  # type: ignore[no-untyped-def]
    """The recursion of `lattice.general_waits`."""
    for n in range(1, len(found)):
        total = residual[1] * found[n - 1]
        for k in range(2, n + 1):
            total = total + residual[k] * found[n - k]
        found[n] = factor * total


@_compiled("float64(float64)")
def _exponential(u):  # type: ignore[no-untyped-def]
    """`draws.exponentials`, by `arithmetic.log_array`."""
    mantissa, exponent = math.frexp(u)
    e = float(exponent)
    if mantissa < _SQRT_HALF:
        mantissa, e = mantissa * 2.0, e - 1.0
    s = (mantissa - 1.0) / (mantissa + 1.0)
    z = s * s
    total = _ARTANH[10]
    for i in range(9, -1, -1):
        total = total * z + _ARTANH[i]
    return -(e * _LN2_HI + (2.0 * s * total + e * _LN2_LO))


@_compiled(
    f"int64(uint64, int64, boolean, boolean, int64, int64, {_FLOATS}, float64, {_TABLE}, {_FLOATS}, {_FLOATS},"
    f"{_FLOATS}, {_FLOATS}, {_FLOATS}, float64, float64, {_FLOATS}, {_FLOATS}, {_INDEX}, {_TABLE}, {_FLOATS},"
    f"{_FLOATS})"
)
def visit(  # type: ignore[no-untyped-def]
    key, counter, stratified, by_law, first, last, up, alike, together, chance, mixed, one_mean, two_mean,
    values, natural, work, stretch, speed, pods, chances, wait, own,
):  # fmt: skip
    """`Walker.visits` of one node, with `_chances` and `CalmWaits.draw` but for its other laws, if waits are drawn."""
    count = len(pods)
    drawn = np.empty(count)
    counter = _uniforms(key, counter, stratified, drawn)
    before = up[first - 1] if first > 0 else 0.0
    here = up[last] - before
    for i in range(count):
        at, pod = before + drawn[i] * here, first
        while pod < last and up[pod] <= at:
            pod += 1
        pods[i] = pod
    for row in range(3 if by_law else 0):
        counter = _uniforms(key, counter, stratified, chances[row])
    if by_law and alike >= 0.0:
        counter = _uniforms(key, counter, stratified, drawn)
        for i in range(count):
            if drawn[i] < alike:
                for row in range(3):
                    chances[row, i] = together[row, i]
    for i in range(count):
        pod, u, result = pods[i], chances[0, i], 0.0
        if by_law and u < chance[pod]:
            one, two = _exponential(1.0 - chances[1, i]), _exponential(1.0 - chances[2, i])
            if mixed[pod] < 0.0:
                result = one_mean[pod] * one + two_mean[pod] * two
            else:
                result = (one_mean[pod] if u / max(chance[pod], 1e-300) < mixed[pod] else two_mean[pod]) * one
        wait[i] = result if here > 0.0 else NEVER
    counter = _uniforms(key, counter, stratified, drawn)
    for i in range(count):
        position = drawn[i] * len(values) - 0.5
        low = int(min(max(math.floor(position), 0.0), len(values) - 2.0))
        took = values[low] + min(max(position - low, 0.0), 1.0) * (values[low + 1] - values[low])
        part = took * (work / max(natural, 1e-300))
        pod = pods[i]
        own[i] = part * stretch[pod] / speed[pod] + (took - part) if natural > 0.0 else took
    return counter


@_compiled(f"void({_INDEX}, {_FLOATS}, int64, {_TABLE}, {_TABLE}, {_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLAGS})")
def past_waits(pods, at, newest, borders, instants, begun, rate, wait, soon):  # type: ignore[no-untyped-def]
    """`Walker._past`."""
    slots = len(borders)
    for i in range(len(pods)):
        pod = pods[i]
        tick = int(min(max(math.floor(at[i]), newest - slots + 2.0), float(newest)))
        part = min(max(at[i] - tick, 0.0), 1.0)
        first, longest = 0.0, 0.0
        for border in (tick, tick + 1):
            slot = border % slots
            known = instants[slot, pod]
            if known >= NEVER:
                known = newest + 1.0 + max(borders[slot, pod] - begun[pod], 0.0) / max(rate[pod], 1e-12)
            each = max(known - border, 0.0)
            longest = max(longest, each)
            if border == tick:
                first = each
            else:
                wait[i] = first + part * (each - first)
        soon[i] = longest < 1.0
