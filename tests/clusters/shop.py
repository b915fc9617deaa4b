"""A small hand-made cluster without controllers, for tests of faults, noise and grading.

It has an API server, two nodes with systemd units, and a shop of three Deployments with
their Services, ReplicaSets, ready pods and EndpointSlices. Nothing reacts: a test sets what
the controllers would have written (`report_ready`, `set_endpoints`).
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, Json, name_of, owner_reference, thaw
from simcluster.api.request import ADMIN, User
from simcluster.api.server import Api
from simcluster.control.logs.loki import LogDatabases
from simcluster.control.prometheus.program import Databases
from simcluster.engine import MINUTE, Simulation, format_rfc3339
from simcluster.models.machine.container import Container
from simcluster.models.machine.journal import JournalLine
from simcluster.models.machine.links.links import Links
from simcluster.models.machine.process import Answer
from simcluster.models.traffic.cluster.statistics import History
from simcluster.telemetry.logs import LogFile

NAMESPACE = "shop"
REGISTRY = "registry.example.com:5000/shop"
NODES = ("control-plane", "worker-1", "worker-2")
APPS = ("cart", "frontend", "geo")


class ShopUnit:
    """A systemd unit that is active or not."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.active = True


class ShopRuntime:
    """A container runtime without containers."""

    def containers(self) -> list[Container]:
        """None."""
        return []


class ShopPower:
    """A machine that has power."""

    on = True


class ShopHost:
    """A node's systemd, with an empty journal and nothing running."""

    def __init__(self) -> None:
        self.runtime = ShopRuntime()
        self.stolen_share = 0.0
        self.power = ShopPower()
        self.units = {name: ShopUnit(f"{name}.service") for name in ("containerd", "kubelet")}
        self.program_logs: dict[str, LogFile] = {}

    def unit(self, name: str) -> ShopUnit | None:
        """The unit, with or without `.service`."""
        return self.units.get(name.removesuffix(".service"))

    def unit_list(self) -> list[ShopUnit]:
        """All units, sorted by name."""
        return [self.units[name] for name in sorted(self.units)]

    def journal(self) -> list[JournalLine]:
        """Nothing."""
        return []

    def control(self, action: str, name: str) -> str:
        """Start or stop a unit."""
        unit = self.unit(name)
        if unit is None:
            return f"Unit {name}.service not found."
        unit.active = action != "stop"
        return ""

    def steal_cpu(self, share: float) -> None:
        """The hypervisor gives such a share of the CPU time to others."""
        self.stolen_share = share


class ShopStats(NamedTuple):
    """Requests of users."""

    sent: int
    ok: int

    @property
    def ended(self) -> int:
        """Every request is answered at once."""
        return self.sent


class ShopLoad:
    """Users of `frontend`: ten requests a second, of which `ratio` succeed."""

    namespace = NAMESPACE
    service = "frontend"

    def __init__(self) -> None:
        self.ratio = 1.0
        self.rps = 10.0

    def window(self, from_ns: int, to_ns: int) -> ShopStats:
        """Requests in a stretch of time."""
        sent = (to_ns - from_ns) // 100_000_000
        return ShopStats(sent, round(sent * self.ratio))


class ShopTraffic:
    """Answers every request alike."""

    def __init__(self) -> None:
        self.history = History()
        self.users = {"shop/frontend": ShopLoad()}
        self.answer = Answer("ok", 200, "", 4_000_000)
        self.asked: list[tuple[str, int, str, str]] = []

    def schedule_rate(self, load: ShopLoad, rps: float, after_ns: int, lasts_ns: int | None = None) -> None:
        """Users come so often, from now on until somebody says otherwise."""
        load.rps = rps

    def add_users(self, name: str, namespace: str, service: str, port: int | None = None, **habits: Any) -> Any:
        """The shop has one kind of users."""
        raise ValueError(f"users {namespace}/{name} do not come here")

    def try_request(
        self, node: str, namespace: str, host: str, port: int, path: str = "/", kind: str = "http", source: str = ""
    ) -> Answer:
        """What one request meets."""
        self.asked.append((host, port, path, kind))
        return self.answer


def _nothing() -> None:
    """Nobody is to hear of changed links."""


class ShopNetwork:
    """Resolves Services of the shop."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.sandboxes: dict[str, Any] = {}
        self.links = Links(_nothing)

    def lookup(self, host: str, namespace: str) -> str | None:
        """The cluster IP of `name` or `name.namespace`."""
        found = self.api.store.get("services", namespace, host.removesuffix(f".{namespace}"))
        return None if found is None else str(found["spec"]["clusterIP"])


class ShopPrograms:
    """Programs, none of which measures anything."""

    def __init__(self) -> None:
        self.databases, self.logs = Databases(), LogDatabases()


class ShopWorld:
    """The cluster. Has the members of `World` that faults, noise and grading use."""

    def __init__(self, seed: int = 0) -> None:
        self.sim = Simulation(seed)
        self.api = Api(self.sim)
        self.machines = {name: ShopHost() for name in NODES}
        self.traffic = ShopTraffic()
        self.network = ShopNetwork(self.api)
        self.programs = ShopPrograms()
        self.sim.run_until(10 * MINUTE)
        admin = self.client("kubernetes-admin", "kubectl")
        for namespace in ("kube-system", NAMESPACE):
            admin.create("namespaces", "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        for node in NODES:
            self._node(admin, node)
        for index, app in enumerate(APPS):
            self._app(admin, app, index)

    def client(self, user: str, agent: str) -> Client:
        """A connection under an identity."""
        return Client(self.api, User(user, ADMIN.groups), agent)

    def on_node(self, node: str, command: str) -> tuple[int, str]:
        """Nodes of the shop have no shell."""
        return 127, f"{command}: command not found"

    def run_for(self, duration_ns: int) -> None:
        """Let time pass."""
        self.sim.run_for(duration_ns)

    def get(self, resource: str, name: str, namespace: str = NAMESPACE) -> ApiObject:
        """An object that must exist."""
        found = self.api.store.get(resource, namespace, name)
        assert found is not None, (resource, name)
        return found

    def report_ready(self, pod: str, ready: bool) -> None:
        """The kubelet reports the condition Ready."""
        obj = thaw(self.get("pods", pod))
        obj["status"]["conditions"] = [_ready(ready)]
        self.api.store.put("pods", obj)

    def report_node(self, node: str, ready: bool) -> None:
        """The condition Ready of a node changes."""
        obj = thaw(self.get("nodes", node, ""))
        obj["status"]["conditions"] = [_ready(ready)]
        self.api.store.put("nodes", obj)

    def set_endpoints(self, service: str, addresses: list[str]) -> None:
        """The ready endpoints of a Service."""
        piece: Json = {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": f"{service}-abcde",
                "namespace": NAMESPACE,
                "labels": {"kubernetes.io/service-name": service},
            },
            "addressType": "IPv4",
            "endpoints": [{"addresses": [address], "conditions": {"ready": True}} for address in addresses],
            "ports": [],
        }
        self.api.store.put("endpointslices.discovery.k8s.io", piece)

    def _node(self, admin: Client, node: str) -> None:
        obj: Json = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}, "spec": {}}
        stored = thaw(admin.create("nodes", "", obj))
        stored["status"] = {"conditions": [_ready(True)]}
        self.api.store.put("nodes", stored)
        self._pod("kube-system", f"kube-proxy-{node}", {"k8s-app": "kube-proxy"}, node, "10.0.0.1", None)

    def _app(self, admin: Client, app: str, index: int) -> None:
        labels = {"app": app}
        container = {
            "name": "server",
            "image": f"{REGISTRY}/{app}:v1",
            "env": [{"name": "GEO_ADDR", "value": "geo:8080"}],
            "resources": {"limits": {"cpu": "200m"}, "requests": {"cpu": "100m"}},
        }
        template: Json = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        manifest = _manifest("apps/v1", "Deployment", app, labels)
        manifest["spec"] = {"selector": {"matchLabels": labels}, "template": template}
        deployment = thaw(admin.create("deployments.apps", NAMESPACE, _applied(manifest, {"replicas": 1})))
        deployment["status"] = {
            "observedGeneration": 1,
            "replicas": 1,
            "updatedReplicas": 1,
            "readyReplicas": 1,
            "availableReplicas": 1,
        }
        stored = self.api.store.put("deployments.apps", deployment)
        service = _manifest("v1", "Service", app, labels)
        service["spec"] = {"selector": dict(labels), "ports": [{"name": "http", "port": 8080, "targetPort": 8080}]}
        admin.create("services", NAMESPACE, _applied(service, {"clusterIP": f"10.96.0.{index + 10}"}))
        replica_set = _manifest("apps/v1", "ReplicaSet", f"{app}-5d4f7c9b8", labels)
        replica_set["metadata"]["ownerReferences"] = [owner_reference(stored)]
        replica_set["spec"] = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
        owner = self.api.store.put("replicasets.apps", _identified(replica_set))
        node = NODES[1 + index % 2]
        address = f"10.244.1.{index + 10}"
        self._pod(NAMESPACE, f"{app}-5d4f7c9b8-x2x9k", labels, node, address, owner)
        self.set_endpoints(app, [address])

    def _pod(
        self, namespace: str, name: str, labels: dict[str, str], node: str, address: str, owner: ApiObject | None
    ) -> None:
        pod = _identified(_manifest("v1", "Pod", name, labels, namespace))
        if owner is not None:
            pod["metadata"]["ownerReferences"] = [owner_reference(owner)]
        pod["metadata"]["creationTimestamp"] = format_rfc3339(0)
        pod["spec"] = {"nodeName": node, "containers": [{"name": "server", "image": "x"}]}
        pod["status"] = {"phase": "Running", "podIP": address, "conditions": [_ready(True)]}
        self.api.store.put("pods", pod)


def _manifest(api_version: str, kind: str, name: str, labels: dict[str, str], namespace: str = NAMESPACE) -> Json:
    metadata = {"name": name, "namespace": namespace, "labels": dict(labels)}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _applied(manifest: Json, defaults: dict[str, Any]) -> Json:
    """The object as `kubectl apply` creates it, with what the server defaults in its spec."""
    annotation = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(manifest) + "\n"}
    metadata = {**manifest["metadata"], "annotations": annotation}
    return thaw({**manifest, "metadata": metadata, "spec": {**manifest["spec"], **defaults}})


def _identified(obj: Json) -> Json:
    obj["metadata"]["uid"] = f"uid-{name_of(obj)}"
    return obj


def _ready(value: bool) -> Json:
    return {"type": "Ready", "status": "True" if value else "False", "lastTransitionTime": format_rfc3339(0)}
