"""kube-controller-manager: all controllers of the control plane, and their order of start."""

from __future__ import annotations

from simcluster.api.server import Api
from simcluster.control import managermetrics
from simcluster.control.attachdetach import AttachDetachController
from simcluster.control.certificates import RequestCleaner, RequestSigner
from simcluster.control.clusterroleaggregation import ClusterRoleAggregationController
from simcluster.control.controller import Controller
from simcluster.control.cronjob import CronJobController
from simcluster.control.daemonset import DaemonSetController
from simcluster.control.deployment import DeploymentController
from simcluster.control.disruption import DisruptionController
from simcluster.control.endpoints import EndpointsController
from simcluster.control.endpointslice import EndpointSliceController
from simcluster.control.endpointslicemirroring import EndpointSliceMirroringController
from simcluster.control.ephemeralvolume import EphemeralVolumeController
from simcluster.control.garbagecollector import GarbageCollector
from simcluster.control.horizontalpodautoscaler import HorizontalPodAutoscalerController
from simcluster.control.job import JobController
from simcluster.control.namespace import NamespaceController
from simcluster.control.nodeipam import NodeIpamController
from simcluster.control.nodelifecycle import NodeLifecycleController, PodGarbageCollector, TaintEvictionController
from simcluster.control.persistentvolume import ClaimProtection, PersistentVolumeBinder, VolumeProtection
from simcluster.control.process import Process
from simcluster.control.replicaset import ReplicaSetController
from simcluster.control.replicaset.replicationcontroller import ReplicationControllerController
from simcluster.control.resourcequota import ResourceQuotaController
from simcluster.control.serviceaccount import (
    LegacyTokenCleaner,
    RootCaPublisher,
    ServiceAccountController,
    TokenController,
)
from simcluster.control.statefulset import StatefulSetController
from simcluster.control.ttl import TtlController
from simcluster.control.ttlafterfinished import TtlAfterFinishedController
from simcluster.control.validatingadmissionpolicy import ValidatingAdmissionPolicyStatusController
from simcluster.control.volumeexpand import VolumeExpandController
from simcluster.engine import Simulation
from simcluster.telemetry.klog import ComponentLog
from simcluster.telemetry.metrics.columns import Samples

#: By the name that `--controllers` of kube-controller-manager uses.
CONTROLLERS: dict[str, type[Controller]] = {
    "serviceaccount-token-controller": TokenController,
    "serviceaccount-controller": ServiceAccountController,
    "root-ca-certificate-publisher-controller": RootCaPublisher,
    "endpoints-controller": EndpointsController,
    "endpointslice-controller": EndpointSliceController,
    "endpointslice-mirroring-controller": EndpointSliceMirroringController,
    "replicationcontroller-controller": ReplicationControllerController,
    "pod-garbage-collector-controller": PodGarbageCollector,
    "resourcequota-controller": ResourceQuotaController,
    "namespace-controller": NamespaceController,
    "garbage-collector-controller": GarbageCollector,
    "clusterrole-aggregation-controller": ClusterRoleAggregationController,
    "daemonset-controller": DaemonSetController,
    "job-controller": JobController,
    "deployment-controller": DeploymentController,
    "replicaset-controller": ReplicaSetController,
    "horizontal-pod-autoscaler-controller": HorizontalPodAutoscalerController,
    "disruption-controller": DisruptionController,
    "statefulset-controller": StatefulSetController,
    "cronjob-controller": CronJobController,
    "certificatesigningrequest-signing-controller": RequestSigner,
    "certificatesigningrequest-cleaner-controller": RequestCleaner,
    "ttl-after-finished-controller": TtlAfterFinishedController,
    "ttl-controller": TtlController,
    "node-ipam-controller": NodeIpamController,
    "node-lifecycle-controller": NodeLifecycleController,
    "taint-eviction-controller": TaintEvictionController,
    "persistentvolume-binder-controller": PersistentVolumeBinder,
    "persistentvolume-attach-detach-controller": AttachDetachController,
    "persistentvolume-expander-controller": VolumeExpandController,
    "persistentvolumeclaim-protection-controller": ClaimProtection,
    "persistentvolume-protection-controller": VolumeProtection,
    "ephemeral-volume-controller": EphemeralVolumeController,
    "legacy-serviceaccount-token-cleaner-controller": LegacyTokenCleaner,
    "validatingadmissionpolicy-status-controller": ValidatingAdmissionPolicyStatusController,
}


class ControllerManager:
    """Constructs and holds the controllers.

    Args:
        names: the controllers to run; all of `CONTROLLERS` by default.

    Attributes:
        running: whether the process leads and its controllers work.
        controllers: by name, in order of start; those of the last start if it does not run.
        log: what they say.
    """

    def __init__(self, sim: Simulation, api: Api, names: tuple[str, ...] = tuple(CONTROLLERS)) -> None:
        self.sim = sim
        self.api = api
        self.names = names
        self.log = ComponentLog(sim)
        self.running = False
        self.controllers: dict[str, Controller] = {}
        self._process: Process | None = None
        self.start()

    def start(self) -> None:
        """Start: every controller lists what it watches and reconciles all of it."""
        if self.running:
            return
        self.running = True
        process = self._process = Process(self.sim, self.log)
        self.controllers = {name: CONTROLLERS[name](process, self.api) for name in self.names}

    def announce(self) -> None:
        """What a process says that begins to lead."""
        for name in self.names:
            self.log.note("controllermanager.go:765", "Started controller", controller=name)
        for name in self.names:
            self.log.text("I", "shared_informer.go:320", f"Caches are synced for {name.removesuffix('-controller')}")

    def samples(self) -> Samples:
        """Its metrics."""
        return managermetrics.samples(self.controllers)

    def stop(self) -> None:
        """Stop: nothing is reconciled until `start`."""
        if self.running and self._process is not None:
            self.running = False
            self._process.end(self.api.store)
