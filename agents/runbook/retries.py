"""Rules about calls that are made again and again: is the load of a service mostly retries?"""

from __future__ import annotations

import re

from simcluster.agents.runbook.reading import Act, Finding, Json, Reading, containers_of, labels_of

#: From so many attempts a request on, a caller multiplies the load of what it calls.
AMPLIFIED = 1.5
#: How far back logs are read, and how many lines of them: programs tell their counts every ten seconds or so.
SINCE, LINES = "30s", 4000
#: So many requests given up since the last report of counts are no accident.
MANY = 20
#: How long nobody is let in where retries cannot be switched off: queues are seconds long.
SHED = "30s"

_REPORTED = re.compile(r"attempts_per_(?:request|call)[=:]\s*(\d+(?:\.\d+)?)")
_COUNTS = re.compile(r"\brequests[=:]\s*(\d+).*?\battempts[=:]\s*(\d+)")
_GIVEN_UP = re.compile(r"giving up after (\d+) attempts?\b")
_VARIABLE = re.compile(r".*(ATTEMPTS|RETRIES|RETRY_COUNT|MAX_RETRY)")


def retry_storms(reading: Reading) -> list[Finding]:
    """Callers whose logs tell of several attempts for each request: one attempt, until the queues are empty.

    Where no variable sets the number of attempts, the entry that the page names is closed for a while.
    """
    findings = []
    for namespace in reading.namespaces:
        for deployment in reading.objects("deployments", namespace):
            name = deployment["metadata"]["name"]
            if not any(_VARIABLE.fullmatch(entry["name"]) for entry in _environment(deployment)):
                continue  # nothing to read about attempts in the logs of programs that make one
            logs = reading.session.kubectl(f"logs deployment/{name} -n {namespace} --since={SINCE} --tail={LINES}")
            if amplification(logs.stdout) >= AMPLIFIED:
                findings.append(_finding(reading, deployment))
    return findings


def amplification(log: str) -> float:
    """Attempts for each request, as a log tells last: 0 if it does not speak of them.

    A report of counts is some seconds old. Requests that were given up since, after several attempts each, tell
    more if they are many.

    >>> amplification("info: requests=100 attempts=390"), amplification("attempts_per_request=3.9"), amplification("")
    (3.9, 3.9, 0.0)
    >>> amplification("info: requests=100 attempts=100\\n" + MANY * "error: giving up after 4 attempts: EOF\\n")
    4.0
    """
    given_up: list[int] = []
    reported = 0.0
    for line in reversed(log.splitlines()):
        gave_up = _GIVEN_UP.search(line)
        if gave_up:
            given_up.append(int(gave_up[1]))
            continue
        reported = _reported(line)
        if reported:
            break
    return max(reported, float(max(given_up))) if len(given_up) >= MANY else reported


def _reported(line: str) -> float:
    stated = _REPORTED.search(line)
    if stated:
        return float(stated[1])
    counts = _COUNTS.search(line)
    return int(counts[2]) / int(counts[1]) if counts and int(counts[1]) else 0.0


def _finding(reading: Reading, deployment: Json) -> Finding:
    name, namespace = deployment["metadata"]["name"], deployment["metadata"]["namespace"]
    details: dict[str, str] = {}
    acts: list[Act] = []
    for entry in _environment(deployment):
        value = str(entry.get("value") or "")
        once = "1" if "ATTEMPTS" in entry["name"] else "0"
        if _VARIABLE.fullmatch(entry["name"]) and value.isdigit() and int(value) > int(once):
            details[entry["name"]] = value
            acts.append(Act(f"set env deployment/{name} -n {namespace} {entry['name']}={once}"))
    if acts:
        acts.append(Act(f"rollout status deployment/{name} -n {namespace} --timeout=180s"))
    else:
        acts = _closed_door(reading, namespace)
    mechanism = "retry storm: retries amplify the load"
    return Finding(f"Deployment/{name}", mechanism, details, (name,), tuple(acts))


def _closed_door(reading: Reading, namespace: str) -> list[Act]:
    """Let nobody in for a while: Deployments behind the Services that the page names."""
    acts: list[Act] = []
    for service in reading.objects("services", namespace):
        selector = service["spec"].get("selector") or {}
        if not selector or f"{namespace}/{service['metadata']['name']}" not in reading.session.alert:
            continue
        for entry in reading.objects("deployments", namespace):
            if selector.items() <= labels_of({"metadata": entry["spec"]["template"].get("metadata") or {}}).items():
                scale = f"scale deployment/{entry['metadata']['name']} -n {namespace} --replicas="
                acts += [Act(f"{scale}0"), Act(wait=SHED), Act(f"{scale}{entry['spec'].get('replicas', 1)}")]
    return acts


def _environment(deployment: Json) -> list[Json]:
    return [entry for box in containers_of(deployment["spec"]["template"]) for entry in box.get("env") or []]
