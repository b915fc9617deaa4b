"""Rules about new versions that run, but not for long or not well: leaks, too few descriptors, no more processes."""

from __future__ import annotations

import re

from simcluster.agents.runbook.reading import Act, Finding, Json, Reading, containers_of

#: How often a container must have been killed for its memory before the version is blamed.
KILLS_MIN = 1
#: How far back logs are read, and how many lines of them.
SINCE, LINES = "60s", 4000
_TOO_MANY = "too many open files"
#: What programs say that may not start another process, or may not write to what is in memory.
_NO_FORK = re.compile(r"(?:spawn|fork|thread)\b.*(?:EAGAIN|resource temporarily unavailable)", re.IGNORECASE)
_NO_FORK_NUMBER = re.compile(r"\[Errno 11\]|error=11\b|errno=11\b")
_NO_SPACE = re.compile(r"ENOSPC|no space left on device", re.IGNORECASE)
_SHARED_FULL = re.compile(r"/dev/shm/\S*: no space left on device", re.IGNORECASE)
#: Zombies of one parent, and bytes of shared memory, from which on they are no accident.
_ZOMBIES_MIN, _SHARED_MIN = 50, 48 << 20


def leaking_versions(reading: Reading) -> list[Finding]:
    """Containers killed for their memory since the last rollout brought another image: go back to it."""
    return [
        _back(deployment, name, image, "memory leak in the new version: the container is OOMKilled again and again")
        for deployment in _deployments(reading)
        for name, image in _changed(reading, deployment)
        if _killed(reading, deployment, name)
    ]


def littering_versions(reading: Reading) -> list[Finding]:
    """Programs of a new version that end because they left too much behind: zombies, or files in shared memory."""
    findings = []
    for deployment in _deployments(reading):
        for name, image in _changed(reading, deployment):
            pod = next((each for each in reading.pods_of(deployment) if _restarted(each, name)), None)
            if pod is None:
                continue
            mechanism = _left_behind(reading, pod, name)
            if mechanism:
                findings.append(_back(deployment, name, image, mechanism))
    return findings


def _restarted(pod: Json, container: str) -> bool:
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    return any(status["name"] == container and status.get("restartCount", 0) > 0 for status in statuses)


def _left_behind(reading: Reading, pod: Json, container: str) -> str:
    """What the container's last run died of, if it was its own litter; "" if it was not."""
    session, where = reading.session, f"{pod['metadata']['name']} -n {pod['metadata']['namespace']} -c {container}"
    words = session.kubectl(f"logs {where} --previous --tail=40").stdout
    if _NO_FORK.search(words) or _NO_FORK_NUMBER.search(words):
        node = session.node(pod["spec"]["nodeName"])
        rejected = "fork rejected by pids controller" in node.sh("dmesg").stdout
        zombies = node.sh("ps -eo stat,ppid").stdout.count("\nZ")
        if rejected or zombies >= _ZOMBIES_MIN:
            return "PID exhaustion in the new version: zombies that it never reaps use up its PIDs until fork fails"
    if _NO_SPACE.search(words):
        stat = session.kubectl(f"exec {where} -- cat /sys/fs/cgroup/memory.stat").stdout
        shared = re.search(r"^shmem (\d+)$", stat, re.MULTILINE)
        # Between two runs there is nothing to ask but what it wrote.
        if int(shared[1]) >= _SHARED_MIN if shared else _SHARED_FULL.search(words):
            return "shared memory is full: the new version leaves files in /dev/shm"
    return ""


def starved_versions(reading: Reading) -> list[Finding]:
    """Programs of a new version that say that they may not open more files: go back to the former one."""
    findings = []
    for deployment in _deployments(reading):
        where = f"deployment/{deployment['metadata']['name']} -n {deployment['metadata']['namespace']}"
        for name, image in _changed(reading, deployment):
            log = reading.session.kubectl(f"logs {where} -c {name} --since={SINCE} --tail={LINES}").stdout
            if _TOO_MANY in log:
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
