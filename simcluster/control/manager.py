"""kube-controller-manager: all controllers of the control plane, and their order of start."""

from __future__ import annotations

from simcluster.api.server import Api
from simcluster.control.controller import Controller
from simcluster.control.deployment import DeploymentController
from simcluster.control.endpoints import EndpointsController
from simcluster.control.endpointslice import EndpointSliceController
from simcluster.control.garbagecollector import GarbageCollector
from simcluster.control.namespace import NamespaceController
from simcluster.control.nodelifecycle import NodeLifecycleController, PodGarbageCollector, TaintEvictionController
from simcluster.control.persistentvolume import ClaimProtection, PersistentVolumeBinder, VolumeProtection
from simcluster.control.replicaset import ReplicaSetController
from simcluster.control.resourcequota import ResourceQuotaController
from simcluster.control.serviceaccount import RootCaPublisher, ServiceAccountController
from simcluster.control.statefulset import StatefulSetController
from simcluster.engine import Simulation

#: By the name that `--controllers` of kube-controller-manager uses.
CONTROLLERS: dict[str, type[Controller]] = {
    "serviceaccount-controller": ServiceAccountController,
    "root-ca-certificate-publisher-controller": RootCaPublisher,
    "endpoints-controller": EndpointsController,
    "endpointslice-controller": EndpointSliceController,
    "pod-garbage-collector-controller": PodGarbageCollector,
    "resourcequota-controller": ResourceQuotaController,
    "namespace-controller": NamespaceController,
    "garbage-collector-controller": GarbageCollector,
    "deployment-controller": DeploymentController,
    "replicaset-controller": ReplicaSetController,
    "statefulset-controller": StatefulSetController,
    "node-lifecycle-controller": NodeLifecycleController,
    "taint-eviction-controller": TaintEvictionController,
    "persistentvolume-binder-controller": PersistentVolumeBinder,
    "persistentvolumeclaim-protection-controller": ClaimProtection,
    "persistentvolume-protection-controller": VolumeProtection,
}


class ControllerManager:
    """Constructs and holds the controllers.

    Args:
        names: the controllers to run; all of `CONTROLLERS` by default.

    Attributes:
        controllers: by name, in order of start.
    """

    def __init__(self, sim: Simulation, api: Api, names: tuple[str, ...] = tuple(CONTROLLERS)) -> None:
        self.controllers: dict[str, Controller] = {name: CONTROLLERS[name](sim, api) for name in names}
