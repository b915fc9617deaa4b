"""What the runbook knows of the cluster: objects read through `kubectl get -o json`, once a round."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from simcluster.surface.protocols import Session

Json = dict[str, Any]


class Act(NamedTuple):
    """Something to do: a kubectl command (with standard input), or a command on a node, or a wait."""

    kubectl: str = ""
    node: str = ""
    sh: str = ""
    wait: str = ""
    stdin: str = ""


class Finding(NamedTuple):
    """Something that is wrong, as it would be reported, and what mends it.

    Attributes:
        component: `Kind/name`.
        mechanism: one phrase.
        details: the values that are wrong.
        scope: names of the components that are wrong themselves.
        acts: what to do about it.
    """

    component: str
    mechanism: str
    details: dict[str, str]
    scope: tuple[str, ...]
    acts: tuple[Act, ...]

    def answer(self) -> dict[str, object]:
        """The diagnosis in the form the session takes."""
        return {
            "component": self.component,
            "mechanism": self.mechanism,
            "details": dict(self.details),
            "scope": list(self.scope),
        }


class Reading:
    """The cluster as it was read at one moment. Objects are read when a rule asks for them.

    Args:
        session: where to ask.
        namespaces: the application's.
    """

    def __init__(self, session: Session, namespaces: list[str]) -> None:
        self.session = session
        self.namespaces = namespaces
        self._lists: dict[tuple[str, str], list[Json]] = {}

    def objects(self, resource: str, namespace: str = "") -> list[Json]:
        """Objects of a resource; of a namespace, or of the cluster if it is empty."""
        key = (resource, namespace)
        if key not in self._lists:
            where = f" -n {namespace}" if namespace else ""
            result = self.session.kubectl(f"get {resource}{where} -o json")
            try:
                self._lists[key] = list(json.loads(result.stdout).get("items") or [])
            except ValueError:  # an error text instead of JSON: the resource cannot be read now
                self._lists[key] = []
        return self._lists[key]

    def pods_of(self, deployment: Json) -> list[Json]:
        """Pods that a Deployment's selector matches."""
        wanted = deployment["spec"]["selector"].get("matchLabels") or {}
        pods = self.objects("pods", deployment["metadata"]["namespace"])
        return [pod for pod in pods if wanted.items() <= labels_of(pod).items()]

    def previous_template(self, deployment: Json) -> Json | None:
        """The pod template of the revision before the present one."""
        uid = deployment["metadata"].get("uid")
        sets = []
        for entry in self.objects("replicasets", deployment["metadata"]["namespace"]):
            owners = entry["metadata"].get("ownerReferences") or []
            if any(owner.get("uid") == uid for owner in owners):
                sets.append((revision_of(entry), entry))
        current = revision_of(deployment)
        older = [pair for pair in sets if pair[0] < current]
        return max(older, key=lambda pair: pair[0])[1]["spec"]["template"] if older else None

    def usage(self, namespace: str) -> dict[tuple[str, str], int]:
        """CPU use in millicores by (pod, container), from `kubectl top`."""
        found: dict[tuple[str, str], int] = {}
        text = self.session.kubectl(f"top pods -n {namespace} --containers --no-headers").stdout
        for line in text.splitlines():
            cells = line.split()
            if len(cells) >= 3:
                found[cells[0], cells[1]] = millicores(cells[2])
        return found


def labels_of(obj: Json) -> dict[str, str]:
    """Labels of an object."""
    return obj["metadata"].get("labels") or {}


def revision_of(obj: Json) -> int:
    """The rollout revision of a Deployment or ReplicaSet; 0 if it has none."""
    annotations = obj["metadata"].get("annotations") or {}
    text = annotations.get("deployment.kubernetes.io/revision", "0")
    return int(text) if text.isdigit() else 0


def containers_of(template: Json) -> list[Json]:
    """Containers of a pod template or pod."""
    return list((template.get("spec") or {}).get("containers") or [])


def condition_of(obj: Json, kind: str) -> Json:
    """A condition of the object's status; empty if it is not there."""
    for entry in (obj.get("status") or {}).get("conditions") or []:
        if entry.get("type") == kind:
            return dict(entry)
    return {}


def millicores(quantity: str) -> int:
    """Thousandths of a core of a CPU quantity; 0 if it cannot be read.

    >>> [millicores(text) for text in ("250m", "2", "0.5", "12000000n", "")]
    [250, 2000, 500, 12, 0]
    """
    scales = {"m": 1, "u": 1_000, "n": 1_000_000}
    suffix = quantity[-1:]
    try:
        if suffix in scales:
            return int(quantity[:-1]) // scales[suffix]
        whole, _, fraction = quantity.partition(".")
        return int(whole or "0") * 1000 + int((fraction + "000")[:3])
    except ValueError:
        return 0
