"""The node authorizer: a kubelet sees what the pods on its node need, and no more.

Beyond the rules of the ClusterRole `system:node`, secrets, config maps, claims, volumes and
service account tokens are given only to the node of a pod that refers to them; leases and
CSINodes only to the node of the same name. Left out: volume attachments by name.

Source: plugin/pkg/auth/authorizer/node/node_authorizer.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from simcluster.api.authorization import rules
from simcluster.api.authorization.policyfacts import node_rules
from simcluster.api.authorization.question import Decision, Question
from simcluster.api.objects import ApiObject, Json
from simcluster.api.request import User
from simcluster.api.store import Store

NODES = "system:nodes"
_PREFIX = "system:node:"
_READS = ("get", "list", "watch")
#: Answers by rules alone, which depend on nothing but verb and resource.
_Answers = dict[tuple[str, str, str, str], bool]


def node_of(user: User) -> str:
    """The node whose kubelet the user is, or an empty text."""
    if NODES in user.groups and user.name.startswith(_PREFIX):
        return user.name.removeprefix(_PREFIX)
    return ""


class NodeAuthorizer:
    """Decides what kubelets may do."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._answers: _Answers = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"store": self.store, "_answers": {}}

    def decide(self, node: str, question: Question) -> Decision:
        """Whether the node may; a no is no opinion."""
        special = _SPECIAL.get((question.group, question.resource))
        if special is not None:
            return special(self, node, question)
        key = question[:4]
        allowed = self._answers.get(key)
        if allowed is None:
            allowed = self._answers[key] = any(rules.allows(rule, question) for rule in node_rules())
        return Decision(allowed)

    def allows_all(self, user: User, question: Question) -> bool:
        """Whether the user is a kubelet that may do so to every object of the kind."""
        node = node_of(user)
        return (
            bool(node) and (question.group, question.resource) not in _SPECIAL and self.decide(node, question).allowed
        )

    # Particular resources.

    def _read_referenced(self, node: str, question: Question) -> Decision:
        if question.verb not in _READS:
            return Decision(False, "can only read resources of this type")
        if question.subresource:
            return Decision(False, "cannot read subresource")
        if not question.namespace:
            return Decision(False, "can only read namespaced object of this type")
        return self._related(node, question)

    def _claim(self, node: str, question: Question) -> Decision:
        if question.subresource == "status":
            if question.verb not in ("get", "update", "patch"):
                return Decision(False, "can only get/update/patch this type")
            return self._related(node, question)
        return self._get(node, question)

    def _get(self, node: str, question: Question) -> Decision:
        if question.verb != "get":
            return Decision(False, "can only get individual resources of this type")
        if question.subresource:
            return Decision(False, "cannot get subresource")
        return self._related(node, question)

    def _token(self, node: str, question: Question) -> Decision:
        if question.subresource != "token" or question.verb != "create":
            return Decision(False, "can only create tokens for individual service accounts")
        return self._related(node, question)

    def _lease(self, node: str, question: Question) -> Decision:
        if question.verb not in ("get", "create", "update", "patch", "delete"):
            return Decision(False, "can only get, create, update, patch, or delete a node lease")
        if question.namespace != "kube-node-lease":
            return Decision(False, 'can only access leases in the "kube-node-lease" system namespace')
        if question.verb != "create" and question.name != node:
            return Decision(False, "can only access node lease with the same name as the requesting node")
        return Decision(True)

    def _csi_node(self, node: str, question: Question) -> Decision:
        if question.verb not in ("get", "create", "update", "patch", "delete"):
            return Decision(False, "can only get, create, update, patch, or delete a CSINode")
        if question.subresource:
            return Decision(False, "cannot authorize CSINode subresources")
        if question.verb != "create" and question.name != node:
            return Decision(False, "can only access CSINode with the same name as the requesting node")
        return Decision(True)

    def _related(self, node: str, question: Question) -> Decision:
        wanted = (question.resource, question.name)
        for pod in self.store.pods_on(node):
            if question.resource == "persistentvolumes":
                claims = [name for kind, name in _references(pod) if kind == "persistentvolumeclaims"]
                if any(self._volume_of(pod, name) == question.name for name in claims):
                    return Decision(True)
            elif pod["metadata"]["namespace"] == question.namespace and wanted in _references(pod):
                return Decision(True)
        return Decision(False, f"no relationship found between node '{node}' and this object")

    def _volume_of(self, pod: ApiObject, claim: str) -> str:
        found = self.store.get("persistentvolumeclaims", pod["metadata"]["namespace"], claim)
        return str(found["spec"].get("volumeName", "")) if found is not None else ""


_SPECIAL: dict[tuple[str, str], Callable[[NodeAuthorizer, str, Question], Decision]] = {
    ("", "configmaps"): NodeAuthorizer._read_referenced,
    ("", "secrets"): NodeAuthorizer._read_referenced,
    ("", "persistentvolumeclaims"): NodeAuthorizer._claim,
    ("", "persistentvolumes"): NodeAuthorizer._get,
    ("", "serviceaccounts"): NodeAuthorizer._token,
    ("coordination.k8s.io", "leases"): NodeAuthorizer._lease,
    ("storage.k8s.io", "csinodes"): NodeAuthorizer._csi_node,
}


def _references(pod: ApiObject) -> Iterator[tuple[str, str]]:
    """(resource, name) of what a pod needs to run."""
    spec = pod["spec"]
    yield "serviceaccounts", spec.get("serviceAccountName") or "default"
    for secret in spec.get("imagePullSecrets") or ():
        yield "secrets", secret.get("name", "")
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(group) or ():
            yield from _of_environment(container)
    for volume in spec.get("volumes") or ():
        yield from _of_volume(pod, volume)


def _of_environment(container: Json) -> Iterator[tuple[str, str]]:
    for source in container.get("envFrom") or ():
        yield from _of_pair(source.get("configMapRef"), source.get("secretRef"))
    for variable in container.get("env") or ():
        source = variable.get("valueFrom") or {}
        yield from _of_pair(source.get("configMapKeyRef"), source.get("secretKeyRef"))


def _of_volume(pod: ApiObject, volume: Json) -> Iterator[tuple[str, str]]:
    sources: Iterable[Json] = [volume, *((volume.get("projected") or {}).get("sources") or ())]
    for source in sources:
        config, secret = source.get("configMap"), source.get("secret")
        if config:
            yield "configmaps", config.get("name", "")
        if secret:
            yield "secrets", secret.get("secretName") or secret.get("name", "")
    if volume.get("persistentVolumeClaim"):
        yield "persistentvolumeclaims", volume["persistentVolumeClaim"]["claimName"]
    if volume.get("ephemeral"):
        yield "persistentvolumeclaims", f"{pod['metadata']['name']}-{volume['name']}"


def _of_pair(config: Json | None, secret: Json | None) -> Iterator[tuple[str, str]]:
    if config:
        yield "configmaps", config.get("name", "")
    if secret:
        yield "secrets", secret.get("name", "")
