"""How sure a rate is, what repetitions say, and whether two agents differ."""

from simcluster.eval.statistics.agreement import cohen_kappa
from simcluster.eval.statistics.compare import Comparison, compare
from simcluster.eval.statistics.gate import Condition, Limits, judged
from simcluster.eval.statistics.intervals import Interval, bootstrap, wilson
from simcluster.eval.statistics.repeats import pass_any, pass_every

__all__ = [
    "Comparison",
    "Condition",
    "Interval",
    "Limits",
    "bootstrap",
    "cohen_kappa",
    "compare",
    "judged",
    "pass_any",
    "pass_every",
    "wilson",
]
