"""`kubectl expose`: a service for what a workload, pod or service selects."""

from __future__ import annotations

from simcluster.api.objects import Json
from simcluster.surface.kubectl.changing import Change
from simcluster.surface.kubectl.errors import plain
from simcluster.surface.kubectl.flags import DRY_RUN, FILES, OUTPUT, RECORD, Arguments, Flag, atoi, manager, switch
from simcluster.surface.kubectl.invocation import Invocation, object_path
from simcluster.surface.kubectl.overrides import overridden
from simcluster.surface.kubectl.selection import Target, fetch

FLAGS = (
    *FILES,
    *OUTPUT,
    DRY_RUN,
    RECORD,
    manager("kubectl-expose"),
    Flag("cluster-ip"),
    Flag("external-ip"),
    Flag("labels", "l"),
    Flag("load-balancer-ip"),
    Flag("name"),
    Flag("override-type", default="merge"),
    Flag("overrides"),
    Flag("port"),
    Flag("protocol"),
    switch("save-config"),
    Flag("selector"),
    Flag("session-affinity"),
    Flag("target-port"),
    Flag("type"),
)


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl expose`."""
    change = Change(invocation, arguments)
    targets, failures = fetch(invocation, arguments, arguments.positional, latest=False)
    failures.raise_all()
    for target in targets:
        service = change.recorded(overridden(_service(arguments, target), arguments, "Service"))
        services = invocation.find("services")
        created = change.create(object_path(services, target.namespace), service)
        change.report(services, created, "exposed")


def _service(arguments: Arguments, target: Target) -> Json:
    selector = _selector(arguments, target)
    ports = _ports(arguments, target)
    spec: Json = {"ports": ports, "selector": selector}
    for flag, field in (
        ("cluster-ip", "clusterIP"),
        ("load-balancer-ip", "loadBalancerIP"),
        ("session-affinity", "sessionAffinity"),
        ("type", "type"),
    ):
        if arguments.text(flag):
            spec[field] = arguments.text(flag)
    if arguments.text("external-ip"):
        spec["externalIPs"] = [arguments.text("external-ip")]
    labels = target.obj["metadata"].get("labels")
    if arguments.text("labels"):
        labels = dict(_pair(part) for part in arguments.text("labels").split(","))
    name = arguments.text("name") or target.name
    metadata: Json = {"creationTimestamp": None, "name": name}
    if labels:
        metadata["labels"] = dict(labels)
    status: Json = {"loadBalancer": {}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec, "status": status}


def _pair(part: str) -> tuple[str, str]:
    key, equals, value = part.partition("=")
    if not equals:
        raise plain(f"unexpected label spec: {part}")
    return key, value


def _selector(arguments: Arguments, target: Target) -> dict[str, str]:
    if arguments.text("selector"):
        return dict(_pair(part) for part in arguments.text("selector").split(","))
    spec, name = target.obj.get("spec") or {}, target.resource.name
    if name == "pods":
        labels = target.obj["metadata"].get("labels")
        if not labels:
            raise plain(
                "couldn't retrieve selectors via --selector flag or introspection: "
                "the pod has no labels and cannot be exposed"
            )
        return dict(labels)
    if name == "services":
        if not spec.get("selector"):
            raise plain(
                "couldn't retrieve selectors via --selector flag or introspection: the service has no pod selector set"
            )
        return dict(spec["selector"])
    if name == "replicationcontrollers":
        return dict(spec.get("selector") or {})
    if name in ("deployments.apps", "replicasets.apps"):
        if (spec.get("selector") or {}).get("matchExpressions"):
            raise plain(
                "couldn't retrieve selectors via --selector flag or introspection: "
                f'couldn\'t convert expressions - "{_expressions(spec["selector"])}" to map-based selector format'
            )
        return dict((spec.get("selector") or {}).get("matchLabels") or {})
    group = f".{target.resource.group}" if target.resource.group else ""
    raise plain(f"cannot expose a {target.resource.kind}{group}")


def _expressions(selector: Json) -> str:
    """Requirements as Go's `%+v` prints them."""
    shown = [
        f"{{Key:{entry['key']} Operator:{entry['operator']} Values:[{' '.join(entry.get('values') or ())}]}}"
        for entry in selector["matchExpressions"]
    ]
    return f"[{' '.join(shown)}]"


def _ports(arguments: Arguments, target: Target) -> list[Json]:
    protocol = arguments.text("protocol")
    known = _protocols(target)
    if arguments.text("port"):
        numbers = [atoi(part) for part in arguments.text("port").split(",")]
    else:
        numbers = _container_ports(target)
        if not numbers:
            raise plain(
                "couldn't find port via --port flag or introspection\nSee 'kubectl expose -h' for help and examples"
            )
    wanted = arguments.text("target-port")
    ports = []
    for i, number in enumerate(numbers):
        port: Json = {"port": number, "protocol": protocol or known.get(number, "TCP"), "targetPort": number}
        if wanted:
            port["targetPort"] = int(wanted) if wanted.isdigit() else wanted
        if len(numbers) > 1:
            port["name"] = f"port-{i + 1}"
        ports.append(port)
    return ports


def _protocols(target: Target) -> dict[int, str]:
    """The protocol of each port that the object names."""
    spec = target.obj.get("spec") or {}
    if target.resource.name == "services":
        return {port["port"]: port.get("protocol", "TCP") for port in spec.get("ports") or ()}
    pod = spec if target.resource.name == "pods" else (spec.get("template") or {}).get("spec") or {}
    return {
        port["containerPort"]: port.get("protocol", "TCP")
        for container in pod.get("containers") or ()
        for port in container.get("ports") or ()
    }


def _container_ports(target: Target) -> list[int]:
    spec = target.obj.get("spec") or {}
    if target.resource.name == "services":
        return [port["port"] for port in spec.get("ports") or ()]
    pod = spec if target.resource.name == "pods" else (spec.get("template") or {}).get("spec") or {}
    return [port["containerPort"] for container in pod.get("containers") or () for port in container.get("ports") or ()]
