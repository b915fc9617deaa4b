"""The aggregate traffic engine: counts of requests per tick and pod, at a cost that no request rate changes."""

from simcluster.models.traffic.aggregate.run import AggregateRun

__all__ = ["AggregateRun"]
