"""Writes down what the ten tools of the data set would print of a world at this instant.

`kubectl` prints tables and descriptions; the other answers are put together from the same world: logs, sockets, units.
The recorded cluster ran kube-proxy and the scheduler as units of the nodes, here they are containers: their status is
printed in the same words. Nothing is asked that an operator could not ask.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from simcluster.api.objects import name_of
from simcluster.calibration.cloudopsbench.errorlogs import error_logs
from simcluster.engine import SECOND, format_rfc3339
from simcluster.world import World

NAMESPACED = (
    *("pods", "services", "deployments", "statefulsets", "daemonsets", "configmaps", "secrets"),
    *("persistentvolumeclaims", "replicasets", "ingresses", "networkpolicies", "serviceaccounts", "jobs", "endpoints"),
    *("resourcequota", "rolebindings"),
)
CLUSTERED = ("persistentvolumes", "nodes", "storageclasses")
#: Of these each object is got and described by itself.
_NAMED = (
    *("pods", "services", "deployments", "statefulsets", "configmaps", "persistentvolumeclaims", "replicasets"),
    *("serviceaccounts", "endpoints", "resourcequota", "persistentvolumes", "nodes", "storageclasses"),
)
_BY_LABEL = ("pods", "services", "deployments", "persistentvolumeclaims")
#: What the deployment controller and the kubelet say from 1.32 on, and what they said before.
_BEFORE_132 = (
    (re.compile(r"Scaled up replica set (\S+) from 0 to (\d+)"), r"Scaled up replica set \1 to \2"),
    (re.compile(r"Scaled (up|down) replica set (\S+) from (\d+) to (\d+)"), r"Scaled \1 replica set \2 to \4 from \3"),
    (re.compile(r"(Created|Started) container: (\S+)"), r"\1 container \2"),
)
#: How long the recorded collector took for the objects of a kind (by the ages that its tables show, read one after the
#: other), in seconds.
PACE_S, USUAL_PACE_S = {"pods": 3.0, "services": 3.0}, 0.9
_NODE_SERVICES = ("kubelet", "kube-proxy", "containerd")


@dataclass
class Expected:
    """What the tools ask for although it may not be there.

    Attributes:
        manifests: the text of each application's manifests; empty: as the objects are now.
        ports: of each Service the port that is tried; empty: the first one that it has.
        alerts: what GetAlerts answers.
        beside: further workloads whose logs are looked at; of all then those of the container before, too.
        release: of the cluster whose words are wanted: before 1.32 some Events were worded otherwise.
    """

    manifests: Mapping[str, str] = field(default_factory=dict)
    ports: Mapping[str, int] = field(default_factory=dict)
    alerts: Any = field(default_factory=dict)
    beside: Sequence[str] = ()
    release: tuple[int, int] = (1, 32)


class Snapshot:
    """Asks a world everything.

    Args:
        pace: 0 asks at one instant, 1 takes as long as the collector of the data set did, whose answers differ in age.
    """

    def __init__(self, world: World, namespace: str, expected: Expected | None = None, *, pace: float = 0.0) -> None:
        self.pace = pace
        self.world = world
        self.namespace = namespace
        self.expected = expected or Expected()
        self._kubectl = world.kubectl(namespace=namespace)
        deployments = [name_of(one) for one in world.api.store.objects("deployments.apps", namespace)]
        self.apps = sorted(self.expected.manifests) or sorted(deployments)

    def tool_cache(self) -> dict[str, Any]:
        """What each tool printed, by its key."""
        cache: dict[str, Any] = {"collection_timestamp": format_rfc3339(self.world.sim.now)[:19] + ".000000"}
        for resource in (*NAMESPACED, *CLUSTERED):
            self._resources(cache, resource, self.namespace)
            self.world.run_for(round(self.pace * PACE_S.get(resource, USUAL_PACE_S) * SECOND))
        self._services(cache)
        for node in sorted(self.world.machines):
            for service in _NODE_SERVICES + (("kube-scheduler",) if self._is_master(node) else ()):
                cache[_key("CheckNodeServiceStatus", node_name=node, service_name=service)] = self._unit(node, service)
        cache["GetAlerts:{}"] = self.expected.alerts
        cache["GetClusterConfiguration:{}"] = self._configuration()
        return cache

    def write(self, folder: Path, metadata: Mapping[str, Any] | None = None) -> None:
        """Write the case's files into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        said = {"namespace": self.namespace, **(metadata or {})}
        for name, value in (("tool_cache.json", self.tool_cache()), ("metadata.json", said)):
            (folder / name).write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        (folder / "raw_data").mkdir(exist_ok=True)
        logs = {app: self._logs(app) for app in self.apps}
        (folder / "raw_data" / "logs.json").write_text(json.dumps(logs, ensure_ascii=False) + "\n", encoding="utf-8")
        (folder / "alert.json").write_text(json.dumps(self.expected.alerts) + "\n", encoding="utf-8")

    # kubectl

    def _run(self, command: str) -> str:
        result = self._kubectl.run(command)
        text = result.stdout if not result.exit_code else result.stderr
        if self.expected.release < (1, 32):
            for newer, older in _BEFORE_132:
                text = newer.sub(older, text)
        return text

    def _resources(self, cache: dict[str, Any], resource: str, namespace: str) -> None:
        where = {"resource_type": resource, "name": "", "namespace": namespace}
        plain = self._run(f"get {resource}")
        empty = plain.startswith("No resources found")
        flags = {"": {}, " -o wide": {"output_wide": True}, " --show-labels": {"show_labels": True}}
        for flag, more in flags.items():
            text = "" if empty else plain if not flag else self._run(f"get {resource}{flag}")
            cache[_key("GetResources", **where, **more)] = text
        names = [line.split()[0] for line in plain.splitlines()[1:] if line.strip()] if not empty else []
        if resource in _NAMED:
            wanted = sorted({*names, *self._expected_of(resource)})
            for name in wanted:
                for flag, more in flags.items():
                    cache[_key("GetResources", **{**where, "name": name}, **more)] = self._run(
                        f"get {resource} {name}{flag}"
                    )
                described = self._run(f"describe {resource} {name}")
                cache[_key("DescribeResource", resource_type=resource, name=name, namespace=namespace)] = described
        if resource in _BY_LABEL:
            for app in self.apps:
                text = self._run(f"get {resource} -l app={app}")
                shown = "" if text.startswith("No resources found") else text
                cache[_key("GetResources", **where, label_selector=f"app={app}")] = shown

    def _expected_of(self, resource: str) -> list[str]:
        """Objects that are asked for although they may be missing."""
        return [name for name in self.apps if name in self.expected.ports] if resource == "services" else []

    # Applications

    def _services(self, cache: dict[str, Any]) -> None:
        graph = self._graph()
        for app in self.apps:
            cache[_key("GetAppYAML", app_name=app)] = self.expected.manifests.get(app) or self._as_applied(app)
            cache[_key("GetServiceDependencies", service_name=app)] = dependencies_of(app, graph)
        for app in (*self.apps, *self.expected.beside):
            logs = error_logs(self._logs(app))
            cache[_key("GetErrorLogs", namespace=self.namespace, service_name=app)] = logs
        for app in (*self.apps, *(name for name in self.expected.ports if name not in self.apps)):
            port = self.expected.ports.get(app) or self._first_port(app)
            if port:
                said = self._connectivity(app, port)
                wanted = {"namespace": self.namespace, "service_name": app, "port": port}
                cache[_key("CheckServiceConnectivity", **wanted)] = said

    def _as_applied(self, app: str) -> str:
        documents = []
        services = [
            name_of(one)
            for one in self.world.api.store.objects("services", self.namespace)
            if name_of(one) == app or (one["spec"].get("selector") or {}).get("app") == app
        ]
        for what in (f"deployment {app}", *(f"service {name}" for name in services), f"serviceaccount {app}"):
            result = self._kubectl.run(f"get {what} -o yaml")
            if not result.exit_code:
                documents.append(yaml.safe_dump(as_applied(yaml.safe_load(result.stdout)), sort_keys=False))
        return "---\n".join(documents)

    def _logs(self, app: str) -> list[str]:
        pods = [
            name_of(pod)
            for pod in self.world.api.store.objects("pods", self.namespace)
            if (pod["metadata"].get("labels") or {}).get("app") == app and pod["spec"].get("nodeName")
        ]
        found: list[str] = []
        for pod in sorted(pods):
            result = self._kubectl.run(f"logs {pod} --all-containers")
            found += (result.stdout + result.stderr).splitlines()
            before = self._kubectl.run(f"logs {pod} -c {app} --previous") if self.expected.beside else None
            found += before.stdout.splitlines() if before is not None and not before.exit_code else []
        return found

    def _first_port(self, app: str) -> int:
        service = self.world.api.store.get("services", self.namespace, app)
        return int(service["spec"]["ports"][0]["port"]) if service else 0

    def _connectivity(self, app: str, port: int) -> str:
        """What `nc` says of a Service's address on each worker; one report for all if they agree."""
        service = self.world.api.store.get("services", self.namespace, app)
        address = service["spec"].get("clusterIP", "") if service else ""
        workers = [node for node in sorted(self.world.machines) if not self._is_master(node)]
        reached = {node: bool(address) and self._connects(node, address, port) for node in workers}
        return connectivity_said(app, port, address, reached)

    def _connects(self, node: str, address: str, port: int) -> bool:
        network = self.world.network
        route = network.route(node, address, port)
        return route.outcome == "ok" and all(network.connect(backend) == "ok" for backend in route.backends)

    def _graph(self) -> dict[str, list[str]]:
        """Who calls whom: an environment value that names a Service of the namespace."""
        services = {name_of(one) for one in self.world.api.store.objects("services", self.namespace)}
        return calls_of(self.apps, services, self.world.api.store.objects("deployments.apps", self.namespace))

    # Nodes

    def _is_master(self, node: str) -> bool:
        found = self.world.api.store.get("nodes", "", node)
        return found is not None and "node-role.kubernetes.io/control-plane" in (found["metadata"].get("labels") or {})

    def _unit(self, node: str, service: str) -> str:
        if service in ("kubelet", "containerd"):
            status = self.world.on_node(node, f"systemctl status {service}")[1]
        else:
            status = self._container_as_unit(node, service)
        return f"Service: {service}\nNode: {node}\nStatus: {status}"

    def _container_as_unit(self, node: str, service: str) -> str:
        running = any(
            container.running and container.spec.name == service for container in self.world.machines[node].containers()
        )
        return unit_of_container(service, running=running)

    def _configuration(self) -> dict[str, Any]:
        return configuration_of(self.world.api.store.objects("nodes"))


def _key(tool: str, **arguments: Any) -> str:
    return f"{tool}:{json.dumps(arguments, separators=(',', ':'))}"


def dependencies_of(app: str, graph: Mapping[str, list[str]]) -> str:
    """Who calls an application, and what it calls, as a tree."""
    callers = [name for name, called in graph.items() if app in called]
    head = f"[Service]: {app}" + ("" if callers else " (Entrypoint)")
    lines = [head, f"[Upstream (Called By)]: {', '.join(callers) or '(User Traffic)'}", "[Downstream (Calls)]:", app]
    if not graph.get(app):
        return "\n".join([*lines[:2], "[Downstream (Calls)]: None"])
    return "\n".join([*lines, *_branches(app, graph, "", (app,))])


def _branches(app: str, graph: Mapping[str, list[str]], indent: str, above: tuple[str, ...]) -> list[str]:
    lines = []
    called = [name for name in graph.get(app, ()) if name not in above]
    for number, name in enumerate(called, 1):
        last = number == len(called)
        lines.append(f"{indent}{'└──' if last else '├──'} {name}")
        lines += _branches(name, graph, indent + ("    " if last else "│   "), (*above, name))
    return lines


def as_applied(found: Mapping[str, Any]) -> dict[str, Any]:
    """An object without what the cluster adds to it."""
    meta = {key: found["metadata"][key] for key in ("name", "namespace", "labels") if key in found["metadata"]}
    return {**{key: value for key, value in found.items() if key != "status"}, "metadata": meta}


def connectivity_said(app: str, port: int, address: str, reached: Mapping[str, bool]) -> str:
    """One report for all workers if they agree; `address` is empty if there is no such Service."""
    yes = f"{app} ({address}:{port}) open\nConnection Succeeded"
    no = "Connection Failed" if address else f"nc: bad address '{app}'\nConnection Failed"
    if len(set(reached.values())) == 1:
        return yes if all(reached.values()) else no
    report = [f"=== Service {app}:{port} Connectivity test report ==="]
    for node, reaches in reached.items():
        said = yes if reaches else "punt!\nTerminated\nConnection Failed"
        report.append(f"Debug Pod test results deployed on {node}: {said}")
    return "\n".join(report)


def calls_of(
    apps: Sequence[str], services: Collection[str], deployments: Iterable[Mapping[str, Any]]
) -> dict[str, list[str]]:
    """Who calls whom: an environment value that names a Service of the namespace."""
    names = {*apps, *services}
    found: dict[str, list[str]] = {app: [] for app in apps}
    for one in deployments:
        called: dict[str, None] = {}
        for container in one["spec"]["template"]["spec"]["containers"]:
            for variable in container.get("env") or ():
                host = re.split(r"[:/.]", str(variable.get("value", "")).rpartition("//")[2])[0]
                if host in names and host != name_of(one):
                    called[host] = None
        found[name_of(one)] = list(called)
    return found


def unit_of_container(service: str, *, running: bool) -> str:
    """A component that runs as a container, in the words of a unit."""
    mark, state = ("●", "active (running)") if running else ("○", "inactive (dead)")
    unit = f"/etc/systemd/system/{service}.service; enabled; vendor preset: enabled"
    return f"{mark} {service}.service - Kubernetes {service}\n     Loaded: loaded ({unit})\n     Active: {state}\n"


def configuration_of(objects: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What GetClusterConfiguration tells of nodes."""
    nodes = []
    for node in objects:
        status = node["status"]
        conditions = {one["type"]: one["status"] for one in status["conditions"]}
        pressures = ("MemoryPressure", "DiskPressure", "PIDPressure")
        allocatable = {key: status["allocatable"][key] for key in ("cpu", "memory")}
        nodes.append({
            "name": name_of(node),
            "role": "worker",
            "status": "Ready" if conditions.get("Ready") == "True" else "NotReady",
            "conditions": {key: conditions.get(key, "Unknown") for key in pressures},
            "taints": [f"{one['key']}:{one['effect']}" for one in node["spec"].get("taints") or ()],
            "labels": dict(node["metadata"].get("labels") or {}),
            "allocatable_resources": allocatable,
        })  # fmt: skip
    return {"node_count": len(nodes), "nodes": nodes}
