"""Storage: the binder of claims to volumes, and the protection of both while in use."""

from simcluster.control.persistentvolume.binder import PersistentVolumeBinder
from simcluster.control.persistentvolume.protection import ClaimProtection, VolumeProtection

__all__ = ["ClaimProtection", "PersistentVolumeBinder", "VolumeProtection"]
