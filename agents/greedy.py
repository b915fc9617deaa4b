"""The agent that treats the first anomaly it meets, whatever paged it, and blames that."""

from __future__ import annotations

import json
from typing import Any

from simcluster.agents.restarter import application_namespaces
from simcluster.surface.protocols import Session

#: Between two looks, and how often it looks.
PAUSE, ROUNDS = "60s", 3


class Greedy:
    """Cordons off the first node that is not Ready, rolls back or restarts the first workload that looks unwell."""

    name = "greedy"

    def run(self, session: Session) -> None:
        """Treat one thing a round."""
        for _ in range(ROUNDS):
            self._treat(session)
            session.wait(PAUSE)

    def _treat(self, session: Session) -> None:
        for node in _items(session, "get nodes"):
            if _condition(node, "Ready") != "True":
                name = node["metadata"]["name"]
                session.diagnose(f"Node {name} is not Ready: its kubelet is not running.")
                session.node(name).sh("systemctl restart kubelet")
                return
        for namespace in application_namespaces(session):
            for pod in _items(session, f"get pods -n {namespace}"):
                workload = _workload(pod)
                if _condition(pod, "Ready") != "True" and workload:
                    session.diagnose(f"Deployment {workload} was rolled out with a wrong image.")
                    session.kubectl(f"rollout undo deployment/{workload} -n {namespace}")
                    return
        for namespace in application_namespaces(session):
            warned = [one for one in _items(session, f"get events -n {namespace}") if one.get("type") == "Warning"]
            if warned:
                subject = warned[-1]["involvedObject"]
                session.diagnose(f"{subject['kind']} {subject['name']} is unwell: {warned[-1].get('message', '')}")
                session.kubectl(f"delete pod {subject['name']} -n {namespace} --wait=false")
                return


def _items(session: Session, command: str) -> list[dict[str, Any]]:
    """What a list has; nothing if it cannot be read."""
    try:
        found: list[dict[str, Any]] = json.loads(session.kubectl(f"{command} -o json").stdout)["items"]
    except (ValueError, KeyError):
        return []
    return found


def _condition(obj: dict[str, Any], kind: str) -> str:
    entries = (obj.get("status") or {}).get("conditions") or ()
    return next((str(one["status"]) for one in entries if one["type"] == kind), "")


def _workload(pod: dict[str, Any]) -> str:
    """The Deployment that a pod is of; empty for others, and for pods that have ended."""
    owner: dict[str, Any] = next(iter(pod["metadata"].get("ownerReferences") or ()), {})
    done = (pod.get("status") or {}).get("phase") == "Succeeded"
    return "" if done or owner.get("kind") != "ReplicaSet" else str(owner["name"]).rpartition("-")[0]
