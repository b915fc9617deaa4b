"""Rules about what was rolled out: images, addresses in variables, revisions that do not come up."""

from __future__ import annotations

import re

from simcluster.agents.runbook.reading import Act, Finding, Json, Reading, containers_of

PULL_FAILURES = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull")
_ADDRESS = re.compile(r"(?:\w+://)?([a-z0-9]([a-z0-9.-]*[a-z0-9])?):(\d+)(?:/.*)?")


def _waiting(pod: Json) -> list[tuple[str, str]]:
    """(container, reason) of every container that waits."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    found = []
    for status in statuses:
        waiting = (status.get("state") or {}).get("waiting")
        if waiting:
            found.append((status["name"], waiting.get("reason", "")))
    return found


def _undo(deployment: Json) -> tuple[Act, ...]:
    name, namespace = deployment["metadata"]["name"], deployment["metadata"]["namespace"]
    return (
        Act(f"rollout undo deployment/{name} -n {namespace}"),
        Act(f"rollout status deployment/{name} -n {namespace} --timeout=180s"),
    )


def wrong_images(reading: Reading) -> list[Finding]:
    """Images that cannot be pulled where the revision before had another image: go back to it."""
    findings = []
    for namespace in reading.namespaces:
        for deployment in reading.objects("deployments", namespace):
            failing = {
                name for pod in reading.pods_of(deployment) for name, reason in _waiting(pod) if reason in PULL_FAILURES
            }
            images = {box["name"]: box["image"] for box in containers_of(deployment["spec"]["template"])}
            before = reading.previous_template(deployment)
            old = {box["name"]: box["image"] for box in containers_of(before or {})}
            changed = [name for name in sorted(failing) if old.get(name, images.get(name)) != images.get(name)]
            if changed:
                name = deployment["metadata"]["name"]
                details = {"image": images[changed[0]]}
                mechanism = "wrong image tag, the image cannot be pulled"
                findings.append(Finding(f"Deployment/{name}", mechanism, details, (name,), _undo(deployment)))
    return findings


def wrong_addresses(reading: Reading) -> list[Finding]:
    """Variables that the last rollout pointed at a Service, or a port of it, that does not exist."""
    return _unreachable(reading, changed=True)


def suspicious_addresses(reading: Reading) -> list[Finding]:
    """The same where no former revision tells that it was ever otherwise: a last resort."""
    return _unreachable(reading, changed=False)


def _unreachable(reading: Reading, changed: bool) -> list[Finding]:
    findings = []
    for namespace in reading.namespaces:
        ports = {
            service["metadata"]["name"]: [str(port["port"]) for port in service["spec"].get("ports") or []]
            for service in reading.objects("services", namespace)
        }
        for deployment in reading.objects("deployments", namespace):
            for box in containers_of(deployment["spec"]["template"]):
                for entry in box.get("env") or []:
                    value = entry.get("value") or ""
                    if not _is_wrong(value, namespace, ports):
                        continue
                    former = _former_value(reading, deployment, box["name"], entry["name"])
                    if (former not in ("", value)) == changed:
                        right = former if changed else ""
                        findings.append(_address_finding(reading, deployment, entry["name"], value, right, ports))
    return findings


def _is_wrong(value: str, namespace: str, ports: dict[str, list[str]]) -> bool:
    match = _ADDRESS.fullmatch(value)
    if match is None:
        return False
    host, _, rest = match[1].partition(".")
    if rest and rest.partition(".")[0] != namespace:
        return False  # somewhere else: not ours to know
    if host in ("localhost", "0") or host.isdigit():
        return False
    return match[3] not in ports.get(host, [])


def _address_finding(
    reading: Reading, deployment: Json, variable: str, value: str, right: str, ports: dict[str, list[str]]
) -> Finding:
    name, namespace = deployment["metadata"]["name"], deployment["metadata"]["namespace"]
    if not right:
        right = _value_elsewhere(reading, namespace, variable, value, ports)
    if not right:
        host = value.rpartition(":")[0].rpartition("/")[2].partition(".")[0]
        known = ports.get(host, [])
        right = value.replace(":" + value.rpartition(":")[2], ":" + known[0]) if len(known) == 1 else ""
    acts: tuple[Act, ...] = ()
    if right:
        acts = (
            Act(f"set env deployment/{name} -n {namespace} {variable}={right}"),
            Act(f"rollout status deployment/{name} -n {namespace} --timeout=180s"),
        )
    return Finding(f"Deployment/{name}", "wrong address in environment variable", {variable: value}, (name,), acts)


def _former_value(reading: Reading, deployment: Json, container: str, variable: str) -> str:
    for box in containers_of(reading.previous_template(deployment) or {}):
        for entry in box.get("env") or []:
            if box["name"] == container and entry["name"] == variable:
                return str(entry.get("value") or "")
    return ""


def _value_elsewhere(reading: Reading, namespace: str, variable: str, value: str, ports: dict[str, list[str]]) -> str:
    """What other Deployments have in the same variable, if that exists."""
    for deployment in reading.objects("deployments", namespace):
        for box in containers_of(deployment["spec"]["template"]):
            for entry in box.get("env") or []:
                other = str(entry.get("value") or "")
                if entry["name"] == variable and other != value and not _is_wrong(other, namespace, ports):
                    return other
    return ""


def failing_rollouts(reading: Reading) -> list[Finding]:
    """A revision whose pods crash or do not become ready, where the one before it was replaced: go back."""
    findings = []
    for namespace in reading.namespaces:
        for deployment in reading.objects("deployments", namespace):
            wanted = deployment["spec"].get("replicas", 1)
            ready = (deployment.get("status") or {}).get("readyReplicas", 0)
            reasons = sorted({reason for pod in reading.pods_of(deployment) for _, reason in _waiting(pod)})
            if ready >= wanted or "CrashLoopBackOff" not in reasons or reading.previous_template(deployment) is None:
                continue
            name = deployment["metadata"]["name"]
            mechanism = "the new revision crashes"
            findings.append(Finding(f"Deployment/{name}", mechanism, {}, (name,), _undo(deployment)))
    return findings
