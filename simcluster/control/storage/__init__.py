"""External provisioners of local volumes: directories on nodes as PersistentVolumes."""

from simcluster.control.storage.contents import VolumeContents
from simcluster.control.storage.controller import LocalPathProvisioner

__all__ = ["LocalPathProvisioner", "VolumeContents"]
