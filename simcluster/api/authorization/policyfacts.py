"""The compact file of bootstrap roles, read into objects of the wire form.

Source of the facts: plugin/pkg/auth/authorizer/rbac/bootstrappolicy and kubeadm's
clusterinfo and node phases, Kubernetes 1.32.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from simcluster.api.objects import Json

GROUP = "rbac.authorization.k8s.io"
AGGREGATE_LABEL = f"{GROUP}/aggregate-to-"
_FACTS = Path(__file__).with_name("bootstrap-1.32.yaml")
_WORDS = {
    "read": ("get", "list", "watch"),
    "write": ("create", "delete", "deletecollection", "patch", "update"),
}
_EVENTS = "create patch update | core events.k8s.io | events"
_SUBJECTS = {"group": "Group", "user": "User", "account": "ServiceAccount"}
_OWN = {
    "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
}


@functools.cache
def facts() -> Any:
    """The file as it stands."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(_FACTS.read_text(encoding="utf-8"), Loader=loader)


def rule_of(text: str) -> Json:
    """One rule.

    >>> rule_of("get | core | configmaps | cluster-info")
    {'verbs': ['get'], 'apiGroups': [''], 'resources': ['configmaps'], 'resourceNames': ['cluster-info']}
    """
    parts = [part.split() for part in (_EVENTS if text == "events" else text).split("|")]
    verbs = [verb for word in parts[0] for verb in _WORDS.get(word, (word,))]
    if len(parts) == 2:
        return {"nonResourceURLs": parts[1], "verbs": verbs}
    rule: Json = {"verbs": verbs, "apiGroups": ["" if group == "core" else group for group in parts[1]]}
    rule["resources"] = parts[2]
    if len(parts) > 3:
        rule["resourceNames"] = parts[3]
    return rule


@functools.cache
def node_rules() -> tuple[Json, ...]:
    """What a kubelet may do (the rules of `system:node`). Do not change them."""
    return tuple(rule_of(text) for text in facts()["clusterRoles"]["system:node"])


def policy() -> Iterator[Json]:
    """Every role and binding, in the order in which they are created."""
    found = facts()
    yield from _cluster_roles(found)
    for name, subjects in found["clusterRoleBindings"].items():
        yield _binding("", name, "ClusterRole", name, subjects)
    for name in found["controllers"]:
        role = f"system:controller:{name}"
        yield _binding("", role, "ClusterRole", role, [f"account:kube-system/{name}"])
    for path, rules in found["roles"].items():
        namespace, _, name = path.partition("/")
        yield _role("Role", namespace, name, map(rule_of, rules))
    for path, (role, *subjects) in found["roleBindings"].items():
        namespace, _, name = path.partition("/")
        yield _binding(namespace, name, "Role", role, subjects)
    kubeadm = found["kubeadm"]
    for name, rules in kubeadm["clusterRoles"].items():
        yield _without_marks(_role("ClusterRole", "", name, map(rule_of, rules)))
    for name, (role, *subjects) in kubeadm["clusterRoleBindings"].items():
        yield _without_marks(_binding("", name, "ClusterRole", role, subjects))


def _cluster_roles(found: Any) -> Iterator[Json]:
    roles: dict[str, Json] = {}
    for name, rules in found["clusterRoles"].items():
        roles[name] = _role("ClusterRole", "", name, map(rule_of, rules))
    for name in found["aggregated"]:
        role = roles[name] = _role("ClusterRole", "", name, ())
        label = {f"{AGGREGATE_LABEL}{name}": "true"}
        roles[name] = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": label}]}, **role}
    for name, into in found["aggregateTo"].items():
        roles[name]["metadata"]["labels"][f"{AGGREGATE_LABEL}{into}"] = "true"
    for name, rules in found["controllers"].items():
        roles[name] = _role("ClusterRole", "", f"system:controller:{name}", map(rule_of, rules))
    yield from roles.values()


def _metadata(namespace: str, name: str) -> Json:
    metadata: Json = {"name": name, **{key: dict(value) for key, value in _OWN.items()}}
    if namespace:
        metadata["namespace"] = namespace
    return metadata


def _role(kind: str, namespace: str, name: str, rules: Iterable[Json]) -> Json:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": _metadata(namespace, name),
        "rules": list(rules) or None,
    }


def _binding(namespace: str, name: str, role_kind: str, role: str, subjects: Iterable[str]) -> Json:
    binding: Json = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": _metadata(namespace, name),
        "roleRef": {"apiGroup": GROUP, "kind": role_kind, "name": role},
    }
    listed = [_subject(text) for text in subjects]
    return {**binding, "subjects": listed} if listed else binding


def _subject(text: str) -> Json:
    kind, _, name = text.partition(":")
    if kind == "account":
        namespace, _, account = name.partition("/")
        return {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    return {"apiGroup": GROUP, "kind": _SUBJECTS[kind], "name": name}


def _without_marks(obj: Json) -> Json:
    """As kubeadm creates it: without the labels of the server's own."""
    for key in _OWN:
        del obj["metadata"][key]
    return obj
