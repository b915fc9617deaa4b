"""Whether the incident is over: composed checks of state and behaviour."""

from simcluster.eval.oracles.baseline import Baseline
from simcluster.eval.oracles.check import Check, CheckResult
from simcluster.eval.oracles.mitigation import Mitigation, MitigationVerdict

__all__ = ["Baseline", "Check", "CheckResult", "Mitigation", "MitigationVerdict"]
