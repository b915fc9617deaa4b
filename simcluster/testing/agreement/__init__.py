"""How far the traffic engines agree: grids of collapse, and quantiles of latency.

`python -m simcluster.testing.agreement [--seeds N] [--only WORD]` prints both tables.
"""

from simcluster.testing.agreement.measure import Cell, Latency, collapse_of, latency_of

__all__ = ["Cell", "Latency", "collapse_of", "latency_of"]
