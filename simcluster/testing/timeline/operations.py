"""Does in the simulated cluster what the marks of a recording say was done.

`rollout NAME TAG` gives a workload's first container another tag, `scale NAME COUNT` another number
of replicas, `kill kubelet NODE` and `start kubelet NODE`, `kill node NODE` and `start node NODE` act
on machines. Everything else is a kubectl command line, with or without the word kubectl; it
acts in the recording's first namespace unless it says otherwise. Names of pods in it are those of the
recording and mean the pods here that play the same roles.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from simcluster.session.deadline import DeadlineClock
from simcluster.testing.golden.cluster import RecordedWorld
from simcluster.testing.golden.desk import FolderFiles
from simcluster.testing.golden.server import LONGEST_NS
from simcluster.testing.timeline.recording import Document, Line, Recording
from simcluster.testing.timeline.roles import Roles

#: What carries containers in `spec.template`, and can be named in `rollout` and `scale`.
_WORKLOADS = {
    "Deployment": "deployments.apps",
    "StatefulSet": "statefulsets.apps",
    "DaemonSet": "daemonsets.apps",
    "ReplicaSet": "replicasets.apps",
    "ReplicationController": "replicationcontrollers",
}
_ROLLOUT_VERBS = ("history", "pause", "restart", "resume", "status", "undo")


class Operator:
    """Who made the objects of the recording and changed them.

    Args:
        lines: what is seen of the simulated cluster, as it grows.
    """

    def __init__(self, world: RecordedWorld, recording: Recording, lines: Sequence[Line]) -> None:
        self.world = world
        self.recording = recording
        self.lines = lines

    def create(self, document: Document) -> None:
        """kubectl apply. An object that the API server refuses is refused here as there."""
        self.world.kubectl().run("apply -f -", yaml.safe_dump(document))

    def operate(self, words: tuple[str, ...]) -> None:
        """Do what a mark says. Raises ValueError for a verb that kubectl does not know."""
        match words:
            case ("rollout", name, tag) if name not in _ROLLOUT_VERBS:
                self._rollout(name, tag)
            case ("scale", name, count) if count.isdecimal():
                self._patch(self._workload(name), {"replicas": int(count)})
            case ("kill" | "stop", "kubelet", node):
                self.world.kill_kubelet(node)
            case ("start" | "restart", "kubelet", node):
                self.world.machines[node].control(words[0], "kubelet")
            case ("kill" | "stop", "node", node):
                self.world.machines[node].power.cut()
            case ("start", "node", node):
                self.world.machines[node].power.give()
            case _:
                self._kubectl(words)

    def _workload(self, name: str) -> Document:
        """The document that `kind/name` or a bare name means."""
        kind, _, bare = name.rpartition("/")
        for document in self.recording.documents:
            fits = document["kind"] in _WORKLOADS and document["kind"].lower().startswith(kind.lower().rstrip("s"))
            if fits and document["metadata"]["name"] == bare:
                return document
        raise ValueError(f"no workload of the manifests is named {name}")

    def _rollout(self, name: str, tag: str) -> None:
        document = self._workload(name)
        container = document["spec"]["template"]["spec"]["containers"][0]
        image = f"{container['image'].rpartition(':')[0]}:{tag}"
        template = {"spec": {"containers": [{"name": container["name"], "image": image}]}}
        self._patch(document, {"template": template})

    def _patch(self, document: Document, spec: Mapping[str, Any]) -> None:
        metadata = document["metadata"]
        client = self.world.client("kubernetes-admin", "kubectl")
        namespace = metadata.get("namespace") or "default"
        client.patch(_WORKLOADS[document["kind"]], namespace, metadata["name"], {"spec": spec})

    def _kubectl(self, words: tuple[str, ...]) -> None:
        kubectl = self.world.kubectl(namespace=self.recording.namespaces[0])
        kubectl.clock = DeadlineClock(self.world, self.world.sim.now + LONGEST_NS)
        result = kubectl.run([self._counterpart(word) for word in words], "", FolderFiles(self.recording.folder, {}))
        if result.exit_code and result.stderr.startswith("error: unknown command"):
            raise ValueError(f"unknown operation: {' '.join(words)}")

    def _counterpart(self, word: str) -> str:
        """A word with the names of the recording's pods replaced by those of the pods in their roles here."""
        there, here = _roles_in(self.recording.lines), _roles_in(self.lines)
        for name in re.findall(r"[a-z0-9][a-z0-9.-]*", word):
            role = there.pod(name)
            members, others = there.members(role), here.members(role)
            if name in members and others:
                word = word.replace(name, others[min(members.index(name), len(others) - 1)])
        return word


def _roles_in(lines: Sequence[Line]) -> Roles:
    roles = Roles()
    for line in lines:
        if line["w"] == "pod":
            roles.meet(line["name"])
    return roles
