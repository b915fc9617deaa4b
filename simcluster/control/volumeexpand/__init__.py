"""The expand controller of persistent volume claims."""

from simcluster.control.volumeexpand.controller import VolumeExpandController

__all__ = ["VolumeExpandController"]
