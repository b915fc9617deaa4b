"""Signatures of the functions of Prometheus 3.x."""

from __future__ import annotations

from typing import NamedTuple

from simcluster.telemetry.promql.context import Kind


class Signature(NamedTuple):
    """What a function takes.

    Attributes:
        variadic: 0 for exactly `args`; n > 0 if the last may be left out, or stand up to n times; -1 for any number
            of the last, none included.
    """

    args: tuple[Kind, ...]
    variadic: int
    returns: Kind
    experimental: bool = False


def _same(names: str, args: tuple[Kind, ...], variadic: int = 0, experimental: bool = False) -> dict[str, Signature]:
    return {name: Signature(args, variadic, "vector", experimental) for name in names.split()}


FUNCTIONS: dict[str, Signature] = {
    **_same(
        "abs absent acos acosh asin asinh atan atanh ceil cos cosh deg exp floor histogram_avg histogram_count"
        " histogram_stddev histogram_stdvar histogram_sum ln log10 log2 rad sgn sin sinh sort sort_desc sqrt tan tanh"
        " timestamp",
        ("vector",),
    ),
    **_same(
        "absent_over_time avg_over_time changes count_over_time delta deriv idelta increase irate last_over_time"
        " max_over_time min_over_time present_over_time rate resets stddev_over_time stdvar_over_time sum_over_time",
        ("matrix",),
    ),
    **_same(
        "first_over_time mad_over_time ts_of_first_over_time ts_of_last_over_time ts_of_max_over_time"
        " ts_of_min_over_time",
        ("matrix",),
        experimental=True,
    ),
    **_same("day_of_month day_of_week day_of_year days_in_month hour minute month year", ("vector",), 1),
    **_same("clamp", ("vector", "scalar", "scalar")),
    **_same("clamp_max clamp_min", ("vector", "scalar")),
    **_same("double_exponential_smoothing", ("matrix", "scalar", "scalar"), experimental=True),
    **_same("histogram_fraction", ("scalar", "scalar", "vector")),
    **_same("histogram_quantile", ("scalar", "vector")),
    **_same("histogram_quantiles", ("vector", "string", "scalar", "scalar"), 9, experimental=True),
    **_same("info", ("vector", "vector"), 1, experimental=True),
    **_same("label_join", ("vector", "string", "string", "string"), -1),
    **_same("label_replace", ("vector", "string", "string", "string", "string")),
    **_same("predict_linear", ("matrix", "scalar")),
    **_same("quantile_over_time", ("scalar", "matrix")),
    **_same("round", ("vector", "scalar"), 1),
    **_same("sort_by_label sort_by_label_desc", ("vector", "string"), -1, experimental=True),
    "pi": Signature((), 0, "scalar"),
    "scalar": Signature(("vector",), 0, "scalar"),
    "time": Signature((), 0, "scalar"),
    "vector": Signature(("scalar",), 0, "vector"),
}
