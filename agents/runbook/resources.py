"""Rules about resources: containers that use all the CPU they may, and nobody at work at all."""

from __future__ import annotations

from simcluster.agents.runbook.reading import Act, Finding, Json, Reading, containers_of, labels_of, millicores

#: A container at this share of its limit is being stopped by it most of the time.
SATURATED_PERCENT = 85
#: A rollout that leaves less than this share of the former limit is suspect before anything is measured.
LOWERED_PERCENT = 25
#: By how much a limit is raised that no earlier revision tells better.
RAISE = 10


def throttled(reading: Reading) -> list[Finding]:
    """Containers that use up their CPU limit, or lost most of it: give back the former one, or a much larger one."""
    findings = []
    for namespace in reading.namespaces:
        used = reading.usage(namespace)
        for deployment in reading.objects("deployments", namespace):
            for box in containers_of(deployment["spec"]["template"]):
                limit = str(((box.get("resources") or {}).get("limits") or {}).get("cpu", ""))
                pods = [pod["metadata"]["name"] for pod in reading.pods_of(deployment)]
                most = max((used.get((pod, box["name"]), 0) for pod in pods), default=0)
                former = _former_limit(reading, deployment, box["name"])
                saturated = most * 100 >= millicores(limit) * SATURATED_PERCENT
                lowered = millicores(limit) * 100 <= former * LOWERED_PERCENT
                if limit and (saturated or lowered):
                    findings.append(_limit_finding(deployment, box, limit, former))
    return findings


def _former_limit(reading: Reading, deployment: Json, container: str) -> int:
    """CPU limit of the revision before, in millicores; 0 if there was none."""
    for old in containers_of(reading.previous_template(deployment) or {}):
        if old["name"] == container:
            return millicores(str(((old.get("resources") or {}).get("limits") or {}).get("cpu", "")))
    return 0


def _limit_finding(deployment: Json, box: Json, limit: str, former: int) -> Finding:
    name, namespace = deployment["metadata"]["name"], deployment["metadata"]["namespace"]
    raised = former if former > millicores(limit) else RAISE * max(10, millicores(limit))
    acts = (
        Act(f"set resources deployment/{name} -n {namespace} -c {box['name']} --limits=cpu={raised}m"),
        Act(f"rollout status deployment/{name} -n {namespace} --timeout=180s"),
    )
    mechanism = "the CPU limit is too low, the container is throttled"
    return Finding(f"Deployment/{name}", mechanism, {"cpu": limit}, (name,), acts)


def scaled_to_zero(reading: Reading) -> list[Finding]:
    """A Deployment without replicas behind a Service that others are meant to use."""
    findings = []
    for namespace in reading.namespaces:
        selectors = [service["spec"].get("selector") or {} for service in reading.objects("services", namespace)]
        for deployment in reading.objects("deployments", namespace):
            labels = labels_of({"metadata": deployment["spec"]["template"].get("metadata") or {}})
            used = any(selector and selector.items() <= labels.items() for selector in selectors)
            if deployment["spec"].get("replicas", 1) == 0 and used:
                name = deployment["metadata"]["name"]
                act = Act(f"scale deployment/{name} -n {namespace} --replicas=1")
                mechanism = "scaled to zero replicas"
                findings.append(Finding(f"Deployment/{name}", mechanism, {"replicas": "0"}, (name,), (act,)))
    return findings
