"""What the ten tools ask: a live cluster, by an operator's commands, or a case on disk."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from simcluster.calibration.cloudopsbench.errorlogs import error_logs
from simcluster.calibration.cloudopsbench.snapshot import (
    NAMESPACED,
    as_applied,
    calls_of,
    configuration_of,
    connectivity_said,
    dependencies_of,
    unit_of_container,
)
from simcluster.calibration.cloudopsbench.tools import RECENT
from simcluster.session.live import Live, QueryError

_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


class LiveSource:
    """A cluster in which somebody works. Answers raise BudgetExceeded of its session.

    Args:
        live: an episode or a sandbox.
        namespace: of the application.
    """

    def __init__(self, live: Live, namespace: str) -> None:
        self._live = live
        self.namespace = namespace
        listed = live.kubectl(f"get deployments -n {namespace} -o name").stdout
        self.apps = sorted(line.rpartition("/")[2] for line in listed.split())

    def answer(self, tool: str, given: dict[str, Any]) -> Any:
        """The answer of a tool; None if nobody knows."""
        return _LIVE[tool](self, given)

    def _text(self, command: str) -> str:
        done = self._live.kubectl(command)
        if done.exit_code:
            return done.stderr
        return done.stdout

    def _json(self, command: str) -> list[dict[str, Any]]:
        done = self._live.kubectl(f"{command} -o json")
        return [] if done.exit_code else json.loads(done.stdout)["items"]

    def resources(self, given: dict[str, Any]) -> Any:
        """`kubectl get`."""
        more = " -o wide" if given.get("output_wide") else " --show-labels" if given.get("show_labels") else ""
        more += f" -l {shlex.quote(given['label_selector'])}" if given.get("label_selector") else ""
        name = shlex.quote(given["name"]) if given.get("name") else ""
        text = self._text(f"get {given['resource_type']} {name}{self._where(given)}{more}")
        return None if text.startswith("No resources found") else text

    def described(self, given: dict[str, Any]) -> Any:
        """`kubectl describe`."""
        return self._text(f"describe {given['resource_type']} {shlex.quote(given['name'])}{self._where(given)}")

    def manifests(self, given: dict[str, Any]) -> Any:
        """Deployment, Services and ServiceAccount of an application, as they are now."""
        app = given["app_name"]
        kinds = [
            self._json(f"get {kind} -n {self.namespace}") for kind in ("deployments", "services", "serviceaccounts")
        ]
        mine = [
            one
            for each in kinds
            for one in each
            if one["metadata"]["name"] == app or (one.get("spec", {}).get("selector") or {}).get("app") == app
        ]
        return "---\n".join(yaml.safe_dump(as_applied(one), sort_keys=False) for one in mine)

    def recent_logs(self, given: dict[str, Any]) -> Any:
        """The newest lines of each source."""
        lines = self._logs(given, f"--tail={RECENT}")
        return [f"From {given['service_name']} logs:", *lines[-RECENT:]] if lines else None

    def errors(self, given: dict[str, Any]) -> Any:
        """Groups of lines that tell of errors."""
        return error_logs(self._logs(given, "--tail=-1"))

    def connectivity(self, given: dict[str, Any]) -> Any:
        """`nc` from each worker to the address of a Service."""
        app, port = given["service_name"], given["port"]
        where = self._where(given)
        found = self._live.kubectl(f"get service {app}{where} -o jsonpath={{.spec.clusterIP}}")
        address = found.stdout if found.exit_code == 0 else ""
        workers = self._text(f"get nodes -l '!{_CONTROL_PLANE}' -o name").split()
        reached = {}
        for worker in sorted(name.rpartition("/")[2] for name in workers):
            tried = self._live.node(worker).sh(f"nc -z -w 3 {address} {port}") if address else None
            reached[worker] = tried is not None and tried.exit_code == 0
        return connectivity_said(app, port, address, reached)

    def dependencies(self, given: dict[str, Any]) -> Any:
        """Callers and callees, by the environment of the containers."""
        services = {one["metadata"]["name"] for one in self._json(f"get services -n {self.namespace}")}
        graph = calls_of(self.apps, services, self._json(f"get deployments -n {self.namespace}"))
        return dependencies_of(given["service_name"], graph)

    def configuration(self, given: dict[str, Any]) -> Any:
        """The nodes."""
        return configuration_of(self._json("get nodes"))

    def alerts(self, given: dict[str, Any]) -> Any:
        """What is pending or firing in Prometheus."""
        try:
            found = self._live.alerts()
        except QueryError as problem:  # nobody watches, or the one who does is down
            return f"Error: {problem}"
        return {"status": "has_anomalies", "alert_count": len(found), "alerts": found} if found else None

    def unit(self, given: dict[str, Any]) -> Any:
        """`systemctl status`; what runs as a container here is told in the same words."""
        node, service = given["node_name"], given["service_name"]
        if service in ("kubelet", "containerd"):
            status = str(self._live.node(node).sh(f"systemctl status {service}"))
        else:
            listed = self._live.node(node).sh("crictl ps")
            if listed.exit_code == 255:
                status = listed.stderr
            elif service == "kube-scheduler" and not self._is_master(node):
                return None
            else:
                status = unit_of_container(
                    service, running=bool(re.search(rf"\b{re.escape(service)}\b", listed.stdout))
                )
        return f"Service: {service}\nNode: {node}\nStatus: {status}"

    def _is_master(self, node: str) -> bool:
        return f"node/{node}" in self._text(f"get nodes -l {_CONTROL_PLANE} -o name").split()

    def _logs(self, given: dict[str, Any], tail: str) -> list[str]:
        where = f"{self._where(given)} -l app={given['service_name']}"
        done = self._live.kubectl(f"logs{where} --all-containers {tail}")
        return done.stdout.splitlines() if done.exit_code == 0 else []

    def _where(self, given: dict[str, Any]) -> str:
        return f" -n {shlex.quote(given['namespace'])}" if given.get("namespace") else ""


_LIVE: dict[str, Callable[[LiveSource, dict[str, Any]], Any]] = {
    "GetResources": LiveSource.resources,
    "DescribeResource": LiveSource.described,
    "GetAppYAML": LiveSource.manifests,
    "GetRecentLogs": LiveSource.recent_logs,
    "GetErrorLogs": LiveSource.errors,
    "CheckServiceConnectivity": LiveSource.connectivity,
    "GetServiceDependencies": LiveSource.dependencies,
    "GetClusterConfiguration": LiveSource.configuration,
    "GetAlerts": LiveSource.alerts,
    "CheckNodeServiceStatus": LiveSource.unit,
}


class CaseSource:
    """A case on disk.

    Args:
        folder: with `tool_cache.json` and `metadata.json`; `raw_data/logs.json` if there are logs.

    Raises:
        OSError, ValueError: it is none.
    """

    def __init__(self, folder: Path) -> None:
        self._cache: dict[str, Any] = json.loads((folder / "tool_cache.json").read_text(encoding="utf-8"))
        self.namespace: str = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))["namespace"]
        logs = folder / "raw_data" / "logs.json"
        self._logs: dict[str, Any] = json.loads(logs.read_text(encoding="utf-8")) if logs.exists() else {}
        apps = [json.loads(key.partition(":")[2])["app_name"] for key in self._cache if key.startswith("GetAppYAML:")]
        self.apps = sorted(apps)

    def answer(self, tool: str, given: dict[str, Any]) -> Any:
        """What was printed then; None if it was not asked."""
        if tool == "GetRecentLogs":
            return self._recent(given)
        if tool in ("GetResources", "DescribeResource"):
            return self._resource(tool, given)
        order = ("app_name", "namespace", "node_name", "service_name", "port")
        found = self._cache.get(_key(tool, {name: given[name] for name in order if name in given}))
        return self._cache.get(tool) if found is None else found

    def _resource(self, tool: str, given: dict[str, Any]) -> Any:
        """Things without a namespace were asked in several ways."""
        flags = {name: given[name] for name in ("output_wide", "show_labels", "label_selector") if given.get(name)}
        named = {"resource_type": given["resource_type"], "name": given.get("name", "")}
        known = given.get("namespace")
        for namespace in [known] if given["resource_type"] in NAMESPACED else [known, "", self.namespace, None]:
            where = {} if namespace is None else {"namespace": namespace}
            found = self._cache.get(_key(tool, {**named, **where, **flags}))
            if found is not None:
                return found
        return None

    def _recent(self, given: dict[str, Any]) -> Any:
        lines: list[str] = []
        titles = {"": "logs:", ".previous": "previous container logs:", ".istio-proxy": "istio-proxy logs:"}
        for suffix, title in titles.items():
            kept = self._logs.get(f"{given['service_name']}{suffix}")
            kept = kept.splitlines() if isinstance(kept, str) else kept
            if kept:
                whose = f"{given['service_name']} " if not suffix else ""
                lines += [*([""] if lines else []), f"From {whose}{title}", *kept[-RECENT:]]
        return lines


def _key(tool: str, given: dict[str, Any]) -> str:
    return f"{tool}:{json.dumps(given, separators=(',', ':'))}"
