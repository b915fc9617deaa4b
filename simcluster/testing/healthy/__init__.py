"""Online Boutique as it was recorded while it was well: figures of a simulated one in Prometheus, beside those.

`python -m simcluster.testing.healthy [--minutes N] [--seed N] [--json]` measures and prints every service and metric.
"""

from simcluster.testing.healthy.measure import Figure, measured

__all__ = ["Figure", "measured"]
