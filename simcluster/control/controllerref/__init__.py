"""Who controls which pod: watching, adopting and releasing pods of one kind of owner."""

from simcluster.control.controllerref.claims import PodClaims
from simcluster.control.controllerref.podwatch import PodWatch, controlling_reference

__all__ = ["PodClaims", "PodWatch", "controlling_reference"]
