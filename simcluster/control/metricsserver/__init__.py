"""metrics-server: resource usage, as `kubectl top` and the HPA read it."""

from simcluster.control.metricsserver.server import MetricsServer, StatsSource

__all__ = ["MetricsServer", "StatsSource"]
