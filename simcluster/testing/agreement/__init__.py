"""How far the traffic engines agree, over families of policies: shares of collapsed runs, and latencies.

`python -m simcluster.testing.agreement [--family WORD] [--seeds N] [--json]` measures; its exit status says whether
they differ by more than sampling.
"""

from simcluster.testing.agreement.families import FAMILIES, Cell
from simcluster.testing.agreement.measure import Share, Stationary, compare
from simcluster.testing.agreement.report import Family, measured

__all__ = ["FAMILIES", "Cell", "Family", "Share", "Stationary", "compare", "measured"]
