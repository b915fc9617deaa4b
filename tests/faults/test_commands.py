"""What a command on a node does to who is called there, and what takes it back: by its record, by a hand."""

from __future__ import annotations

import pytest

import simcluster
from simcluster.faults import registry
from simcluster.faults.restore import restore
from simcluster.faults.survey import changes, standing, survey
from simcluster.faults.target import ObjectRef
from simcluster.models.machine.container import Sandbox as Sandboxed
from simcluster.session.sandbox import Sandbox

FRONT, BACK = "worker-1", "worker-2"


def manifest(name: str, node: str, env: str = "") -> str:
    return f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      nodeName: {node}
      containers: [{{name: c, image: "acme/{name}:1", ports: [{{containerPort: 8080}}], env: [{env}]}}]
---
apiVersion: v1
kind: Service
metadata: {{name: {name}}}
spec: {{selector: {{app: {name}}}, ports: [{{port: 80, targetPort: 8080}}]}}
---
"""


@pytest.fixture(scope="module")
def shop() -> Sandbox:
    box = simcluster.sandbox(nodes=2)
    shown = box.kubectl(
        "apply -f -", stdin=manifest("front", FRONT, "{name: BACK, value: 'back:80'}") + manifest("back", BACK)
    )
    assert shown.exit_code == 0, shown.stderr
    box.wait("40s")
    box.load("front", rps=20, timeout="1s")
    box.wait("30s")
    return box


def share(box: Sandbox) -> float:
    box.wait("40s")
    stats = box.loads["default/front"].window("20s")
    return stats.ok / stats.ended


CASES = [
    ("port_filtered", BACK, {"port": 8080}, "iptables -D FORWARD -p tcp --dport 8080 -j DROP"),
    ("process_halted", BACK, {"program": "back"}, "pkill -CONT back"),
    ("pod_route_lost", FRONT, {}, "ip route add 10.244.2.0/24 via 172.18.0.4 dev eth0"),
]


@pytest.mark.parametrize(("fault", "node", "params", "opposite"), CASES, ids=[case[0] for case in CASES])
def test_who_calls_there_waits_in_vain_until_it_is_taken_back(
    shop: Sandbox, fault: str, node: str, params: dict[str, object], opposite: str
) -> None:
    box = shop.fork()
    spec = registry.load(fault)
    mechanism = registry.build(spec, ObjectRef(kind="Node", name=node), "default", spec.complete(params))
    mechanism.check(box.world)
    before = survey(box.world)
    mechanism.inject(box.world)
    facts = changes(before, survey(box.world))
    assert {fact.place.name for fact in facts} == {node}
    assert mechanism.sheet.root(facts)
    assert share(box) < 0.1
    assert standing(box.world, facts)
    by_record = box.fork()
    restore(by_record.world, facts)
    for mended in (by_record, box):
        if mended is box:
            assert box.node(node).sh(opposite).exit_code == 0
        assert share(mended) > 0.9
        assert not standing(mended.world, facts)


def test_a_name_in_its_own_hosts_file_leads_a_pod_elsewhere(shop: Sandbox) -> None:
    box = shop.fork()
    alias = '{"spec":{"template":{"spec":{"hostAliases":[{"ip":"10.96.250.9","hostnames":["back"]}]}}}}'
    assert box.kubectl(f"patch deployment front -p '{alias}'").exit_code == 0
    box.wait("30s")
    assert share(box) < 0.1


def test_a_kubelet_reads_how_many_pods_it_takes_what_is_reserved_and_the_name_server_of_new_pods(shop: Sandbox) -> None:
    box = shop.fork()
    more = "maxPods: 7\nsystemReserved: {cpu: 500m, memory: 1Gi}\nkubeReserved: {cpu: 250m}\n"
    write = (
        f"printf '{more}' >> /var/lib/kubelet/config.yaml; sed -i s/10.96.0.10/10.96.0.99/ /var/lib/kubelet/config.yaml"
    )
    assert box.node(FRONT).sh(f"{write}; systemctl restart kubelet").exit_code == 0
    box.wait("20s")
    shown = box.kubectl(f"get node {FRONT} -o jsonpath='{{.status.allocatable.cpu}} {{.status.allocatable.pods}}'")
    assert shown.stdout.strip("'") == "3250m 7"
    assert share(box) > 0.9  # who has begun before keeps its name server
    box.kubectl("rollout restart deployment front")
    box.wait("30s")
    network = box.world.network
    pods = {one.pod_name.partition("-")[0]: one for one in network.sandboxes.values() if isinstance(one, Sandboxed)}
    outcomes = [network.resolve_for(pods[name], "back").outcome for name in ("front", "back")]
    assert outcomes == ["timeout", "ok"]


def test_iptables_refuses_what_it_cannot_read(shop: Sandbox) -> None:
    node = shop.fork().node(FRONT)
    for line, said in (
        ("iptables -A NOWHERE -j DROP", "No chain/target/match by that name"),
        ("iptables -A FORWARD -p tcp --dport high -j DROP", "invalid port/service `high' specified"),
        ("iptables -A FORWARD --dport 80 -j DROP", 'unknown option "--dport"'),
        ("iptables -A FORWARD -s nobody -j DROP", "host/network `nobody' not found"),
        ("iptables -D FORWARD -p tcp --dport 80 -j DROP", "does a matching rule exist in that chain?"),
        ("iptables -D FORWARD 3", "Index of deletion too big"),
        ("iptables -A FORWARD -m hashlimit -j DROP", "Couldn't load match `hashlimit'"),
        ("ip route del 10.244.9.0/24", "No such process"),
        ("ip route add 10.244.2.0/24 via 172.18.0.4", "File exists"),
    ):
        shown = node.sh(line)
        assert shown.exit_code
        assert said in shown.stderr, line
    assert node.sh("iptables -P FORWARD DROP; iptables -S FORWARD").stdout == "-P FORWARD DROP\n"
