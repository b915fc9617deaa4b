"""Names, Service types, traffic policies and network policies, as pods and users meet them."""

import pytest

from simcluster.engine import SECOND
from simcluster.world import World

SHOP = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: acme/web, ports: [{containerPort: 80, name: http}]}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: NodePort, selector: {app: web}, ports: [{port: 80, nodePort: 30080}]}
---
apiVersion: v1
kind: Service
metadata: {name: heads}
spec: {clusterIP: None, selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: outer}
spec: {type: ExternalName, externalName: api.example.com}
---
apiVersion: v1
kind: Pod
metadata: {name: client, labels: {role: client}}
spec:
  containers: [{name: c, image: busybox:1.36, command: [sleep, infinity]}]
"""


@pytest.fixture(scope="module")
def booted():
    world = World(0, workers=2)
    world.apply(SHOP)
    world.run_for(25 * SECOND)
    return world


@pytest.fixture
def world(booted):
    return booted.fork()


def run(world, command, pod="client"):
    return world.kubectl().run(f"exec {pod} -- {command}")


def address(world, name):
    return world.api.store.get("pods", "default", name)["status"]["podIP"]


def web_pods(world):
    pods = world.api.store.objects("pods", "default")
    return [pod for pod in pods if (pod["metadata"].get("labels") or {}).get("app") == "web"]


def test_names_of_all_kinds_of_services(world):
    cluster_ip = world.api.store.get("services", "default", "web")["spec"]["clusterIP"]
    assert f"Address: {cluster_ip}" in run(world, "nslookup web").stdout
    heads = run(world, "nslookup heads.default").stdout
    assert all(f"Address: {p['status']['podIP']}" in heads for p in web_pods(world))
    assert "NXDOMAIN" in run(world, "nslookup nothing").stdout
    world.network.outside["api.example.com"] = "93.184.216.34"
    assert "93.184.216.34" in run(world, "nslookup outer").stdout


def test_names_need_coredns(world):
    world.kubectl().run("scale deploy coredns -n kube-system --replicas=0")
    world.run_for(30 * SECOND)
    assert "no servers could be reached" in run(world, "nslookup web").stdout
    assert run(world, "wget -q -O- -T 2 http://web").exit_code != 0
    cluster_ip = world.api.store.get("services", "default", "web")["spec"]["clusterIP"]
    assert run(world, f"wget -q -O- -T 2 http://{cluster_ip}").exit_code == 0
    world.kubectl().run("scale deploy coredns -n kube-system --replicas=1")
    world.run_for(40 * SECOND)
    assert run(world, "wget -q -O- -T 2 http://web").exit_code == 0


def test_a_broken_corefile_crashes_new_coredns_pods(world):
    config = world.api.store.get("configmaps", "kube-system", "coredns")["data"]["Corefile"]
    broken = {"data": {"Corefile": config.replace("kubernetes cluster", "kubernetez cluster")}}
    world.client("kubernetes-admin", "kubectl").patch("configmaps", "kube-system", "coredns", broken, kind="merge")
    world.run_for(150 * SECOND)
    assert run(world, "nslookup web").exit_code == 0  # those that run keep what they had
    world.kubectl().run("delete pod -n kube-system -l k8s-app=kube-dns")
    world.run_for(30 * SECOND)
    assert run(world, "nslookup web").exit_code == 1
    logs = world.kubectl().run("logs -n kube-system -l k8s-app=kube-dns").stdout
    assert "Unknown directive 'kubernetez'" in logs


def test_dns_policy_and_host_aliases(world):
    world.apply(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: own}\nspec:\n  dnsPolicy: None\n"
        "  dnsConfig: {nameservers: [10.96.0.10], searches: [svc.cluster.local],"
        " options: [{name: ndots, value: '2'}]}\n"
        "  hostAliases: [{ip: 10.1.2.3, hostnames: [db.local]}]\n"
        "  containers: [{name: c, image: busybox:1.36, command: [sleep, infinity]}]\n"
        "---\napiVersion: v1\nkind: Pod\nmetadata: {name: plain}\nspec:\n  dnsPolicy: Default\n"
        "  containers: [{name: c, image: busybox:1.36, command: [sleep, infinity]}]\n"
    )
    world.run_for(10 * SECOND)
    text = "search svc.cluster.local\nnameserver 10.96.0.10\noptions ndots:2\n"
    assert run(world, "cat /etc/resolv.conf", "own").stdout == text
    assert run(world, "nslookup web", "own").exit_code == 1
    assert run(world, "nslookup web.default", "own").exit_code == 0
    assert "10.1.2.3\tdb.local" in run(world, "cat /etc/hosts", "own").stdout
    assert "10.1.2.3" in run(world, "nslookup db.local", "own").stdout
    assert run(world, "nslookup web.default.svc.cluster.local", "plain").exit_code == 1


def test_node_ports_open_on_every_node_and_follow_the_policy(world):
    pods = web_pods(world)
    nodes = {m.address: name for name, m in world.machines.items()}
    for node_address in nodes:
        assert world.network.route("worker-1", node_address, 30080).outcome == "ok"
        assert world.network.route("worker-1", node_address, 30081).backends == ((node_address, 30081),)
    world.kubectl().run("scale deployment web --replicas=1")
    world.kubectl().run("""patch svc web -p '{"spec":{"externalTrafficPolicy":"Local"}}'""")
    world.run_for(40 * SECOND)
    (pod,) = web_pods(world)
    for node_address, node in nodes.items():
        expected = "ok" if node == pod["spec"]["nodeName"] else "timeout"
        assert world.network.route("worker-1", node_address, 30080).outcome == expected, (node, pods)


def test_internal_policy_local_and_session_affinity(world):
    cluster_ip = world.api.store.get("services", "default", "web")["spec"]["clusterIP"]
    policy = '{"spec":{"internalTrafficPolicy":"Local","sessionAffinity":"ClientIP"}}'
    world.kubectl().run(f"patch svc web -p '{policy}'")
    world.run_for(5 * SECOND)
    for node in ("worker-1", "worker-2"):
        local = {p["status"]["podIP"] for p in web_pods(world) if p["spec"]["nodeName"] == node}
        route = world.network.route(node, cluster_ip, 80)
        assert {backend[0] for backend in route.backends} == local
        caller = address(world, "client")
        chosen = world.network.route(node, cluster_ip, 80, caller)
        assert len(chosen.backends) == 1
        assert chosen == world.network.route(node, cluster_ip, 80, caller)
    assert world.network.route("control-plane", cluster_ip, 80).outcome == "timeout"


DENY = """
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny}
spec: {podSelector: {matchLabels: {app: web}}, policyTypes: [Ingress]}
"""
ALLOW = """
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: allow}
spec:
  podSelector: {matchLabels: {app: web}}
  ingress: [{from: [{podSelector: {matchLabels: {role: client}}}], ports: [{port: http}]}]
"""
EGRESS = """
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: egress}
spec:
  podSelector: {matchLabels: {role: client}}
  policyTypes: [Egress]
  egress: [{to: [{podSelector: {matchLabels: {app: web}}}]}]
"""


def test_ingress_policies(world):
    cluster_ip = world.api.store.get("services", "default", "web")["spec"]["clusterIP"]
    ask = f"wget -q -O- -T 2 http://{cluster_ip}"
    world.apply(DENY)
    world.run_for(30 * SECOND)
    assert run(world, ask).stderr == "wget: download timed out\ncommand terminated with exit code 1\n"
    assert all(p["status"]["containerStatuses"][0]["ready"] for p in web_pods(world))
    world.apply(ALLOW)
    world.run_for(SECOND)
    assert run(world, ask).exit_code == 0
    world.kubectl().run("label pod client role-")
    world.run_for(SECOND)
    assert run(world, ask).exit_code != 0
    world.kubectl().run("delete networkpolicy --all")
    world.run_for(SECOND)
    assert run(world, ask).exit_code == 0
    assert not world.network.isolation


def test_egress_policies_cut_off_dns_too(world):
    world.apply(EGRESS)
    world.run_for(SECOND)
    assert run(world, "nslookup web").exit_code == 1
    target = web_pods(world)[0]["status"]["podIP"]
    assert run(world, f"wget -q -O- -T 2 http://{target}").exit_code == 0
    world.apply(
        EGRESS.replace("egress: [", "egress: [{to: [{namespaceSelector: {}}], ports: [{port: 53, protocol: UDP}]}, ")
    )
    world.run_for(SECOND)
    assert run(world, "nslookup web").exit_code == 0


def test_policies_bind_users_and_servers_alike(world):
    users = world.add_users("default", "web", 20)
    world.run_for(10 * SECOND)
    assert users.window(world.now - 5 * SECOND, world.now).failed == 0
    world.apply(DENY)
    world.run_for(15 * SECOND)
    stats = users.window(world.now - 5 * SECOND, world.now)
    assert stats.failed == stats.ended > 0
    anybody = "spec: {podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 0.0.0.0/0}}]}]}"
    world.apply(f"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {{name: public}}\n{anybody}\n")
    world.run_for(15 * SECOND)
    assert users.window(world.now - 5 * SECOND, world.now).failed == 0


@pytest.mark.parametrize(("protocol", "resolves", "connects"), [("UDP", True, False), ("TCP", False, True)])
def test_a_policy_that_allows_a_port_allows_it_for_its_protocol_alone(world, protocol, resolves, connects):
    world.apply(
        "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: narrow}\nspec:\n"
        "  podSelector: {matchLabels: {role: client}}\n  policyTypes: [Egress]\n"
        f"  egress: [{{ports: [{{port: 53, protocol: {protocol}}}, {{port: 80, protocol: {protocol}}}]}}]\n"
    )
    world.run_for(2 * SECOND)
    assert (run(world, "nslookup web.default.svc.cluster.local").exit_code == 0) is resolves
    target = web_pods(world)[0]["status"]["podIP"]
    assert (run(world, f"wget -qO- -T 2 http://{target}/").exit_code == 0) is connects


def test_a_service_carries_the_protocol_of_its_ports_and_no_other(world):
    world.apply(
        "apiVersion: v1\nkind: Service\nmetadata: {name: datagrams}\n"
        "spec: {selector: {app: web}, ports: [{port: 80, protocol: UDP}]}\n"
    )
    world.run_for(2 * SECOND)
    assert run(world, "wget -qO- -T 2 http://web/").exit_code == 0
    assert "refused" in run(world, "wget -qO- -T 2 http://datagrams/").stderr
