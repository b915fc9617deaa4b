"""Pods and pod templates.

Source: pkg/apis/core/validation/validation.go, ValidatePodSpec and ValidatePodUpdate.
Left out: Windows, SELinux and AppArmor profiles, dynamic resource claims.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simcluster.api import names
from simcluster.api.validation.causes import Causes, Obj
from simcluster.api.validation.containers import (
    validate_containers,
    validate_ephemeral_containers,
    validate_init_containers,
    validate_profiles,
)
from simcluster.api.validation.metadata import validate_labels, validate_template_metadata
from simcluster.api.validation.podchanges import pod_spec_difference
from simcluster.api.validation.scheduling import validate_affinity, validate_spread, validate_tolerations
from simcluster.api.validation.volumes import validate_volumes

#: Source: sysctlContainSlashRegexp.
_SYSCTL = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?")
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")

_UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` "
    "(only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it "
    "was previously negative)"
)


def validate_pod(pod: Obj, causes: Causes) -> None:
    """A new Pod, its metadata apart."""
    spec = pod.get("spec") or {}
    validate_pod_spec(spec, "spec", causes)
    if spec.get("ephemeralContainers"):
        causes.forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        causes.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")


def validate_template(template: Obj, path: str, causes: Causes) -> None:
    """The template of a workload."""
    validate_template_metadata(template.get("metadata"), f"{path}.metadata", causes)
    spec = template.get("spec") or {}
    validate_pod_spec(spec, f"{path}.spec", causes)
    if spec.get("ephemeralContainers"):
        causes.forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")


def validate_pod_template(template: Obj, causes: Causes) -> None:
    """core/v1 PodTemplate."""
    validate_template(template.get("template") or {}, "template", causes)


def validate_pod_spec(spec: Obj, path: str, causes: Causes) -> None:
    """A PodSpec."""
    volumes = validate_volumes(spec.get("volumes") or (), f"{path}.volumes", causes)
    grace_s = spec.get("terminationGracePeriodSeconds") or 0
    regular = spec.get("containers") or ()
    validate_containers(regular, volumes, f"{path}.containers", grace_s, causes)
    init = spec.get("initContainers")
    if init:
        validate_init_containers(init, regular, volumes, f"{path}.initContainers", grace_s, causes)
    ephemeral = spec.get("ephemeralContainers")
    if ephemeral:
        others = (*regular, *(init or ()))
        validate_ephemeral_containers(ephemeral, others, volumes, f"{path}.ephemeralContainers", causes)
    if spec.get("hostNetwork"):
        _validate_host_network(regular, f"{path}.containers", causes)
    causes.one_of(f"{path}.restartPolicy", spec.get("restartPolicy"), _RESTART_POLICIES)
    causes.one_of(f"{path}.dnsPolicy", spec.get("dnsPolicy"), _DNS_POLICIES)
    validate_labels(spec.get("nodeSelector"), f"{path}.nodeSelector", causes)
    if spec.get("os") is not None:
        causes.one_of(f"{path}.os.name", spec["os"].get("name"), ("linux", "windows"))
    _validate_security(spec.get("securityContext") or {}, f"{path}.securityContext", causes)
    _validate_pull_secrets(spec.get("imagePullSecrets") or (), f"{path}.imagePullSecrets", causes)
    validate_affinity(spec.get("affinity"), f"{path}.affinity", causes)
    _validate_dns(spec, path, causes)
    _validate_gates(spec, path, causes)
    validate_spread(spec.get("topologySpreadConstraints") or (), f"{path}.topologySpreadConstraints", causes)
    _validate_identity(spec, path, causes)
    validate_tolerations(spec.get("tolerations") or (), f"{path}.tolerations", causes)
    _validate_host_aliases(spec.get("hostAliases") or (), f"{path}.hostAliases", causes)
    for key in ("priorityClassName", "runtimeClassName"):
        if spec.get(key):
            causes.checked(f"{path}.{key}", spec[key], names.dns_subdomain(spec[key]))


def _validate_security(security: Obj, path: str, causes: Causes) -> None:
    _validate_users(security, path, causes)
    validate_profiles(security, path, causes)
    seen: dict[str, None] = {}
    for index, setting in enumerate(security.get("sysctls") or ()):
        where, name = f"{path}.sysctls[{index}].name", setting.get("name", "")
        if not name:
            causes.required(where)
        elif len(name) > 253 or not _SYSCTL.fullmatch(name):
            causes.invalid(where, name, f"must have at most 253 characters and match regex ^{_SYSCTL.pattern}$")
        elif name in seen:
            causes.duplicate(where, name)
        seen[name] = None


def _validate_users(security: Obj, path: str, causes: Causes) -> None:
    """Users and groups of the whole pod."""
    for key in ("fsGroup", "runAsUser", "runAsGroup"):
        value = security.get(key)
        if value is not None and not 0 <= value < 2**31:
            causes.invalid(f"{path}.{key}", value, "must be between 0 and 2147483647, inclusive")
    for index, group in enumerate(security.get("supplementalGroups") or ()):
        if not 0 <= group < 2**31:
            causes.invalid(f"{path}.supplementalGroups[{index}]", group, "must be between 0 and 2147483647, inclusive")


def _validate_host_network(containers: Sequence[Obj], path: str, causes: Causes) -> None:
    for index, container in enumerate(containers):
        for position, port in enumerate(container.get("ports") or ()):
            host_port = port.get("hostPort")
            if host_port is not None and host_port != port.get("containerPort"):
                where = f"{path}[{index}].ports[{position}].hostPort"
                causes.invalid(where, host_port, "must match `containerPort` when `hostNetwork` is true")


def _validate_pull_secrets(secrets: Sequence[Obj], path: str, causes: Causes) -> None:
    for index, secret in enumerate(secrets):
        if set(secret) - {"name"}:
            causes.invalid(f"{path}[{index}]", None, "only name may be set")


def _validate_dns(spec: Obj, path: str, causes: Causes) -> None:
    config = spec.get("dnsConfig")
    servers = (config or {}).get("nameservers") or ()
    if spec.get("dnsPolicy") == "None":
        if config is None:
            causes.required(f"{path}.dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not servers:
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            causes.required(f"{path}.dnsConfig.nameservers", detail)
    for index, server in enumerate(servers):
        causes.checked(f"{path}.dnsConfig.nameservers[{index}]", server, names.ip_address(server))
    if len(servers) > 3:
        shown = list(servers)
        causes.invalid(f"{path}.dnsConfig.nameservers", shown, "must not have more than 3 nameservers")


def _validate_gates(spec: Obj, path: str, causes: Causes) -> None:
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        kind = gate.get("conditionType", "")
        causes.checked(f"{path}.readinessGates[{index}].conditionType", kind, names.qualified_name(kind))
    seen: dict[str, None] = {}
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        name = gate.get("name", "")
        where = f"{path}.schedulingGates[{index}]"
        causes.checked(where, name, names.qualified_name(name))
        if name in seen:
            causes.duplicate(where, name)
        seen[name] = None


def _validate_identity(spec: Obj, path: str, causes: Causes) -> None:
    for key in ("serviceAccountName", "nodeName"):
        if spec.get(key):
            causes.checked(f"{path}.{key}", spec[key], names.dns_subdomain(spec[key]))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline < 2**31:
        detail = "must be between 1 and 2147483647, inclusive"
        causes.invalid(f"{path}.activeDeadlineSeconds", deadline, detail)
    causes.not_negative(f"{path}.terminationGracePeriodSeconds", _grace_to_check(spec))
    for key in ("hostname", "subdomain"):
        if spec.get(key):
            causes.checked(f"{path}.{key}", spec[key], names.dns_label(spec[key]))


def _grace_to_check(spec: Obj) -> int | None:
    # The server turns a negative grace period into 1 before it validates; nothing to refuse.
    grace = spec.get("terminationGracePeriodSeconds")
    return None if grace is not None and grace < 0 else grace


def _validate_host_aliases(aliases: Sequence[Obj], path: str, causes: Causes) -> None:
    for index, alias in enumerate(aliases):
        causes.checked(f"{path}[{index}].ip", alias.get("ip", ""), names.ip_address(alias.get("ip", "")))
        for position, name in enumerate(alias.get("hostnames") or ()):
            causes.checked(f"{path}[{index}].hostnames[{position}]", name, names.dns_subdomain(name))


# Update.


def validate_pod_update(pod: Obj, old: Obj, causes: Causes) -> None:
    """A Pod's spec after a write: almost nothing of it may change."""
    spec, before = pod.get("spec") or {}, old.get("spec") or {}
    validate_pod_spec(spec, "spec", causes)
    for key in ("containers", "initContainers"):
        if len(spec.get(key) or ()) != len(before.get(key) or ()):
            causes.forbidden(f"spec.{key}", "pod updates may not add or remove containers")
            return
    _validate_deadline_update(spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"), causes)
    _validate_toleration_update(spec.get("tolerations") or (), before.get("tolerations") or (), causes)
    wanted, kept = dict(_comparable(spec, before)), dict(_comparable(before, before))
    if wanted != kept:
        detail = f"pod updates may not change fields other than {_UPDATABLE}\n{pod_spec_difference(wanted, kept)}"
        causes.forbidden("spec", detail)


def _validate_deadline_update(deadline: int | None, before: int | None, causes: Causes) -> None:
    path = "spec.activeDeadlineSeconds"
    if deadline is not None:
        if before is not None and before < deadline:
            causes.invalid(path, deadline, "must be less than or equal to previous value")
    elif before is not None:
        causes.invalid(path, None, "must not update from a positive integer to nil value")


def _validate_toleration_update(new: Sequence[Obj], old: Sequence[Obj], causes: Causes) -> None:
    for toleration in old:
        same = [t for t in new if _without_seconds(t) == _without_seconds(toleration)]
        if not same:
            detail = "existing toleration can not be modified except its tolerationSeconds"
            causes.forbidden("spec.tolerations", detail)
            return


def _without_seconds(toleration: Obj) -> dict[str, Any]:
    return {k: v for k, v in toleration.items() if k != "tolerationSeconds"}


def _comparable(spec: Obj, before: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """A spec without what may change: images, deadline, tolerations, cleared scheduling gates."""
    for key, value in spec.items():
        if key in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
            continue
        if key in ("containers", "initContainers"):
            yield key, [{k: v for k, v in container.items() if k != "image"} for container in value or ()]
        elif key == "terminationGracePeriodSeconds" and value == 1 and before.get(key, 0) < 0:
            yield key, before[key]
        else:
            yield key, value
