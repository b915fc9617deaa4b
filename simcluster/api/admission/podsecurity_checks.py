"""The checks of the Pod Security Standards: what each level forbids, and how it says so.

A check gets the pod's metadata and spec and answers with reason and detail, or None.

Source: k8s.io/pod-security-admission/policy of Kubernetes 1.32 (the texts of its results).
Left out: what older versions of the policies demanded before 1.19 (seccomp annotations) and
the exemptions for user namespaces, a feature that is off.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

Pod = Mapping[str, Any]


class Violation(NamedTuple):
    """What a pod violates, as in `privileged` and `container "c" must not set ...`."""

    reason: str
    detail: str


class Check(NamedTuple):
    """One check.

    Attributes:
        since: minor version of the policy from which it holds.
        overrides: checks of the baseline level that it makes superfluous.
    """

    identifier: str
    since: int
    find: Callable[[Pod, Pod, int], Violation | None]
    overrides: tuple[str, ...] = ()


_VOLUMES_ALLOWED = (
    *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"),
)
_DEFAULT_CAPABILITIES = (
    *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE"),
    *("SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
)
#: Sysctls that are safe, with the minor version from which the policy says so.
_SYSCTLS = {
    "kernel.shm_rmid_forced": 0,
    "net.ipv4.ip_local_port_range": 0,
    "net.ipv4.tcp_syncookies": 0,
    "net.ipv4.ping_group_range": 0,
    "net.ipv4.ip_unprivileged_port_start": 0,
    "net.ipv4.ip_local_reserved_ports": 27,
    "net.ipv4.tcp_keepalive_time": 29,
    "net.ipv4.tcp_fin_timeout": 29,
    "net.ipv4.tcp_keepalive_intvl": 29,
    "net.ipv4.tcp_keepalive_probes": 29,
    "net.ipv4.tcp_rmem": 32,
    "net.ipv4.tcp_wmem": 32,
}
_SELINUX_TYPES = {"": 0, "container_t": 0, "container_init_t": 0, "container_kvm_t": 0, "container_engine_t": 31}
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
#: From this version on Windows pods are exempt from what Windows does not know.
_WINDOWS_EXEMPT = 25


def containers_of(spec: Pod) -> list[Pod]:
    """All containers of a pod, in the order of the checks."""
    return [c for group in ("initContainers", "containers", "ephemeralContainers") for c in spec.get(group) or ()]


def _security(holder: Pod) -> Pod:
    found: Pod = holder.get("securityContext") or {}
    return found


def _quoted(values: Iterable[str]) -> str:
    return ", ".join(json.dumps(value) for value in values)


def _plural(one: str, many: str, count: int) -> str:
    return one if count == 1 else many


def _named(names: list[str]) -> str:
    return f"{_plural('container', 'containers', len(names))} {_quoted(names)}"


def _setters(spec: Pod, is_bad: Callable[[Pod], bool]) -> list[str]:
    """`pod` and `container "a"`: those whose security context is bad."""
    found = ["pod"] if is_bad(_security(spec)) else []
    names = [c.get("name", "") for c in containers_of(spec) if is_bad(_security(c))]
    return [*found, _named(names)] if names else found


def _is_windows(spec: Pod, minor: int) -> bool:
    return minor >= _WINDOWS_EXEMPT and (spec.get("os") or {}).get("name") == "windows"


# Baseline.


def _host_namespaces(metadata: Pod, spec: Pod, minor: int) -> Violation | None:
    names = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    return Violation("host namespaces", ", ".join(names)) if names else None


def _privileged(metadata: Pod, spec: Pod, minor: int) -> Violation | None:
    names = [c.get("name", "") for c in containers_of(spec) if _security(c).get("privileged")]
    return Violation("privileged", f"{_named(names)} must not set securityContext.privileged=true") if names else None


def _added_capabilities(spec: Pod, allowed: Iterable[str]) -> str:
    names, forbidden = [], set[str]()
    for container in containers_of(spec):
        added = (_security(container).get("capabilities") or {}).get("add") or ()
        bad = [capability for capability in added if capability not in allowed]
        if bad:
            names.append(container.get("name", ""))
            forbidden.update(bad)
    if not names:
        return ""
    return f"{_named(names)} must not include {_quoted(sorted(forbidden))} in securityContext.capabilities.add"


def _capabilities_baseline(metadata: Pod, spec: Pod, minor: int) -> Violation | None:
    detail = _added_capabilities(spec, _DEFAULT_CAPABILITIES)
    return Violation("non-default capabilities", detail) if detail else None


def _host_paths(metadata: Pod, spec: Pod, minor: int) -> Violation | None:
    names = [v.get("name", "") for v in spec.get("volumes") or () if v.get("hostPath") is not None]
    if not names:
        return None
    return Violation("hostPath volumes", f"{_plural('volume', 'volumes', len(names))} {_quoted(names)}")


def _host_ports(metadata: Pod, spec: Pod, minor: int) -> Violation | None:
    names, ports = [], set[str]()
    for container in containers_of(spec):
        used = [str(p["hostPort"]) for p in container.get("ports") or () if p.get("hostPort")]
        if used:
            names.append(container.get("name", ""))
            ports.update(used)
    if not names:
        return None
    verb = _plural("uses", "use", len(names))
    listed = f"{_plural('hostPort', 'hostPorts', len(ports))} {', '.join(sorted(ports))}"
    return Violation("hostPort", f"{_named(names)} {verb} {listed}")


def _app_armor(metadata: Pod, spec: Pod, minor: int) -> Violation | None:
    def is_bad(security: Pod) -> bool:
        return (security.get("appArmorProfile") or {}).get("type") == "Unconfined"

    setters = _setters(spec, is_bad)
    values = {"Unconfined"} if setters else set()
    details = [f"{' and '.join(setters)} must not set AppArmor profile type to {_quoted(sorted(values))}"]
    annotations = [
        f"{key}={json.dumps(value)}"
        for key, value in sorted((metadata.get("annotations") or {}).items())
        if key.startswith(_APPARMOR) and value not in ("", "runtime/default") and not value.startswith("localhost/")
    ]
    if not setters and not annotations:
        return None
    count = len(values) + len(annotations)
    reason = _plural("forbidden AppArmor profile", "forbidden AppArmor profiles", count)
    return Violation(reason, ", ".join([*(details if setters else ()), *annotations]))


def _selinux(metadata: Pod, spec: Pod, minor: int) -> Violation | None:
    types, others = set[str](), {"user": False, "role": False}

    def is_bad(security: Pod) -> bool:
        options = security.get("seLinuxOptions") or {}
        kind = options.get("type", "")
        bad = minor < _SELINUX_TYPES.get(kind, minor + 1)
        if bad:
            types.add(kind)
        for name in others:
            if options.get(name):
                others[name] = bad = True
        return bad

    setters = _setters(spec, is_bad)
    if not setters:
        return None
    data = [f"{_plural('type', 'types', len(types))} {_quoted(sorted(types))}"] if types else []
    data += [f"{name} may not be set" for name, is_set in others.items() if is_set]
    text = f"{' and '.join(setters)} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"
    return Violation("seLinuxOptions", text)


def _proc_mount(metadata: Pod, spec: Pod, minor: int) -> Violation | None:
    names, values = [], set[str]()
    for container in containers_of(spec):
        value = _security(container).get("procMount") or "Default"
        if value != "Default":
            names.append(container.get("name", ""))
            values.add(value)
    if not names:
        return None
    return Violation(
        "procMount", f"{_named(names)} must not set securityContext.procMount to {_quoted(sorted(values))}"
    )


def _seccomp_values(spec: Pod) -> tuple[list[str], set[str]]:
    values = set[str]()

    def is_bad(security: Pod) -> bool:
        kind = (security.get("seccompProfile") or {}).get("type")
        if kind in (None, "RuntimeDefault", "Localhost"):
            return False
        values.add(kind)
        return True

    return _setters(spec, is_bad), values


def _seccomp_baseline(metadata: Pod, spec: Pod, minor: int) -> Violation | None:
    setters, values = _seccomp_values(spec)
    if not setters:
        return None
    text = f"{' and '.join(setters)} must not set securityContext.seccompProfile.type to {_quoted(sorted(values))}"
    return Violation("seccompProfile", text)


def _sysctls(metadata: Pod, spec: Pod, minor: int) -> Violation | None:
    names = [
        s.get("name", "")
        for s in _security(spec).get("sysctls") or ()
        if minor < _SYSCTLS.get(s.get("name", ""), minor + 1)
    ]
    return Violation("forbidden sysctls", ", ".join(names)) if names else None


def _host_process(metadata: Pod, spec: Pod, minor: int) -> Violation | None:
    def is_bad(security: Pod) -> bool:
        return bool((security.get("windowsOptions") or {}).get("hostProcess"))

    setters = _setters(spec, is_bad)
    if not setters:
        return None
    return Violation(
        "hostProcess", f"{' and '.join(setters)} must not set securityContext.windowsOptions.hostProcess=true"
    )


# Restricted.


def _escalation(metadata: Pod, spec: Pod, minor: int) -> Violation | None:
    if _is_windows(spec, minor):
        return None
    names = [
        c.get("name", "") for c in containers_of(spec) if _security(c).get("allowPrivilegeEscalation") is not False
    ]
    if not names:
        return None
    return Violation(
        "allowPrivilegeEscalation != false", f"{_named(names)} must set securityContext.allowPrivilegeEscalation=false"
    )


def _capabilities_restricted(metadata: Pod, spec: Pod, minor: int) -> Violation | None:
    if _is_windows(spec, minor):
        return None
    keeping = [
        c.get("name", "")
        for c in containers_of(spec)
        if "ALL" not in ((_security(c).get("capabilities") or {}).get("drop") or ())
    ]
    details = [f'{_named(keeping)} must set securityContext.capabilities.drop=["ALL"]'] if keeping else []
    added = _added_capabilities(spec, ("NET_BIND_SERVICE",))
    if added:
        details.append(added)
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def _volume_types(metadata: Pod, spec: Pod, minor: int) -> Violation | None:
    names, types = [], set[str]()
    for volume in spec.get("volumes") or ():
        kinds = [key for key in volume if key != "name"]
        if not any(kind in _VOLUMES_ALLOWED for kind in kinds):
            names.append(volume.get("name", ""))
            types.update(kinds or ["unknown"])
    if not names:
        return None
    uses = f"{_plural('volume', 'volumes', len(names))} {_quoted(names)} {_plural('uses', 'use', len(names))}"
    kinds_text = f"{_plural('volume type', 'volume types', len(types))} {_quoted(sorted(types))}"
    return Violation("restricted volume types", f"{uses} restricted {kinds_text}")


def _non_root(metadata: Pod, spec: Pod, minor: int) -> Violation | None:
    setters = _setters(spec, lambda security: security.get("runAsNonRoot") is False)
    if setters:
        text = f"{' and '.join(setters)} must not set securityContext.runAsNonRoot=false"
        return Violation("runAsNonRoot != true", text)
    if _security(spec).get("runAsNonRoot"):
        return None
    silent = [c.get("name", "") for c in containers_of(spec) if _security(c).get("runAsNonRoot") is None]
    if not silent:
        return None
    return Violation("runAsNonRoot != true", f"pod or {_named(silent)} must set securityContext.runAsNonRoot=true")


def _run_as_user(metadata: Pod, spec: Pod, minor: int) -> Violation | None:
    setters = _setters(spec, lambda security: security.get("runAsUser") == 0)
    return Violation("runAsUser=0", f"{' and '.join(setters)} must not set runAsUser=0") if setters else None


def _seccomp_restricted(metadata: Pod, spec: Pod, minor: int) -> Violation | None:
    if _is_windows(spec, minor):
        return None
    bad = _seccomp_baseline(metadata, spec, minor)
    if bad is not None or _security(spec).get("seccompProfile"):
        return bad
    silent = [c.get("name", "") for c in containers_of(spec) if not _security(c).get("seccompProfile")]
    if not silent:
        return None
    wanted = 'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {_named(silent)} must set {wanted}")


BASELINE: tuple[Check, ...] = (
    Check("appArmorProfile", 0, _app_armor),
    Check("capabilities_baseline", 0, _capabilities_baseline),
    Check("hostNamespaces", 0, _host_namespaces),
    Check("hostPathVolumes", 0, _host_paths),
    Check("hostPorts", 0, _host_ports),
    Check("privileged", 0, _privileged),
    Check("procMount", 0, _proc_mount),
    Check("seLinuxOptions", 0, _selinux),
    Check("seccompProfile_baseline", 19, _seccomp_baseline),
    Check("sysctls", 0, _sysctls),
    Check("windowsHostProcess", 0, _host_process),
)
RESTRICTED: tuple[Check, ...] = (
    Check("allowPrivilegeEscalation", 8, _escalation),
    Check("capabilities_restricted", 22, _capabilities_restricted, ("capabilities_baseline",)),
    Check("restrictedVolumes", 0, _volume_types, ("hostPathVolumes",)),
    Check("runAsNonRoot", 0, _non_root),
    Check("runAsUser", 23, _run_as_user),
    Check("seccompProfile_restricted", 19, _seccomp_restricted, ("seccompProfile_baseline",)),
)
