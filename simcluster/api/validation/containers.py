"""Containers: names, images, ports, environment, mounts, resources, probes, security.

Source: pkg/apis/core/validation/validation.go, validateContainers and what it calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.api import names
from simcluster.api.validation.causes import Causes, Obj
from simcluster.api.validation.resources import validate_requirements
from simcluster.api.validation.volumes import validate_local_path

PROTOCOLS = ("SCTP", "TCP", "UDP")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES = ("FallbackToLogsOnError", "File")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_ENV_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef")

#: Paths that an environment variable may take from its pod; map keys apart.
_ENV_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)


def validate_containers(
    containers: Sequence[Obj] | None, volumes: Mapping[str, Obj], path: str, grace_s: int, causes: Causes
) -> None:
    """The regular containers of a pod."""
    if not containers:
        causes.required(path)
        return
    seen: dict[str, None] = {}
    for index, container in enumerate(containers):
        where = f"{path}[{index}]"
        _validate_common(container, volumes, where, causes)
        name = container.get("name", "")
        if name in seen:
            causes.duplicate(f"{where}.name", name)
        seen[name] = None
        _validate_lifecycle(container.get("lifecycle"), f"{where}.lifecycle", grace_s, causes)
        _validate_probes(container, where, grace_s, causes)
        if container.get("restartPolicy") is not None:
            causes.forbidden(f"{where}.restartPolicy", "may not be set for non-init containers")
    _check_host_ports(containers, path, causes)


def validate_init_containers(
    containers: Sequence[Obj] | None,
    regular: Sequence[Obj],
    volumes: Mapping[str, Obj],
    path: str,
    grace_s: int,
    causes: Causes,
) -> None:
    """The init containers; those with `restartPolicy: Always` are sidecars and may have probes."""
    seen = {container.get("name", ""): None for container in regular}
    for index, container in enumerate(containers or ()):
        where = f"{path}[{index}]"
        _validate_common(container, volumes, where, causes)
        policy = container.get("restartPolicy")
        if policy is not None and policy != "Always":
            causes.not_supported(f"{where}.restartPolicy", policy, ("Always",))
        name = container.get("name", "")
        if name and name in seen:
            causes.duplicate(f"{where}.name", name)
        seen[name] = None
        if policy == "Always":
            _validate_lifecycle(container.get("lifecycle"), f"{where}.lifecycle", grace_s, causes)
            _validate_probes(container, where, grace_s, causes)
            continue
        for key in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if container.get(key) is not None:
                causes.forbidden(f"{where}.{key}", "may not be set for init containers without restartPolicy=Always")


def validate_ephemeral_containers(
    containers: Sequence[Obj] | None, others: Sequence[Obj], volumes: Mapping[str, Obj], path: str, causes: Causes
) -> None:
    """The ephemeral containers of `kubectl debug`."""
    seen = {container.get("name", ""): None for container in others}
    for index, container in enumerate(containers or ()):
        where = f"{path}[{index}]"
        _validate_common(container, volumes, where, causes)
        name = container.get("name", "")
        if name and name in seen:
            causes.duplicate(f"{where}.name", name)
        seen[name] = None
        target = container.get("targetContainerName")
        if target and not any(other.get("name") == target for other in others):
            causes.not_found(f"{where}.targetContainerName", target)
        for key in ("ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"):
            if container.get(key):
                causes.forbidden(f"{where}.{key}", "cannot be set for an Ephemeral Container")
        if container.get("resources"):
            causes.forbidden(f"{where}.resources", "cannot be set for an Ephemeral Container")


def _validate_common(container: Obj, volumes: Mapping[str, Obj], path: str, causes: Causes) -> None:
    name, image = container.get("name"), container.get("image")
    if not name:
        causes.required(f"{path}.name")
    else:
        causes.checked(f"{path}.name", name, names.dns_label(name))
    if not image:
        causes.required(f"{path}.image")
    elif image != image.strip():
        causes.invalid(f"{path}.image", image, "must not have leading or trailing whitespace")
    policy = container.get("terminationMessagePolicy")
    causes.one_of(f"{path}.terminationMessagePolicy", policy, _MESSAGE_POLICIES)
    _validate_ports(container.get("ports") or (), f"{path}.ports", causes)
    _validate_env(container.get("env") or (), f"{path}.env", causes)
    _validate_env_from(container.get("envFrom") or (), f"{path}.envFrom", causes)
    _validate_mounts(container.get("volumeMounts") or (), volumes, f"{path}.volumeMounts", causes)
    _validate_devices(container.get("volumeDevices") or (), volumes, f"{path}.volumeDevices", causes)
    causes.one_of(f"{path}.imagePullPolicy", container.get("imagePullPolicy"), _PULL_POLICIES)
    validate_requirements(container.get("resources") or {}, f"{path}.resources", causes)
    _validate_security(container.get("securityContext"), f"{path}.securityContext", causes)


def _validate_ports(ports: Sequence[Obj], path: str, causes: Causes) -> None:
    seen: dict[str, None] = {}
    for index, port in enumerate(ports):
        where, name = f"{path}[{index}]", port.get("name")
        if name:
            problems = names.port_name(name)
            if problems:
                causes.checked(f"{where}.name", name, problems)
            elif name in seen:
                causes.duplicate(f"{where}.name", name)
            else:
                seen[name] = None
        number = port.get("containerPort", 0)
        if number == 0:
            causes.required(f"{where}.containerPort")
        else:
            causes.checked(f"{where}.containerPort", number, names.port_number(number))
        host_port = port.get("hostPort", 0)
        if host_port:
            causes.checked(f"{where}.hostPort", host_port, names.port_number(host_port))
        causes.one_of(f"{where}.protocol", port.get("protocol"), PROTOCOLS)


def _check_host_ports(containers: Sequence[Obj], path: str, causes: Causes) -> None:
    seen: dict[str, None] = {}
    for index, container in enumerate(containers):
        for position, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            text = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if text in seen:
                causes.duplicate(f"{path}[{index}].ports[{position}].hostPort", text)
            seen[text] = None


def _validate_env(variables: Sequence[Obj], path: str, causes: Causes) -> None:
    for index, variable in enumerate(variables):
        where, name = f"{path}[{index}]", variable.get("name")
        if not name:
            causes.required(f"{where}.name")
        else:
            causes.checked(f"{where}.name", name, names.environment_name(name))
        source = variable.get("valueFrom")
        if source is not None:
            _validate_env_source(source, bool(variable.get("value")), f"{where}.valueFrom", causes)


def _validate_env_source(source: Obj, has_value: bool, path: str, causes: Causes) -> None:
    given = [key for key in _ENV_SOURCES if source.get(key) is not None]
    for key in given:
        body = source[key]
        if key == "fieldRef":
            _validate_field_ref(body, f"{path}.fieldRef", causes)
        elif key == "resourceFieldRef":
            if not body.get("resource"):
                causes.required(f"{path}.resourceFieldRef.resource")
        else:
            causes.checked(f"{path}.{key}.name", body.get("name", ""), names.dns_subdomain(body.get("name", "")))
            if not body.get("key"):
                causes.required(f"{path}.{key}.key")
            else:
                causes.checked(f"{path}.{key}.key", body["key"], names.config_key(body["key"]))
    if not given:
        listed = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        causes.invalid(path, "", f"must specify one of: {listed}")
    if has_value:
        if given:
            causes.invalid(path, "", "may not be specified when `value` is not empty")
    elif len(given) > 1:
        causes.invalid(path, "", "may not have more than one field specified at a time")


def _validate_field_ref(body: Obj, path: str, causes: Causes) -> None:
    if not body.get("apiVersion"):
        causes.required(f"{path}.apiVersion")
        return
    field = body.get("fieldPath", "")
    if not field:
        causes.required(f"{path}.fieldPath")
        return
    for prefix in ("metadata.labels", "metadata.annotations"):
        if field.startswith(prefix + "['") and field.endswith("']"):
            key = field[len(prefix) + 2 : -2]
            causes.checked(path, key, names.qualified_name(key))
            return
    if field not in _ENV_FIELDS:
        if field.startswith(("metadata.", "spec.", "status.")) and field in _POD_LABELS:
            causes.not_supported(f"{path}.fieldPath", field, _ENV_FIELDS)
        else:
            detail = f"error converting fieldPath: field label not supported: {field}"
            causes.invalid(f"{path}.fieldPath", field, detail)


#: Field labels a Pod has, of which not all may become a variable.
_POD_LABELS = (
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.hostNetwork",
    "status.phase",
    "status.nominatedNodeName",
)


def _validate_env_from(sources: Sequence[Obj], path: str, causes: Causes) -> None:
    for index, source in enumerate(sources):
        where = f"{path}[{index}]"
        prefix = source.get("prefix")
        if prefix:
            causes.checked(f"{where}.prefix", prefix, names.environment_name(prefix))
        given = [key for key in ("configMapRef", "secretRef") if source.get(key) is not None]
        for key in given:
            name = source[key].get("name", "")
            if not name:
                causes.required(f"{where}.{key}.name")
            else:
                causes.checked(f"{where}.{key}.name", name, names.dns_subdomain(name))
        if not given:
            causes.invalid(where, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(given) > 1:
            causes.invalid(where, "", "may not have more than one field specified at a time")


def _validate_mounts(mounts: Sequence[Obj], volumes: Mapping[str, Obj], path: str, causes: Causes) -> None:
    seen: dict[str, None] = {}
    for index, mount in enumerate(mounts):
        where, name, target = f"{path}[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            causes.required(f"{where}.name")
        if name not in volumes:
            causes.not_found(f"{where}.name", name)
        if not target:
            causes.required(f"{where}.mountPath")
        if target in seen:
            causes.invalid(f"{where}.mountPath", target, "must be unique")
        seen[target] = None
        for key in ("subPath", "subPathExpr"):
            if mount.get(key):
                validate_local_path(mount[key], f"{where}.{key}", causes)
        if mount.get("subPath") and mount.get("subPathExpr"):
            causes.invalid(
                f"{where}.subPathExpr", mount["subPathExpr"], "subPathExpr and subPath are mutually exclusive"
            )


def _validate_devices(devices: Sequence[Obj], volumes: Mapping[str, Obj], path: str, causes: Causes) -> None:
    """Volumes that a container has as block devices."""
    taken: tuple[dict[str, None], dict[str, None]] = ({}, {})
    for index, device in enumerate(devices):
        where, name, target = f"{path}[{index}]", device.get("name", ""), device.get("devicePath", "")
        if not name:
            causes.required(f"{where}.name")
        if name not in volumes:
            causes.not_found(f"{where}.name", name)
        elif "persistentVolumeClaim" not in volumes[name] and "ephemeral" not in volumes[name]:
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            causes.invalid(f"{where}.name", name, detail)
        if not target:
            causes.required(f"{where}.devicePath")
        elif ".." in target.split("/"):
            causes.invalid(f"{where}.devicePath", target, "can not contain backsteps ('..')")
        for key, value, known in (("name", name, taken[0]), ("devicePath", target, taken[1])):
            if value in known:
                causes.invalid(f"{where}.{key}", value, "must be unique")
            known[value] = None


def _validate_lifecycle(lifecycle: Obj | None, path: str, grace_s: int, causes: Causes) -> None:
    for key in ("postStart", "preStop"):
        if lifecycle and lifecycle.get(key) is not None:
            _validate_handler(lifecycle[key], f"{path}.{key}", grace_s, causes)


def _validate_probes(container: Obj, path: str, grace_s: int, causes: Causes) -> None:
    for key in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(key)
        if probe is None:
            continue
        where = f"{path}.{key}"
        _validate_handler(probe, where, grace_s, causes)
        for name in (
            "initialDelaySeconds",
            "timeoutSeconds",
            "periodSeconds",
            "successThreshold",
            "failureThreshold",
        ):
            causes.not_negative(f"{where}.{name}", probe.get(name))
        grace = probe.get("terminationGracePeriodSeconds")
        if key == "readinessProbe":
            if grace is not None:
                causes.invalid(f"{where}.terminationGracePeriodSeconds", grace, "must not be set for readinessProbes")
            continue
        if grace is not None and grace <= 0:
            causes.invalid(f"{where}.terminationGracePeriodSeconds", grace, "must be greater than 0")
        if probe.get("successThreshold", 1) != 1:
            causes.invalid(f"{where}.successThreshold", probe["successThreshold"], "must be 1")


def _validate_handler(handler: Obj, path: str, grace_s: int, causes: Causes) -> None:
    given = [key for key in _HANDLERS if handler.get(key) is not None]
    for position, key in enumerate(given):
        if position:
            causes.forbidden(f"{path}.{key}", "may not specify more than 1 handler type")
            continue
        _validate_action(key, handler[key], f"{path}.{key}", grace_s, causes)
    if not given:
        causes.required(path, "must specify a handler type")


def _validate_action(key: str, action: Obj, path: str, grace_s: int, causes: Causes) -> None:
    if key == "exec":
        if not action.get("command"):
            causes.required(f"{path}.command")
    elif key == "httpGet":
        if not action.get("path"):
            causes.required(f"{path}.path")
        port: Any = action.get("port", 0)
        causes.checked(f"{path}.port", port, names.port_number_or_name(port))
        causes.one_of(f"{path}.scheme", action.get("scheme"), ("HTTP", "HTTPS"), required=False)
        for header in action.get("httpHeaders") or ():
            causes.checked(f"{path}.httpHeaders", header.get("name", ""), names.http_header(header.get("name", "")))
    elif key == "tcpSocket":
        port = action.get("port", 0)
        causes.checked(f"{path}.port", port, names.port_number_or_name(port))
    elif key == "grpc":
        port = action.get("port", 0)
        causes.checked(f"{path}.port", port, names.port_number(port))
    elif action.get("seconds", 0) <= 0 or action["seconds"] > grace_s:
        why = f"must be greater than 0 and less than terminationGracePeriodSeconds ({grace_s})"
        causes.invalid(path, action.get("seconds", 0), why)


_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")


def validate_profiles(security: Obj, path: str, causes: Causes) -> None:
    """The seccomp and AppArmor profiles of a container or a pod."""
    for key in ("seccompProfile", "appArmorProfile"):
        profile, where, short = security.get(key), f"{path}.{key}", key.removesuffix("Profile").replace("appA", "AppA")
        if profile is None:
            continue
        kind, local = profile.get("type", ""), profile.get("localhostProfile")
        if not kind:
            causes.required(f"{where}.type", f"type is required when {key} is set")
        else:
            causes.one_of(f"{where}.type", kind, _PROFILES)
        if kind == "Localhost" and not local:
            causes.required(f"{where}.localhostProfile", f"must be set when {short} type is Localhost")
        elif kind != "Localhost" and local is not None:
            causes.invalid(f"{where}.localhostProfile", local, f"can only be set when {short} type is Localhost")


def _validate_security(security: Obj | None, path: str, causes: Causes) -> None:
    if not security:
        return
    validate_profiles(security, path, causes)
    for key in ("runAsUser", "runAsGroup"):
        value = security.get(key)
        if value is not None and not 0 <= value < 2**31:
            causes.invalid(f"{path}.{key}", value, "must be between 0 and 2147483647, inclusive")
    if security.get("privileged") and security.get("allowPrivilegeEscalation") is False:
        causes.invalid(path, None, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
