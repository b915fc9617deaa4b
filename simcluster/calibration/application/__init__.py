"""An application of one's own: from plain manifests, and from traces where there are some, a folder of content."""

from simcluster.calibration.application.folder import Made, make

__all__ = ["Made", "make"]
