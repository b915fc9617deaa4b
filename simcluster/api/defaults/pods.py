"""Defaults of Pods, pod templates, containers, probes and volumes.

Source: pkg/apis/core/v1/defaults.go. A template gets what every PodSpec gets; requests
from limits, `enableServiceLinks` and host ports of host-network pods are set on Pods only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

_FILE_MODE = 0o644

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")

#: Container keys that hold containers of each sort.
CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")


def image_tag(image: str) -> str:
    """The tag by which `imagePullPolicy` is chosen: `latest` if there is none, empty with a digest.

    Source: pkg/util/parsers, ParseImageName.

    >>> [image_tag(i) for i in ("nginx", "localhost:5000/a", "a:1.0", "a@sha256:" + "0" * 64, "")]
    ['latest', 'latest', '1.0', '', '']
    """
    if not image or "@" in image:
        return ""
    name, colon, tag = image.rpartition(":")
    if not colon or "/" in tag:
        return "latest"
    return tag if name else ""


def apply_pod(pod: Json) -> None:
    """A Pod."""
    spec = pod.setdefault("spec", {})
    apply_pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)
    for key in ("containers", "initContainers"):
        for container in spec.get(key) or ():
            _requests_from_limits(container)
            if spec.get("hostNetwork"):
                _host_ports(container)
    pod.setdefault("status", {})


def apply_template(owner: Json) -> None:
    """The `template` of a workload's spec."""
    template = owner.setdefault("template", {})
    template.setdefault("metadata", {}).setdefault("creationTimestamp", None)
    apply_pod_spec(template.setdefault("spec", {}))


def apply_pod_spec(spec: Json) -> None:
    """What every PodSpec gets."""
    spec.setdefault("containers", None)
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        # One is the deprecated name of the other; conversion keeps both.
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for key in CONTAINER_LISTS:
        for container in spec.get(key) or ():
            _apply_container(container)
    for volume in spec.get("volumes") or ():
        apply_volume(volume)


def _apply_container(container: Json) -> None:
    if "imagePullPolicy" not in container:
        latest = image_tag(container.get("image", "")) == "latest"
        container["imagePullPolicy"] = "Always" if latest else "IfNotPresent"
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    container.setdefault("resources", {})
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or ():
        _apply_reference(variable.get("valueFrom") or {})
    for name in _PROBES:
        if container.get(name) is not None:
            _apply_probe(container[name])
    for hook in (container.get("lifecycle") or {}).values():
        if hook:
            _apply_http(hook.get("httpGet"))


def _apply_probe(probe: Json) -> None:
    for key, default in (
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ):
        if not probe.get(key):
            probe[key] = default
    _apply_http(probe.get("httpGet"))
    if probe.get("grpc") is not None:
        probe["grpc"].setdefault("service", "")


def _apply_http(action: Json | None) -> None:
    if action is None:
        return
    if not action.get("path"):
        action["path"] = "/"
    if not action.get("scheme"):
        action["scheme"] = "HTTP"


def _requests_from_limits(container: Json) -> None:
    limits = (container.get("resources") or {}).get("limits")
    if limits:
        requests = container["resources"].setdefault("requests", {})
        for name, amount in limits.items():
            requests.setdefault(name, amount)


def _host_ports(container: Json) -> None:
    for port in container.get("ports") or ():
        if not port.get("hostPort") and port.get("containerPort"):
            port["hostPort"] = port["containerPort"]


def _sources(volume: Json) -> Iterator[str]:
    return (key for key, value in volume.items() if key != "name" and value is not None)


#: Defaults of fields of in-tree volume plugins (pkg/apis/core/v1/defaults.go).
OLD_SOURCES: dict[str, dict[str, Any]] = {
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "kind": "Shared", "readOnly": False},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"keyring": "/etc/ceph/keyring", "pool": "rbd", "user": "admin"},
    "scaleIO": {"fsType": "xfs", "storageMode": "ThinProvisioned"},
}


def apply_volume(volume: Json) -> None:
    """One volume of a pod; without a source it is an emptyDir."""
    source = next(_sources(volume), None)
    if source is None:
        volume["emptyDir"] = {}
        return
    body = volume[source]
    if source in ("secret", "configMap", "downwardAPI", "projected"):
        body.setdefault("defaultMode", _FILE_MODE)
    if source == "hostPath":
        body.setdefault("type", "")
    elif source == "downwardAPI":
        _apply_downward(body)
    elif source == "projected":
        _apply_projected(body)
    elif source == "ephemeral":
        template = body.get("volumeClaimTemplate")
        if template is not None:
            template.setdefault("metadata", {}).setdefault("creationTimestamp", None)
            template.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
    for key, value in OLD_SOURCES.get(source, {}).items():
        body.setdefault(key, value)


def _apply_reference(source: Json) -> None:
    """A reference of the downward API; a quantity that is not given is 0, and shown."""
    if source.get("fieldRef") is not None:
        source["fieldRef"].setdefault("apiVersion", "v1")
    if source.get("resourceFieldRef") is not None:
        source["resourceFieldRef"].setdefault("divisor", "0")


def _apply_downward(body: Json) -> None:
    for item in body.get("items") or ():
        _apply_reference(item)


def _apply_projected(body: Json) -> None:
    body.setdefault("sources", None)
    for source in body["sources"] or ():
        if source.get("serviceAccountToken") is not None:
            source["serviceAccountToken"].setdefault("expirationSeconds", 3600)
        if source.get("downwardAPI") is not None:
            _apply_downward(source["downwardAPI"])
