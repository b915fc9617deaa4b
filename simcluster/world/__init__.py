"""The composition root: all parts of a cluster assembled into one value."""

from simcluster.world.world import World

__all__ = ["World"]
