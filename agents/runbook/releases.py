"""Rules about new versions that run, but not for long or not well: leaks, and too few descriptors."""

from __future__ import annotations

from simcluster.agents.runbook.reading import Act, Finding, Json, Reading, containers_of

#: How often a container must have been killed for its memory before the version is blamed.
KILLS_MIN = 1
#: How far back logs are read, and how many lines of them.
SINCE, LINES = "60s", 4000
_TOO_MANY = "too many open files"


def leaking_versions(reading: Reading) -> list[Finding]:
    """Containers killed for their memory since the last rollout brought another image: go back to it."""
    return [
        _back(deployment, name, image, "memory leak in the new version: the container is OOMKilled again and again")
        for deployment in _deployments(reading)
        for name, image in _changed(reading, deployment)
        if _killed(reading, deployment, name)
    ]


def starved_versions(reading: Reading) -> list[Finding]:
    """Programs of a new version that say that they may not open more files: go back to the former one."""
    findings = []
    for deployment in _deployments(reading):
        where = f"deployment/{deployment['metadata']['name']} -n {deployment['metadata']['namespace']}"
        for name, image in _changed(reading, deployment):
            told = reading.session.kubectl(f"logs {where} -c {name} --since={SINCE} --tail={LINES}").stdout
            if _TOO_MANY in told:
                mechanism = "file descriptor limit too low in the new version: too many open files"
                findings.append(_back(deployment, name, image, mechanism))
    return findings


def _deployments(reading: Reading) -> list[Json]:
    return [entry for namespace in reading.namespaces for entry in reading.objects("deployments", namespace)]


def _changed(reading: Reading, deployment: Json) -> list[tuple[str, str]]:
    """(container, image) of containers that had another image in the revision before."""
    old = {box["name"]: box["image"] for box in containers_of(reading.previous_template(deployment) or {})}
    new = {box["name"]: box["image"] for box in containers_of(deployment["spec"]["template"])}
    return [(name, image) for name, image in new.items() if old.get(name, image) != image]


def _killed(reading: Reading, deployment: Json, container: str) -> bool:
    for pod in reading.pods_of(deployment):
        for status in (pod.get("status") or {}).get("containerStatuses") or []:
            states = (status.get("lastState") or {}, status.get("state") or {})
            killed = any((state.get("terminated") or {}).get("reason") == "OOMKilled" for state in states)
            if status["name"] == container and killed and status.get("restartCount", 0) >= KILLS_MIN:
                return True
    return False


def _back(deployment: Json, container: str, image: str, mechanism: str) -> Finding:
    name, namespace = deployment["metadata"]["name"], deployment["metadata"]["namespace"]
    acts = (
        Act(f"rollout undo deployment/{name} -n {namespace}"),
        Act(f"rollout status deployment/{name} -n {namespace} --timeout=180s"),
    )
    return Finding(f"Deployment/{name}", mechanism, {"image": image}, (name,), acts)
