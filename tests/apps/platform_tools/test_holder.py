"""A client that opens connections and keeps them, and what becomes of tables and descriptors."""

from __future__ import annotations

import simcluster
from simcluster.engine import SECOND

GATEWAY = "create deployment gateway --image=ghcr.io/platform-tools/rpc-gateway:v1.0.0 --replicas=2"
CLIENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: client}
spec:
  selector: {matchLabels: {app: client}}
  template:
    metadata: {labels: {app: client}}
    spec:
      containers:
        - name: client
          image: ghcr.io/platform-tools/edge-traffic-client:v1.0.0
          env:
            - {name: TARGET, value: gateway}
            - {name: PORTS, value: "9090"}
            - {name: CONNECTIONS, value: "2000"}
            - {name: PER_SECOND, value: "100"}
"""


def test_connections_fill_tables_and_descriptors_and_go_with_the_client() -> None:
    box = simcluster.sandbox(nodes=2)
    world = box.world
    box.kubectl(GATEWAY)
    box.kubectl("expose deployment gateway --port=9090")
    box.wait("20s")
    before = {name: machine.os.conntrack.count for name, machine in world.machines.items()}
    box.kubectl("apply -f -", stdin=CLIENT)
    box.wait("60s")
    containers = [c for machine in world.machines.values() for c in machine.containers() if c.running]
    client = next(c for c in containers if c.spec.name == "client")
    gateways = [c for c in containers if c.spec.name == "rpc-gateway"]
    assert client.program.established == 2000
    assert client.machine.os.descriptors.connected(client) == 2000
    assert [c.machine.os.descriptors.connected(c) for c in gateways] == [1000, 1000]
    grown = {name: machine.os.conntrack.count - before[name] for name, machine in world.machines.items()}
    assert 1950 < grown[client.machine.name] < 2300
    table = client.machine.os.sysctls
    assert table.set("net.netfilter.nf_conntrack_max", "1000") == ""
    world.run_for(5 * SECOND)
    assert client.program.established == 2000  # what is there stays
    assert client.machine.os.conntrack.dropped_share > 0.5
    box.kubectl("delete deployment client")
    box.wait("40s")
    assert client.machine.os.conntrack.dropped_share == 0.0
    assert [c.machine.os.descriptors.connected(c) for c in gateways] == [0, 0]


def test_another_build_of_kube_proxy_writes_uneven_rules() -> None:
    box = simcluster.sandbox(nodes=2)
    box.kubectl(GATEWAY)
    box.kubectl("expose deployment gateway --port=9090")
    box.wait("20s")
    network, address = box.world.network, box.world.api.store.get("services", "default", "gateway")["spec"]["clusterIP"]

    def backends() -> list[int]:
        return [len(network.route(name, address, 9090).backends) for name in sorted(box.world.machines)]

    assert backends() == [2, 2, 2]
    box.kubectl("set image -n kube-system ds/kube-proxy kube-proxy=docker.io/jackcuii/kube-proxy:v1.31.12")
    box.wait("90s")
    assert backends() == [10, 10, 10]
    box.kubectl("rollout undo -n kube-system ds/kube-proxy")
    box.wait("90s")
    assert backends() == [2, 2, 2]
