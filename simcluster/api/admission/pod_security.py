"""PodSecurity: namespaces say by labels how safe their pods must be.

`pod-security.kubernetes.io/enforce` refuses pods, `warn` tells who creates them or a
workload that would, `audit` has no effect here, there being no audit log. Without labels a
namespace is privileged. Exemptions are none, as in a cluster without configuration.

Source: k8s.io/pod-security-admission/{admission,api}.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from simcluster.api import errors
from simcluster.api.admission.plugin import Cluster, Plugin, refuse
from simcluster.api.admission.podsecurity_checks import BASELINE, RESTRICTED, Violation
from simcluster.api.errors import Cause
from simcluster.api.objects import Json, labels_of, name_of
from simcluster.api.registry.attributes import CREATE, UPDATE, Attributes

PREFIX = "pod-security.kubernetes.io/"
LEVELS = ("privileged", "baseline", "restricted")
#: Minor version of the cluster, which `latest` means.
_LATEST = 32
_VERSION = re.compile(r"latest|v1\.(0|[1-9][0-9]*)")
#: Where a workload keeps its pod template.
_TEMPLATES = {
    "replicationcontrollers": ("spec", "template"),
    "podtemplates": ("template",),
    "replicasets.apps": ("spec", "template"),
    "deployments.apps": ("spec", "template"),
    "statefulsets.apps": ("spec", "template"),
    "daemonsets.apps": ("spec", "template"),
    "jobs.batch": ("spec", "template"),
    "cronjobs.batch": ("spec", "jobTemplate", "spec", "template"),
}
_IGNORED_PARTS = ("exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status")
#: namespaceMaxPodsToCheck of the admission plugin.
_MAX_PODS = 3000


class Policy(NamedTuple):
    """One level at one version."""

    level: str = "privileged"
    version: str = "latest"

    def __str__(self) -> str:
        return f"{self.level}:{self.version}"

    def violations(self, metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> list[Violation]:
        """What a pod violates, baseline first."""
        if self.level == "privileged":
            return []
        minor = _LATEST if self.version == "latest" else int(self.version.removeprefix("v1."))
        restricted = [c for c in RESTRICTED if self.level == "restricted" and minor >= c.since]
        overridden = [identifier for check in restricted for identifier in check.overrides]
        checks = [c for c in BASELINE if minor >= c.since and c.identifier not in overridden] + restricted
        found = (check.find(metadata, spec, minor) for check in checks)
        return [violation for violation in found if violation is not None]


class Policies(NamedTuple):
    """What a namespace demands, and what is wrong with its labels."""

    enforce: Policy
    warn: Policy
    causes: tuple[Cause, ...] = ()


def policies_of(labels: Mapping[str, str]) -> Policies:
    """The policies that labels express; a wrong level counts as restricted, as for the server."""
    causes: list[Cause] = []
    found = {mode: _policy(labels, mode, causes) for mode in ("enforce", "audit", "warn")}
    enforce, warn = found["enforce"], found["warn"]
    # Without a level of its own, `warn` follows a stricter `enforce`.
    if f"{PREFIX}warn" not in labels and f"{PREFIX}enforce" in labels:
        version = warn.version if f"{PREFIX}warn-version" in labels else enforce.version
        if enforce.level != "privileged":
            warn = Policy(enforce.level, version)
    return Policies(enforce, warn, tuple(causes))


def _policy(labels: Mapping[str, str], mode: str, causes: list[Cause]) -> Policy:
    level, version = labels.get(PREFIX + mode), labels.get(f"{PREFIX}{mode}-version", "latest")
    if level is not None and level not in LEVELS:
        why = f'Invalid value: "{level}": must be one of {", ".join(LEVELS)}'
        causes.append(Cause("FieldValueInvalid", why, f"metadata.labels[{PREFIX}{mode}]"))
        level = "restricted" if mode == "enforce" else "privileged"
    if not _VERSION.fullmatch(version):
        why = f'Invalid value: "{version}": must be "latest" or "v1.x"'
        causes.append(Cause("FieldValueInvalid", why, f"metadata.labels[{PREFIX}{mode}-version]"))
        version = "latest"
    return Policy(level or "privileged", version)


def detail_of(violations: list[Violation]) -> str:
    """The violations on one line."""
    return ", ".join(f"{v.reason} ({v.detail})" if v.detail else v.reason for v in violations)


class PodSecurity(Plugin):
    """The plugin."""

    operations: ClassVar[tuple[str, ...]] = (CREATE, UPDATE)
    resources: ClassVar[tuple[str, ...] | None] = ("namespaces", "pods", *_TEMPLATES)

    def validate(self, attributes: Attributes, cluster: Cluster) -> None:
        """Refuse pods, warn about pods, workloads and namespaces."""
        storage = attributes.resource.storage
        if storage == "namespaces":
            if not attributes.subresource:
                _namespace(attributes, cluster)
            return
        if attributes.subresource in _IGNORED_PARTS or (attributes.subresource and storage != "pods"):
            return
        namespace = cluster.by_name("namespaces", "", attributes.namespace)
        labels = (namespace["metadata"].get("labels") or {}) if namespace is not None else {}
        if not any(label.startswith(PREFIX) for label in labels):
            return
        policies = policies_of(labels)
        if storage == "pods":
            _pod(attributes, policies, cluster)
        else:
            template = _template(attributes.new, _TEMPLATES[storage])
            if template is not None:
                _warn(cluster, policies, template)


def _template(obj: Json, path: tuple[str, ...]) -> Json | None:
    found: Any = obj
    for name in path:
        found = (found or {}).get(name)
    return found if found and found.get("spec") else None


def _pod(attributes: Attributes, policies: Policies, cluster: Cluster) -> None:
    pod = attributes.new
    if attributes.old is not None and not _is_significant(pod, attributes.old):
        return
    violations = policies.enforce.violations(pod["metadata"], pod["spec"])
    if violations:
        raise refuse(attributes, f'violates PodSecurity "{policies.enforce}": {detail_of(violations)}')
    _warn(cluster, policies, pod)


def _warn(cluster: Cluster, policies: Policies, pod: Json) -> None:
    violations = policies.warn.violations(pod.get("metadata") or {}, pod["spec"])
    if violations:
        cluster.warnings.append(f'would violate PodSecurity "{policies.warn}": {detail_of(violations)}')


def _is_significant(pod: Json, old: Mapping[str, Any]) -> bool:
    """Whether an update changes what the checks look at: images, and containers that are new."""

    def images(one: Mapping[str, Any]) -> list[list[tuple[str, str]]]:
        groups = ("initContainers", "containers", "ephemeralContainers")
        return [[(c.get("name", ""), c.get("image", "")) for c in one["spec"].get(group) or ()] for group in groups]

    return images(pod) != images(old)


def _namespace(attributes: Attributes, cluster: Cluster) -> None:
    namespace = attributes.new
    new = policies_of(namespace["metadata"].get("labels") or {})
    old = policies_of(labels_of(attributes.old) if attributes.old is not None else {})
    if new.causes and (attributes.old is None or new.causes != old.causes):
        raise errors.invalid("Namespace", "", name_of(namespace), new.causes)
    if attributes.old is None or new.enforce == old.enforce or new.enforce.level == "privileged":
        return
    relaxed = LEVELS.index(new.enforce.level) <= LEVELS.index(old.enforce.level)
    if new.enforce.version == old.enforce.version and relaxed:
        return
    cluster.warnings.extend(_existing_pods(cluster, name_of(namespace), new.enforce))


def _existing_pods(cluster: Cluster, namespace: str, policy: Policy) -> list[str]:
    """Warnings about pods that the new level would not let in."""
    pods = cluster.store.objects("pods", namespace)
    names: dict[str, list[str]] = {}
    for pod in pods[:_MAX_PODS]:
        violations = policy.violations(pod["metadata"], pod["spec"])
        if violations:
            names.setdefault(", ".join(v.reason for v in violations), []).append(name_of(pod))
    warnings = []
    if len(pods) > _MAX_PODS:
        warnings.append(
            f"new PodSecurity enforce level only checked against the first {_MAX_PODS} of {len(pods)} existing pods"
        )
    if names:
        text = f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level "{policy}"'
        warnings.append(text)
    return warnings + sorted(f"{_counted(found)}: {reasons}" for reasons, found in names.items())


def _counted(names: list[str]) -> str:
    others = len(names) - 1
    if not others:
        return names[0]
    return f"{names[0]} (and {others} other pod{'s' if others > 1 else ''})"
