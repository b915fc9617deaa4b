"""Rules about Services: do they select pods, and do they send to ports on which these listen?"""

from __future__ import annotations

import json

from simcluster.agents.runbook.reading import Act, Finding, Json, Reading, containers_of, labels_of


def wrong_selectors(reading: Reading) -> list[Finding]:
    """A Service that selects nothing, although pods carry a part of what it asks for."""
    findings = []
    for namespace in reading.namespaces:
        pods = [labels_of(pod) for pod in reading.objects("pods", namespace)]
        templates = [
            (entry["spec"]["template"].get("metadata") or {}).get("labels") or {}
            for entry in reading.objects("deployments", namespace)
        ]
        for service in reading.objects("services", namespace):
            selector = service["spec"].get("selector") or {}
            everybody = pods + templates
            if not selector or any(selector.items() <= labels.items() for labels in everybody):
                continue
            change = _change(service["metadata"]["name"], selector, everybody)
            if change:
                findings.append(_selector_finding(service, selector, change))
    return findings


def _change(name: str, selector: dict[str, str], everybody: list[dict[str, str]]) -> dict[str, str | None]:
    """Labels to set, or with None to drop, so that the selector matches those it nearly matches."""
    nearest = max(everybody, key=lambda labels: _nearness(name, selector, labels), default={})
    if not _nearness(name, selector, nearest):
        return {}
    return {key: nearest.get(key) for key, value in selector.items() if nearest.get(key) != value}


def _nearness(name: str, selector: dict[str, str], labels: dict[str, str]) -> int:
    matching = sum(1 for key, value in selector.items() if labels.get(key) == value)
    return 2 * matching + (1 if name in labels.values() else 0)


def _selector_finding(service: Json, selector: dict[str, str], change: dict[str, str | None]) -> Finding:
    name, namespace = service["metadata"]["name"], service["metadata"]["namespace"]
    patch = json.dumps({"spec": {"selector": change}}, separators=(",", ":"))
    return Finding(
        f"Service/{name}",
        "service selector does not match any pod labels",
        {key: selector[key] for key in change},
        (name,),
        (Act(f"patch service {name} -n {namespace} --type=merge -p '{patch}'"),),
    )


def wrong_ports(reading: Reading) -> list[Finding]:
    """A Service that sends to a port that the pods' containers do not declare, where nobody answers either."""
    findings = []
    for namespace in reading.namespaces:
        for service in reading.objects("services", namespace):
            selector = service["spec"].get("selector") or {}
            pods = [
                pod
                for pod in reading.objects("pods", namespace)
                if selector and selector.items() <= labels_of(pod).items()
            ]
            ports = service["spec"].get("ports") or []
            declared = [port for pod in pods for box in containers_of(pod) for port in box.get("ports") or []]
            numbers = sorted({port["containerPort"] for port in declared})
            if len(ports) != 1 or len(numbers) != 1:
                continue  # only where there is no choice can a rule know what was meant
            target = ports[0].get("targetPort", ports[0]["port"])
            if target in numbers or target in [port.get("name") for port in declared]:
                continue
            if isinstance(target, int) and any(_answers(reading, pod, target) for pod in pods[:1]):
                continue  # containers need not declare what they listen on
            findings.append(_port_finding(service, str(target), numbers[0]))
    return findings


def _answers(reading: Reading, pod: Json, port: int) -> bool:
    """Whether a pod takes connections at a port, from its own node."""
    node, address = pod["spec"].get("nodeName"), (pod.get("status") or {}).get("podIP")
    if not node or not address:
        return False
    return reading.session.node(node).sh(f"nc -z -w 2 {address} {port}").exit_code == 0


def _port_finding(service: Json, target: str, right: int) -> Finding:
    name, namespace = service["metadata"]["name"], service["metadata"]["namespace"]
    patch = json.dumps([{"op": "replace", "path": "/spec/ports/0/targetPort", "value": right}], separators=(",", ":"))
    return Finding(
        f"Service/{name}",
        "wrong targetPort: the pods do not listen on it",
        {"targetPort": target},
        (name,),
        (Act(f"patch service {name} -n {namespace} --type=json -p '{patch}'"),),
    )
