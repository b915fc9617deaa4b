"""CSI drivers: what their sidecar containers do for the cluster."""

from simcluster.api.server import Api
from simcluster.control.controller import Controller
from simcluster.control.csi.attacher import CsiAttacher
from simcluster.control.csi.provisioner import CsiProvisioner
from simcluster.control.csi.registration import CsiRegistration
from simcluster.control.csi.resizer import CsiResizer
from simcluster.control.volumes.backend import StorageBackend
from simcluster.engine import Simulation

__all__ = ["CsiAttacher", "CsiProvisioner", "CsiRegistration", "CsiResizer", "StorageBackend", "csi_sidecars"]


def csi_sidecars(sim: Simulation, api: Api, backend: StorageBackend | None = None) -> tuple[Controller, ...]:
    """All of them; each acts only while pods of a driver run its container."""
    storage = backend or StorageBackend()
    callers = (CsiProvisioner(sim, api, storage), CsiAttacher(sim, api, storage), CsiResizer(sim, api, storage))
    return (CsiRegistration(sim, api), *callers)
