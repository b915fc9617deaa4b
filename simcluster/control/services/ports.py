"""From a Service's ports to the ports of a pod.

Source: kubernetes pkg/api/v1/service (FindPort in pkg/api/v1/pod).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api.objects import ApiObject, Json


def find_port(pod: Mapping[str, Any], port: Mapping[str, Any]) -> int | None:
    """The pod's port number for a Service port, or None if it has no port of that name.

    A number is taken as it is, declared or not; a name must be declared with the protocol.
    """
    target = port.get("targetPort") or port["port"]
    if isinstance(target, int):
        return target
    protocol = port.get("protocol", "TCP")
    for container in pod["spec"]["containers"]:
        for entry in container.get("ports") or ():
            if entry.get("name") == target and entry.get("protocol", "TCP") == protocol:
                return int(entry["containerPort"])
    return None


def endpoint_ports(service: ApiObject, pod: ApiObject) -> list[Json]:
    """The ports of an Endpoints subset or EndpointSlice for one pod of a Service."""
    found = []
    for port in service["spec"].get("ports") or ():
        number = find_port(pod, port)
        if number is None:
            continue
        entry: Json = {"name": port["name"]} if port.get("name") else {}
        entry["port"] = number
        entry["protocol"] = port.get("protocol", "TCP")
        if port.get("appProtocol"):
            entry["appProtocol"] = port["appProtocol"]
        found.append(entry)
    return found
