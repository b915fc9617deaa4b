"""Rules about nodes: is it Ready, does its kubelet run, may pods go there?"""

from __future__ import annotations

from simcluster.agents.runbook.reading import Act, Finding, Reading, condition_of


def stopped_kubelets(reading: Reading) -> list[Finding]:
    """A node that is not Ready: log in and ask systemd for what it needs to be."""
    findings = []
    for node in reading.objects("nodes"):
        name = node["metadata"]["name"]
        if condition_of(node, "Ready").get("status") == "True":
            continue
        shell = reading.session.node(name)
        for unit, said in (("containerd", "the container runtime containerd"), ("kubelet", "the kubelet")):
            state = shell.sh(f"systemctl is-active {unit}").stdout.strip()
            if state == "active":
                continue
            shell.sh(f"systemctl status {unit} --no-pager")
            shell.sh(f"journalctl -u {unit} -n 20 --no-pager")
            act = Act(node=name, sh=f"systemctl start {unit}")
            mechanism = f"{said} is not running"
            findings.append(Finding(f"Node/{name}", mechanism, {"unit": unit}, (name,), (act,)))
    return findings


def cordoned_nodes(reading: Reading) -> list[Finding]:
    """Pods that wait for a node while nodes are closed to them."""
    waiting = [
        pod
        for namespace in reading.namespaces
        for pod in reading.objects("pods", namespace)
        if condition_of(pod, "PodScheduled").get("reason") == "Unschedulable"
    ]
    closed = [node["metadata"]["name"] for node in reading.objects("nodes") if node["spec"].get("unschedulable")]
    if not waiting:
        return []
    return [
        Finding(f"Node/{name}", "the node is cordoned", {"unschedulable": "true"}, (name,), (Act(f"uncordon {name}"),))
        for name in closed
    ]
