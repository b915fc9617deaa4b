"""The ephemeral volume controller: claims that live and die with a pod."""

from simcluster.control.ephemeralvolume.controller import EphemeralVolumeController

__all__ = ["EphemeralVolumeController"]
