"""What Prometheus discovers in a cluster: targets and their meta labels, by role.

Source: discovery/kubernetes of Prometheus 3 (node.go, pod.go, service.go, endpoints.go). What did not change keeps
the targets that were made of it, so that a look at a calm cluster costs little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from simcluster.api.objects import ApiObject, name_of, namespace_of
from simcluster.api.store import Store
from simcluster.control.metalabels import META, described, of_container, of_pod, of_port, pod_labels
from simcluster.engine import FlatDict
from simcluster.telemetry.metrics.columns import Labels
from simcluster.telemetry.metrics.config import Discovery, Job
from simcluster.telemetry.metrics.relabel import relabelled

#: What each role lists and watches.
RESOURCES = {
    "node": ("nodes",),
    "service": ("services",),
    "pod": ("pods",),
    "endpoints": ("endpoints", "services", "pods"),
}


class Target(NamedTuple):
    """Something to scrape.

    Attributes:
        job: by name; scheme, address (`host:port`), path: where.
        labels: those of its series, sorted.
    """

    job: str
    scheme: str
    address: str
    path: str
    labels: Labels

    @property
    def url(self) -> str:
        """Where it is scraped."""
        return f"{self.scheme}://{self.address}{self.path}"


#: A target, and its labels before relabelling (`/api/v1/targets`), sorted.
Discovered = tuple[Target, Labels]
Found = tuple[tuple[ApiObject | None, ...], tuple[Discovered, ...]]
#: What one discovery of a job found, by job, resource, namespace and name.
Listing = tuple[tuple[tuple[str, str, str, str], Found], ...]


class Discoverer:
    """The targets of a configuration's jobs, found in what informers have seen.

    Args:
        store: the objects.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        #: By job, resource, namespace and name: the objects that targets were made of, and the targets.
        self._known: dict[tuple[str, str, str, str], Found] = FlatDict()
        #: By job and number of its discovery: when its resources had changed last, and what was found.
        self._lists: dict[tuple[str, int], tuple[tuple[int, ...], Listing]] = FlatDict()

    def targets(self, jobs: Sequence[Job], synced: Callable[[str], bool]) -> dict[Target, Labels]:
        """All targets in the order of jobs, with their labels before relabelling.

        Args:
            synced: whether a resource has been listed: else it is not seen.
        """
        found: list[Discovered] = []
        kept: dict[tuple[str, str, str, str], Found] = FlatDict()
        for job in jobs:
            for addresses, labels in job.static:
                for address in addresses:
                    target = make_target(job, {"__address__": address, **dict(labels)})
                    found += [target] if target is not None else []
            for number, discovery in enumerate(job.discoveries):
                if all(map(synced, RESOURCES[discovery.role])):
                    changed = tuple(map(self.store.changed_at, RESOURCES[discovery.role]))
                    before = self._lists.get((job.name, number))
                    if before is None or before[0] != changed:
                        before = self._lists[job.name, number] = changed, tuple(self._discovered(job, discovery))
                    for key, known in before[1]:
                        kept[key] = known
                        found += known[1]
        self._known = kept
        # Several ports of one address may come to the same target (scrape/manager.go: by URL and labels).
        return FlatDict(found)

    def _discovered(self, job: Job, discovery: Discovery) -> Iterator[tuple[tuple[str, str, str, str], Found]]:
        resource = RESOURCES[discovery.role][0]
        make = _MAKERS[discovery.role]
        for namespace in discovery.namespaces or ("",):
            for obj in self.store.objects(resource, namespace):
                sources = self._sources(discovery.role, obj)
                key = (job.name, resource, namespace_of(obj), name_of(obj))
                known = self._known.get(key)
                if (
                    known is None
                    or len(known[0]) != len(sources)
                    or any(a is not b and not _alike(a, b) for a, b in zip(known[0], sources, strict=True))
                ):
                    made = (make_target(job, labels) for labels in make(sources))
                    known = (sources, tuple(target for target in made if target is not None))
                yield key, known

    def _sources(self, role: str, obj: ApiObject) -> tuple[ApiObject | None, ...]:
        """The object, and others whose labels its targets have."""
        if role != "endpoints":
            return (obj,)
        namespace = namespace_of(obj)
        service = self.store.get("services", namespace, name_of(obj))
        pods = [
            self.store.get("pods", namespace, reference["name"])
            for subset in obj.get("subsets") or ()
            for address in (*(subset.get("addresses") or ()), *(subset.get("notReadyAddresses") or ()))
            if (reference := address.get("targetRef") or {}).get("kind") == "Pod"
        ]
        return (obj, service, *pods)


def _alike(before: ApiObject | None, now: ApiObject | None) -> bool:
    """Whether two states of a node give the same targets: heartbeats change nothing of them."""
    if before is None or now is None or now.get("kind") != "Node" or name_of(before) != name_of(now):
        return False
    meta, past = now["metadata"], before["metadata"]
    status, earlier = now.get("status") or {}, before.get("status") or {}
    return all(meta.get(key) == past.get(key) for key in ("labels", "annotations")) and all(
        status.get(key) == earlier.get(key) for key in ("addresses", "daemonEndpoints")
    )


def make_target(job: Job, labels: Mapping[str, str]) -> Discovered | None:
    """A target of labels as they were discovered, unless relabelling drops it (scrape/target.go, PopulateLabels)."""
    parameters = {f"__param_{name}": value for name, value in job.params}
    given = {"job": job.name, "__metrics_path__": job.path, "__scheme__": job.scheme, **parameters, **labels}
    found = relabelled(given, job.rules)
    if found is None or not found.get("__address__"):
        return None
    address, scheme = found["__address__"], found.get("__scheme__", "http")
    found.setdefault("instance", address)
    shown = tuple(sorted((name, value) for name, value in found.items() if not name.startswith("__")))
    path = found.get("__metrics_path__", "/metrics")
    asked = [(name.removeprefix("__param_"), value) for name, value in found.items() if name.startswith("__param_")]
    target = Target(job.name, scheme, address, f"{path}?{urlencode(sorted(asked))}" if asked else path, shown)
    return target, tuple(sorted(given.items()))


def _node(sources: Sequence[ApiObject | None]) -> Iterator[dict[str, str]]:
    node = sources[0]
    assert node is not None
    addresses = {one["type"]: one["address"] for one in (node.get("status") or {}).get("addresses") or ()}
    port = ((node.get("status") or {}).get("daemonEndpoints") or {}).get("kubeletEndpoint", {}).get("Port", 10250)
    found = {**described("node", node), "instance": name_of(node)}
    found |= {f"{META}node_address_{kind}": address for kind, address in addresses.items()}
    if "InternalIP" in addresses:
        yield {**found, "__address__": f"{addresses['InternalIP']}:{port}"}


def _service(sources: Sequence[ApiObject | None]) -> Iterator[dict[str, str]]:
    service = sources[0]
    assert service is not None
    host = f"{name_of(service)}.{namespace_of(service)}.svc"
    found = {**described("service", service), f"{META}namespace": namespace_of(service)}
    found[f"{META}service_cluster_ip"] = service["spec"].get("clusterIP", "")
    found[f"{META}service_type"] = service["spec"].get("type", "ClusterIP")
    for port in service["spec"].get("ports") or ():
        named = {f"{META}service_port_name": port.get("name", ""), f"{META}service_port_number": str(port["port"])}
        named[f"{META}service_port_protocol"] = port.get("protocol", "TCP")
        yield {**found, **named, "__address__": f"{host}:{port['port']}"}


def _pod(sources: Sequence[ApiObject | None]) -> Iterator[dict[str, str]]:
    pod = sources[0]
    assert pod is not None
    yield from pod_labels(pod)


def _endpoints(sources: Sequence[ApiObject | None]) -> Iterator[dict[str, str]]:
    endpoints, service, *others = sources
    assert endpoints is not None
    pods = {name_of(pod): pod for pod in others if pod is not None}
    found = {**described("endpoints", endpoints), f"{META}namespace": namespace_of(endpoints)}
    if service is not None:
        found |= next(_service((service,)), {})
        for key in [key for key in found if key.startswith(f"{META}service_port") or key == "__address__"]:
            del found[key]
    for subset in endpoints.get("subsets") or ():
        for ready, listed in (("true", subset.get("addresses")), ("false", subset.get("notReadyAddresses"))):
            for address in listed or ():
                for port in subset.get("ports") or ():
                    yield {**found, **_endpoint(address, port, ready, pods)}


def _endpoint(
    address: Mapping[str, Any], port: Mapping[str, Any], ready: str, pods: Mapping[str, ApiObject]
) -> dict[str, str]:
    found = {
        "__address__": f"{address['ip']}:{port['port']}",
        f"{META}endpoint_port_name": port.get("name", ""),
        f"{META}endpoint_port_protocol": port.get("protocol", "TCP"),
        f"{META}endpoint_ready": ready,
        f"{META}endpoint_node_name": address.get("nodeName", ""),
    }
    reference = address.get("targetRef") or {}
    if reference:
        found[f"{META}endpoint_address_target_kind"] = reference.get("kind", "")
        found[f"{META}endpoint_address_target_name"] = reference.get("name", "")
    pod = pods.get(reference.get("name", "")) if reference.get("kind") == "Pod" else None
    if pod is not None:
        found |= of_pod(pod)
        for container in pod["spec"]["containers"]:
            for declared in container.get("ports") or ():
                if declared["containerPort"] == port["port"]:
                    found |= {**of_container(pod, container), **of_port(declared)}
    return found


_MAKERS = {"node": _node, "service": _service, "pod": _pod, "endpoints": _endpoints}
