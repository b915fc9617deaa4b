"""The environment of a container: literals, ConfigMaps, Secrets, the downward API, service links.

Source: kubelet_pods.go (makeEnvironmentVariables), envvars.go (FromServices), and
third_party/forked/golang/expansion for `$(NAME)`. Leaves out: `fileKeyRef`.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

from simcluster.api import quantity
from simcluster.api.objects import ApiObject, Json, name_of, namespace_of, uid_of
from simcluster.api.store import Store
from simcluster.control.kubelet.podspec import Pod, container_named, containers_of, cpu_millis, memory_bytes

#: `PATH` of images that set none (Docker's default); HOSTNAME is set by the runtime.
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_REFERENCE = re.compile(r"\$(?:\$|\(([^()]*)\))")


class ConfigError(Exception):
    """The container cannot be configured (CreateContainerConfigError); the message is the kubelet's."""


class NodeFacts:
    """What the downward API needs beyond the pod: node name, addresses, allocatable."""

    def __init__(self, name: str, address: str, cpu_millicores: int, memory: int) -> None:
        self.name = name
        self.address = address
        self.cpu_millicores = cpu_millicores
        self.memory = memory


def build_environment(cache: Store, pod: Pod, container: Json, pod_address: str, node: NodeFacts) -> dict[str, str]:
    """All variables of a container, in the order in which a process would list them.

    Raises:
        ConfigError: a ConfigMap, Secret or key is missing and not optional.
    """
    result = {"PATH": DEFAULT_PATH, "HOSTNAME": str(pod["spec"].get("hostname") or name_of(pod))[:63]}
    for source in container.get("envFrom") or ():
        result.update(_from_source(cache, namespace_of(pod), source))
    links = service_links(cache, namespace_of(pod), every=pod["spec"].get("enableServiceLinks", True) is not False)
    for entry in container.get("env") or ():
        value = _value(cache, pod, container, entry, pod_address, node, {**links, **result})
        if value is not None:
            result[entry["name"]] = value
    for key, text in links.items():
        result.setdefault(key, text)
    return result


def expand(text: str, values: Mapping[str, str]) -> str:
    """Replace `$(NAME)`; unknown names stay, `$$` is one dollar.

    >>> expand("$(A)-$(B)-$$(A)", {"A": "1"})
    '1-$(B)-$(A)'
    """

    def replace(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        return values.get(match[1], match[0])

    return _REFERENCE.sub(replace, text)


def service_links(cache: Store, namespace: str, *, every: bool) -> dict[str, str]:
    """Docker-style variables of the namespace's Services; `kubernetes` always."""
    result: dict[str, str] = {}
    services = list(cache.objects("services", namespace)) if every else []
    master = cache.get("services", "default", "kubernetes")
    if master is not None and not any(name_of(s) == "kubernetes" for s in services):
        services.append(master)
    for service in services:
        _link(service, result)
    return result


def _link(service: ApiObject, result: dict[str, str]) -> None:
    address = service["spec"].get("clusterIP")
    ports = service["spec"].get("ports") or []
    if not address or address == "None" or not ports:
        return
    prefix = name_of(service).upper().replace("-", "_").replace(".", "_")
    result[f"{prefix}_SERVICE_HOST"] = address
    result[f"{prefix}_SERVICE_PORT"] = str(ports[0]["port"])
    for port in ports:
        if port.get("name"):
            result[f"{prefix}_SERVICE_PORT_{port['name'].upper().replace('-', '_')}"] = str(port["port"])
    for index, port in enumerate(ports):
        protocol = str(port.get("protocol") or "TCP")
        url = f"{protocol.lower()}://{address}:{port['port']}"
        if index == 0:
            result[f"{prefix}_PORT"] = url
        stem = f"{prefix}_PORT_{port['port']}_{protocol.upper()}"
        result[stem] = url
        result[f"{stem}_PROTO"] = protocol.lower()
        result[f"{stem}_PORT"] = str(port["port"])
        result[f"{stem}_ADDR"] = address


def _from_source(cache: Store, namespace: str, source: Json) -> dict[str, str]:
    prefix = source.get("prefix") or ""
    for field, resource, kind in (("configMapRef", "configmaps", "configmap"), ("secretRef", "secrets", "secret")):
        reference = source.get(field)
        if reference is None:
            continue
        found = cache.get(resource, namespace, reference.get("name", ""))
        if found is None:
            if reference.get("optional"):
                return {}
            raise ConfigError(f'{kind} "{reference.get("name", "")}" not found')
        return {prefix + key: text for key, text in data_of(found).items()}
    return {}


def data_of(obj: ApiObject) -> dict[str, str]:
    """The decoded data of a ConfigMap or Secret, sorted by key."""
    if obj["kind"] == "Secret":
        raw = obj.get("data") or {}
        return {key: base64.b64decode(raw[key]).decode("utf-8", "replace") for key in sorted(raw)}
    raw = obj.get("data") or {}
    return {key: raw[key] for key in sorted(raw)}


def _value(
    cache: Store,
    pod: Pod,
    container: Json,
    entry: Json,
    pod_address: str,
    node: NodeFacts,
    known: Mapping[str, str],
) -> str | None:
    source = entry.get("valueFrom")
    if source is None:
        return expand(str(entry.get("value") or ""), known)
    if "fieldRef" in source:
        return field_value(pod, source["fieldRef"]["fieldPath"], pod_address, node)
    if "resourceFieldRef" in source:
        return resource_value(pod, container, source["resourceFieldRef"], node)
    if "configMapKeyRef" in source:
        return _key(cache, namespace_of(pod), source["configMapKeyRef"], "configmaps", "ConfigMap")
    if "secretKeyRef" in source:
        return _key(cache, namespace_of(pod), source["secretKeyRef"], "secrets", "Secret")
    return ""


def _key(cache: Store, namespace: str, reference: Json, resource: str, kind: str) -> str | None:
    found = cache.get(resource, namespace, reference.get("name", ""))
    if found is None:
        if reference.get("optional"):
            return None
        raise ConfigError(f'{kind.lower()} "{reference.get("name", "")}" not found')
    data = data_of(found)
    if reference["key"] not in data:
        if reference.get("optional"):
            return None
        raise ConfigError(f"couldn't find key {reference['key']} in {kind} {namespace}/{reference['name']}")
    return data[reference["key"]]


def field_value(pod: Pod, path: str, pod_address: str, node: NodeFacts) -> str:
    """A field of the downward API (`metadata.labels['app']`, `status.podIP`)."""
    metadata, spec = pod["metadata"], pod["spec"]
    subscript = re.fullmatch(r"metadata\.(labels|annotations)\['(.*)'\]", path)
    if subscript:
        return str((metadata.get(subscript[1]) or {}).get(subscript[2], ""))
    if path in ("metadata.labels", "metadata.annotations"):
        values = metadata.get(path.rpartition(".")[2]) or {}
        return "\n".join(f'{key}="{values[key]}"' for key in sorted(values))
    fields = {
        "metadata.name": name_of(pod),
        "metadata.namespace": namespace_of(pod),
        "metadata.uid": uid_of(pod),
        "spec.nodeName": node.name,
        "spec.serviceAccountName": str(spec.get("serviceAccountName") or "default"),
        "status.hostIP": node.address,
        "status.hostIPs": node.address,
        "status.podIP": pod_address,
        "status.podIPs": pod_address,
    }
    if path not in fields:
        raise ConfigError(f"unsupported fieldPath: {path}")
    return fields[path]


def resource_value(pod: Pod, container: Json | None, reference: Json, node: NodeFacts) -> str:
    """A container's request or limit divided by the divisor, rounded up; the node's if unset."""
    named = reference.get("containerName")
    target = container_named(pod, named) if named else container or containers_of(pod)[0]
    which, _, name = reference["resource"].partition(".")
    divisor = reference.get("divisor") or "1"
    if divisor == "0":
        divisor = "1"
    if name == "cpu":
        milli = cpu_millis(target, which)
        if milli is None:
            milli = node.cpu_millicores if which == "limits" else 0
        return str(-(-milli // max(1, quantity.to_millicores(divisor))))
    amount = memory_bytes(target, which)
    if amount is None:
        amount = node.memory if which == "limits" else 0
    return str(-(-amount // max(1, quantity.to_bytes(divisor))))
