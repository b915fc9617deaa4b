"""How users from outside enter: node ports and balancers, their policies, and affinity of clients."""

import pytest

from simcluster.engine import SECOND
from simcluster.world import World

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: acme/web, ports: [{containerPort: 80}]}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80, nodePort: 30080}]}
"""


@pytest.fixture(scope="module")
def booted():
    world = World(0, workers=2, addons=False)
    world.apply(WEB)
    world.run_for(20 * SECOND)
    return world


@pytest.fixture
def world(booted):
    return booted.fork()


def outcome(world, host, port):
    """Errors of users who send requests to an address for some seconds."""
    name = f"users of {host}"
    users = world.traffic.add_users(name, "default", host, port, rps=20.0)
    world.run_for(12 * SECOND)
    seen = users.window(world.now - 5 * SECOND, world.now)
    world.traffic.remove_users(users)
    return sorted(seen.errors) if seen.failed else "ok"


def nodes(world):
    """Addresses of the node with the pod and of one without."""
    (pod,) = world.api.store.objects("pods", "default")
    own = pod["spec"]["nodeName"]
    other = next(name for name in world.machines if name not in (own, "control-plane"))
    return world.machines[own].address, world.machines[other].address


def test_node_ports_lead_to_pods_of_other_nodes_unless_the_policy_is_local(world):
    near, far = nodes(world)
    assert outcome(world, near, 30080) == outcome(world, far, 30080) == "ok"
    world.kubectl().run("""patch svc web -p '{"spec":{"externalTrafficPolicy":"Local"}}'""")
    world.run_for(5 * SECOND)
    assert outcome(world, near, 30080) == "ok"
    assert outcome(world, far, 30080) == ["timeout"]
    assert world.traffic.try_request("worker-1", "default", far, 30080).outcome == "timeout"
    assert outcome(world, far, 30081) == ["refused"]


def test_a_balancer_needs_somebody_who_gives_it_an_address(world):
    assert "<pending>" in world.kubectl().run("get svc web").stdout
    assert outcome(world, "198.51.100.7", 80) == ["timeout"]
    status = {"status": {"loadBalancer": {"ingress": [{"ip": "198.51.100.7"}]}}}
    client = world.client("kubernetes-admin", "cloud-controller-manager")
    client.patch("services", "default", "web", status, kind="merge", subresource="status")
    world.run_for(5 * SECOND)
    assert outcome(world, "198.51.100.7", 80) == "ok"


def test_a_service_of_another_name(world):
    world.apply(
        "apiVersion: v1\nkind: Service\nmetadata: {name: outer}\n"
        "spec: {type: ExternalName, externalName: web.default.svc.cluster.local}\n"
    )
    world.run_for(3 * SECOND)
    assert outcome(world, "outer", 80) == "ok"
    world.kubectl().run("""patch svc outer -p '{"spec":{"externalName":"nothing.default.svc.cluster.local"}}'""")
    world.run_for(3 * SECOND)
    assert outcome(world, "outer", 80) == ["no such host"]


def test_affinity_and_internal_policy_bind_requests_of_pods(world):
    world.kubectl().run("scale deployment web --replicas=4")
    world.kubectl().run("""patch svc web -p '{"spec":{"sessionAffinity":"ClientIP"}}'""")
    world.run_for(15 * SECOND)
    cluster_ip = world.api.store.get("services", "default", "web")["spec"]["clusterIP"]
    pods = world.api.store.objects("pods", "default")
    callers = [pod["status"]["podIP"] for pod in pods]
    chosen = [world.network.route("worker-1", cluster_ip, 80, caller).backends for caller in callers]
    assert all(len(backends) == 1 for backends in chosen)
    world.kubectl().run("""patch svc web -p '{"spec":{"internalTrafficPolicy":"Local"}}'""")
    world.kubectl().run("cordon worker-2")
    world.kubectl().run("delete pods -l app=web")
    world.run_for(40 * SECOND)
    assert world.traffic.try_request("worker-1", "default", "web", 80).outcome == "ok"
    assert world.traffic.try_request("worker-2", "default", "web", 80).outcome == "timeout"
