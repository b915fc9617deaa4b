"""Recorded windows of Online Boutique's metrics, well and under a fault of the network, beside simulated ones.

`python -m simcluster.testing.windows CASE...` plays each case with a `metrics.csv` and prints how far off it is.
"""

from simcluster.testing.windows.measure import Compared, compared

__all__ = ["Compared", "compared"]
