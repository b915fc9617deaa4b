"""The composition root: all parts of a cluster assembled into one value."""

from simcluster.engine.loading import loading

with loading():
    from simcluster.models.traffic.cluster.users import UserLoad, UserStats
    from simcluster.world.world import World

__all__ = ["UserLoad", "UserStats", "World"]
