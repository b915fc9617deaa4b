"""Native histograms: counts in exponential or custom buckets, as one sample."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from simcluster.engine.arithmetic import exp as _exp
from simcluster.telemetry.promql import text

#: The schema of histograms whose bounds are given.
CUSTOM = -53


class MixedSchemas(ValueError):
    """Exponential and custom buckets do not go together."""


@dataclass(frozen=True)
class Native:
    """One histogram.

    Attributes:
        schema: a bucket's bounds are apart by 2**(2**-schema); `CUSTOM` for bounds of its own.
        positive, negative: counts by index; bucket i ends (begins) at base**i.
        bounds: upper bounds of custom buckets, without the infinite one.
        hint: `gauge`, `reset`, `not_reset` or empty.
    """

    schema: int = 0
    zero_threshold: float = 0.001
    zero_count: float = 0.0
    count: float = 0.0
    sum: float = 0.0
    positive: Mapping[int, float] = field(default_factory=dict)
    negative: Mapping[int, float] = field(default_factory=dict)
    bounds: tuple[float, ...] = ()
    hint: str = field(default="", compare=False)

    @property
    def custom(self) -> bool:
        """Whether the bounds are its own."""
        return self.schema == CUSTOM

    def same(self, other: Native) -> bool:
        """Whether both count the same (empty buckets and hints aside)."""
        return _bare(self) == _bare(other)

    def scaled(self, by: float) -> Native:
        """Every count times a number."""
        return replace(
            self,
            zero_count=self.zero_count * by,
            count=self.count * by,
            sum=self.sum * by,
            positive={index: count * by for index, count in self.positive.items()},
            negative={index: count * by for index, count in self.negative.items()},
        )

    def divided(self, by: float) -> Native:
        """Every count divided by a number; without buckets where that is zero."""
        if by == 0:
            empty = replace(self, positive={}, negative={})
            return replace(
                empty,
                zero_count=_quotient(self.zero_count, by),
                count=_quotient(self.count, by),
                sum=_quotient(self.sum, by),
            )
        return replace(
            self,
            zero_count=self.zero_count / by,
            count=self.count / by,
            sum=self.sum / by,
            positive={index: count / by for index, count in self.positive.items()},
            negative={index: count / by for index, count in self.negative.items()},
        )

    def plus(self, other: Native, sign: float = 1.0) -> Native:
        """Both together, or the difference with `sign` -1, in the coarser of their buckets.

        Raises:
            MixedSchemas: one has custom buckets and the other has not.
        """
        if self.custom != other.custom:
            raise MixedSchemas("histograms have incompatible schemas")
        a, b = self._aligned(other)
        hint = self.hint if self.hint == other.hint else "gauge" if "gauge" in (self.hint, other.hint) else ""
        return replace(
            a,
            zero_count=a.zero_count + sign * b.zero_count,
            count=a.count + sign * b.count,
            sum=a.sum + sign * b.sum,
            positive=_sums(a.positive, b.positive, sign),
            negative=_sums(a.negative, b.negative, sign),
            hint="gauge" if sign < 0 else hint,
        )

    def _aligned(self, other: Native) -> tuple[Native, Native]:
        if self.custom:
            bounds = tuple(bound for bound in self.bounds if bound in other.bounds)
            return self._rebounded(bounds), other._rebounded(bounds)
        schema = min(self.schema, other.schema)
        a, b = self.coarser(schema), other.coarser(schema)
        threshold = max(a.zero_threshold, b.zero_threshold)
        return a._zero_up_to(threshold), b._zero_up_to(threshold)

    def _rebounded(self, bounds: tuple[float, ...]) -> Native:
        if bounds == self.bounds:
            return self
        counts: dict[int, float] = {}
        for index, count in self.positive.items():
            upper = self.bounds[index] if index < len(self.bounds) else math.inf
            place = next((k for k, bound in enumerate(bounds) if bound >= upper), len(bounds))
            counts[place] = counts.get(place, 0.0) + count
        return replace(self, bounds=bounds, positive=counts)

    def coarser(self, schema: int) -> Native:
        """The same counts in the buckets of a lower schema."""
        if schema >= self.schema:
            return self
        step = 1 << (self.schema - schema)
        return replace(
            self, schema=schema, positive=_merged(self.positive, step), negative=_merged(self.negative, step)
        )

    def _zero_up_to(self, threshold: float) -> Native:
        if threshold <= self.zero_threshold:
            return self
        zero = self.zero_count
        kept: list[dict[int, float]] = []
        for side in (self.positive, self.negative):
            left = {}
            for index, count in side.items():
                if count and self.upper(index - 1) < threshold:
                    zero += count
                else:
                    left[index] = count
            kept.append(left)
        return replace(self, zero_threshold=threshold, zero_count=zero, positive=kept[0], negative=kept[1])

    def upper(self, index: int) -> float:
        """Upper bound of a positive bucket."""
        if self.custom:
            return self.bounds[index] if 0 <= index < len(self.bounds) else math.inf if index >= 0 else -math.inf
        if self.schema <= 0:
            return math.ldexp(1.0, index << -self.schema)
        whole, part = divmod(index, 1 << self.schema)
        fraction = part / (1 << self.schema)
        base = 1.0 if part == 0 else math.sqrt(2.0) if fraction == 0.5 else _exp(fraction * 0.6931471805599453)
        return math.ldexp(base, whole)

    def buckets(self) -> list[tuple[float, float, float]]:
        """Lower bound, upper bound and count, ascending, the zero bucket among them; empty ones left out."""
        found = []
        if self.custom:
            for index in sorted(self.positive):
                lower = self.bounds[index - 1] if index > 0 else (0.0 if self.upper(index) > 0 else -math.inf)
                found.append(
                    (lower if index > 0 else min(lower, self.upper(index)), self.upper(index), self.positive[index])
                )
            return [each for each in found if each[2]]
        for index in sorted(self.negative, reverse=True):
            found.append((-self.upper(index), -self.upper(index - 1), self.negative[index]))
        found.append((-self.zero_threshold, self.zero_threshold, self.zero_count))
        found += [(self.upper(index - 1), self.upper(index), self.positive[index]) for index in sorted(self.positive)]
        return [each for each in found if each[2]]

    def fell_from(self, before: Native) -> bool:
        """Whether a counter began anew between two samples."""
        if self.hint == "reset":
            return True
        if self.hint == "not_reset":
            return False
        if self.count < before.count or self.custom != before.custom or self.schema > before.schema:
            return True
        if self.custom and self.bounds != before.bounds:
            return True
        old = before if self.custom else before.coarser(self.schema)._zero_up_to(self.zero_threshold)
        if self.zero_threshold < old.zero_threshold or self.zero_count < old.zero_count:
            return True
        return any(
            mine.get(index, 0.0) < count
            for mine, theirs in ((self.positive, old.positive), (self.negative, old.negative))
            for index, count in theirs.items()
        )

    def __str__(self) -> str:
        shown = [f"count:{text.shortest(self.count)}", f"sum:{text.shortest(self.sum)}"]
        for lower, upper, count in self.buckets():
            left, right = ("[", ")") if upper < 0 else ("[", "]") if lower < 0 < upper else ("(", "]")
            shown.append(f"{left}{text.shortest(lower)},{text.shortest(upper)}{right}:{text.shortest(count)}")
        return "{" + ", ".join(shown) + "}"


def _quotient(number: float, by: float) -> float:
    if number == 0 or math.isnan(number):
        return math.nan
    return math.copysign(math.inf, number) * math.copysign(1.0, by)


def _sums(a: Mapping[int, float], b: Mapping[int, float], sign: float) -> dict[int, float]:
    return {index: a.get(index, 0.0) + sign * b.get(index, 0.0) for index in sorted({*a, *b})}


def _merged(counts: Mapping[int, float], step: int) -> dict[int, float]:
    found: dict[int, float] = {}
    for index in sorted(counts):
        place = -(-index // step)
        found[place] = found.get(place, 0.0) + counts[index]
    return found


def _bare(one: Native) -> Native:
    return replace(
        one,
        positive={index: count for index, count in sorted(one.positive.items()) if count},
        negative={index: count for index, count in sorted(one.negative.items()) if count},
        zero_threshold=0.0 if one.custom else one.zero_threshold,
    )
