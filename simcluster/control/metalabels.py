"""Meta labels that discovery in a cluster gives to pods, their containers and ports, and to objects at all.

Source: discovery/kubernetes of Prometheus 3 (pod.go), which promtail uses, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simcluster.api.objects import ApiObject, condition, controller_of, name_of, namespace_of, uid_of

META = "__meta_kubernetes_"


def sanitised(name: str) -> str:
    """A label's name of what Kubernetes calls a label (strutil.SanitizeLabelName)."""
    return "".join([c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name])


def described(kind: str, obj: Mapping[str, Any]) -> dict[str, str]:
    """Name, labels and annotations of an object."""
    found = {f"{META}{kind}_name": name_of(obj)}
    for part in ("label", "annotation"):
        for name, value in (obj["metadata"].get(f"{part}s") or {}).items():
            found[f"{META}{kind}_{part}_{sanitised(name)}"] = value
            found[f"{META}{kind}_{part}present_{sanitised(name)}"] = "true"
    return found


def of_pod(pod: Mapping[str, Any]) -> dict[str, str]:
    """Labels of a pod."""
    status, controller = pod.get("status") or {}, controller_of(pod)
    ready = condition(pod, "Ready")
    found = {
        **described("pod", pod),
        f"{META}pod_ip": status.get("podIP", ""),
        f"{META}pod_ready": str(ready["status"] if ready else "unknown").lower(),
        f"{META}pod_phase": status.get("phase", ""),
        f"{META}pod_node_name": pod["spec"].get("nodeName", ""),
        f"{META}pod_host_ip": status.get("hostIP", ""),
        f"{META}pod_uid": uid_of(pod),
    }
    if controller is not None:
        found[f"{META}pod_controller_kind"] = controller["kind"]
        found[f"{META}pod_controller_name"] = controller["name"]
    return found


def of_container(pod: Mapping[str, Any], container: Mapping[str, Any], init: bool = False) -> dict[str, str]:
    """Labels of one of its containers."""
    listed = (pod.get("status") or {}).get("initContainerStatuses" if init else "containerStatuses") or ()
    ids = [one.get("containerID", "") for one in listed if one["name"] == container["name"]]
    return {
        f"{META}pod_container_name": container["name"],
        f"{META}pod_container_image": container["image"],
        f"{META}pod_container_id": ids[0] if ids else "",
        f"{META}pod_container_init": str(init).lower(),
    }


def of_port(port: Mapping[str, Any]) -> dict[str, str]:
    """Labels of a port of a container."""
    return {
        f"{META}pod_container_port_name": port.get("name", ""),
        f"{META}pod_container_port_number": str(port["containerPort"]),
        f"{META}pod_container_port_protocol": port.get("protocol", "TCP"),
    }


def pod_labels(pod: ApiObject) -> Iterator[dict[str, str]]:
    """What the role `pod` discovers: a container and port at a time; nothing while there is no address."""
    address = (pod.get("status") or {}).get("podIP", "")
    if not address:
        return
    found = {**of_pod(pod), f"{META}namespace": namespace_of(pod)}
    containers = [(one, False) for one in pod["spec"]["containers"]]
    containers += [(one, True) for one in pod["spec"].get("initContainers") or ()]
    for container, init in containers:
        known = {**found, **of_container(pod, container, init)}
        ports = container.get("ports") or ()
        if not ports:
            yield {**known, "__address__": address}
        for port in ports:
            yield {**known, **of_port(port), "__address__": f"{address}:{port['containerPort']}"}
