"""What a pod asks of a node: resources and host ports, in integers.

Source: kubernetes pkg/api/v1/resource (PodRequests) and scheduler framework types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api.quantity import to_bytes, to_millicores

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"

#: What scoring assumes for a container that requests nothing (DefaultMilliCPURequest, ...).
DEFAULT_MILLI_CPU = 100
DEFAULT_MEMORY = 200 * 1024 * 1024
#: More than any machine has; the requests of a node full of such pods still fit into 64 bits.
LARGEST = 1 << 56

Requests = dict[str, int]
HostPort = tuple[str, int, str]  # protocol, port, host IP


def amount(resource: str, text: str | int | float) -> int:
    """A quantity as an integer: millicores for cpu, whole units for everything else; at most `LARGEST`."""
    return min(LARGEST, to_millicores(text) if resource == CPU else to_bytes(text))


def parse_resources(resources: Mapping[str, Any] | None) -> Requests:
    """A resource list in integers."""
    return {name: amount(name, text) for name, text in (resources or {}).items()}


def _container(container: Mapping[str, Any]) -> Requests:
    resources = container.get("resources") or {}
    # The API server copies limits into missing requests; hand-made objects may lack that.
    return parse_resources({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def _add(total: Requests, more: Mapping[str, int]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _raise_to(total: Requests, least: Mapping[str, int]) -> None:
    for name, value in least.items():
        total[name] = max(total.get(name, 0), value)


def pod_requests(pod: Mapping[str, Any]) -> Requests:
    """The pod's effective requests.

    Containers run together and are summed; init containers run one after the other, so the
    biggest counts, plus the sidecars (restartable init containers) started before it.
    """
    spec = pod["spec"]
    total: Requests = {}
    for container in spec["containers"]:
        _add(total, _container(container))
    sidecars: Requests = {}
    peak: Requests = {}
    for container in spec.get("initContainers") or ():
        own = _container(container)
        if container.get("restartPolicy") == "Always":
            _add(total, own)
            _add(sidecars, own)
            _raise_to(peak, sidecars)
        else:
            together = dict(sidecars)
            _add(together, own)
            _raise_to(peak, together)
    _raise_to(total, peak)
    _add(total, parse_resources(spec.get("overhead")))
    return {name: value for name, value in total.items() if value}


def assumed_requests(pod: Mapping[str, Any]) -> tuple[int, int]:
    """(millicores, bytes) that scoring counts: a container without a request counts a little."""
    cpu = memory = 0
    for container in pod["spec"]["containers"]:
        own = _container(container)
        cpu += own.get(CPU, DEFAULT_MILLI_CPU)
        memory += own.get(MEMORY, DEFAULT_MEMORY)
    return cpu, memory


def host_ports(pod: Mapping[str, Any]) -> tuple[HostPort, ...]:
    """Host ports that the pod's containers take."""
    return tuple(
        (port.get("protocol", "TCP"), int(port["hostPort"]), port.get("hostIP", "0.0.0.0"))
        for container in pod["spec"]["containers"]
        for port in container.get("ports") or ()
        if port.get("hostPort")
    )


def ports_clash(wanted: HostPort, taken: HostPort) -> bool:
    """Whether two host ports exclude each other; 0.0.0.0 stands for every address.

    >>> ports_clash(("TCP", 80, "0.0.0.0"), ("TCP", 80, "10.0.0.1"))
    True
    """
    if wanted[:2] != taken[:2]:
        return False
    return wanted[2] == taken[2] or "0.0.0.0" in (wanted[2], taken[2])
