"""The operator's desk: a machine outside of the cluster with a shell, kubectl, ssh, curl and a home folder."""

from simcluster.models.userland.place import Call
from simcluster.surface.desk.place import Desk, Doors

__all__ = ["Call", "Desk", "Doors"]
