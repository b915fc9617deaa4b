"""The ten tools of Cloud-OpsBench, for an agent: over a live cluster or over a case on disk, with the same answers.

Over a live cluster each call is made of commands that an operator could type, charged and recorded as such. Over a case
(recorded, or written by `simcluster export --format cloudopsbench`) answers are looked up, and what was not asked when
it was written is told as there. Arguments that a tool does not have are dropped, as there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from simcluster.calibration.cloudopsbench.snapshot import CLUSTERED, NAMESPACED

#: Lines of each source that GetRecentLogs shows.
RECENT = 50
#: The longest argument that is taken, characters.
VALUE_MAX = 1_000
_ALIASES = {
    **{"pod": "pods", "po": "pods", "service": "services", "svc": "services", "deployment": "deployments"},
    **{"deploy": "deployments", "statefulset": "statefulsets", "sts": "statefulsets", "daemonset": "daemonsets"},
    **{"ds": "daemonsets", "configmap": "configmaps", "cm": "configmaps", "secret": "secrets"},
    **{"persistentvolumeclaim": "persistentvolumeclaims", "pvc": "persistentvolumeclaims", "rs": "replicasets"},
    **{"replicaset": "replicasets", "ingress": "ingresses", "ing": "ingresses", "netpol": "networkpolicies"},
    **{"networkpolicy": "networkpolicies", "serviceaccount": "serviceaccounts", "sa": "serviceaccounts"},
    **{"job": "jobs", "endpoint": "endpoints", "ep": "endpoints", "persistentvolume": "persistentvolumes"},
    **{"pv": "persistentvolumes", "node": "nodes", "no": "nodes", "storageclass": "storageclasses"},
    **{"sc": "storageclasses", "resourcequotas": "resourcequota", "rolebinding": "rolebindings"},
}
_LABELLED = ("pods", "services", "deployments", "persistentvolumeclaims")


class ToolError(Exception):
    """A call that is none: no such tool, or something that it needs is missing."""


class Tool(NamedTuple):
    """One tool: what it says of itself, its arguments with their types; those with `?` may be missing."""

    says: str
    arguments: Mapping[str, str]


_WHERE = {"resource_type": "string", "namespace?": "string"}
TOOLS: dict[str, Tool] = {
    "GetResources": Tool(
        "List resources of a type, or get one by name.",
        {
            **_WHERE,
            **{"name?": "string", "show_labels?": "boolean", "output_wide?": "boolean", "label_selector?": "string"},
        },
    ),
    "DescribeResource": Tool("Describe one resource.", {**_WHERE, "name": "string"}),
    "GetAppYAML": Tool("The manifests of an application.", {"app_name": "string"}),
    "GetRecentLogs": Tool("The newest log lines of a service.", {"namespace": "string", "service_name": "string"}),
    "GetErrorLogs": Tool(
        "A summary of a service's log lines that tell of errors.", {"namespace": "string", "service_name": "string"}
    ),
    "CheckServiceConnectivity": Tool(
        "Whether a port of a service can be reached from the nodes.",
        {"service_name": "string", "port": "integer", "namespace": "string"},
    ),
    "GetServiceDependencies": Tool("Who calls a service, and what it calls.", {"service_name": "string"}),
    "GetClusterConfiguration": Tool("Nodes, their conditions, taints and resources.", {}),
    "GetAlerts": Tool("Alerts that are active.", {}),
    "CheckNodeServiceStatus": Tool(
        "Whether kubelet, kube-proxy, containerd or kube-scheduler runs on a node.",
        {"node_name": "string", "service_name": "string"},
    ),
}


class Source(Protocol):
    """What is asked.

    Attributes:
        namespace: of the application; apps: names of its services.
    """

    namespace: str
    apps: list[str]

    def answer(self, tool: str, given: dict[str, Any]) -> Any:
        """The answer of a tool to arguments that are right; None if nobody knows."""


class Tools:
    """The ten tools.

    Args:
        source: `LiveSource` or `CaseSource`.
    """

    def __init__(self, source: Source) -> None:
        self._source = source

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """The answer of a tool: a text, a list or an object.

        Raises:
            ToolError: no such tool, an argument is missing or has another type.
        """
        if not isinstance(name, str) or name not in TOOLS:
            raise ToolError(f"Unknown tool: {name if isinstance(name, str) else _shown(name):.80}")
        if not isinstance(arguments, Mapping):
            raise ToolError(f"Tool execution failed for {name}: the arguments are no object")
        given = _given(name, arguments)
        if refused := self._refused(name, given):
            return refused
        found = self._source.answer(name, given)
        return self._missing(name, given) if found in (None, "", [], {}) else found

    def _refused(self, name: str, given: dict[str, Any]) -> str:
        """Why a call is not even tried; empty if it is."""
        if "resource_type" in given:
            kind = _ALIASES.get(given["resource_type"].lower(), given["resource_type"].lower())
            if kind not in (*NAMESPACED, *CLUSTERED):
                return f"Error: Unknown resource type '{given['resource_type']}'"
            given["resource_type"] = kind
            if kind in NAMESPACED and not given.get("namespace"):
                return f"Error: Error: '{name}' command requires a specific 'namespace'."
            if given.get("output_wide") and given.get("show_labels"):
                return "Error: Only one of '--show-labels' or '-o wide' can be specified at a time for kubectl get."
            selector = given.get("label_selector")
            if selector and kind not in _LABELLED:
                return (
                    f"Error: label_selector is not supported for {kind} in this benchmark. "
                    f"Please query all {kind} in the namespace and manually inspect."
                )
            if selector and selector.count("=") != 1:
                return "Error: Only simple label selectors in the form 'key=value' are supported."
        app = given.get("app_name") or (given.get("service_name") if "node_name" not in given else None)
        if app is not None and app not in self._source.apps:
            allowed = f"list of services for {self._source.namespace}. Allowed: {self._source.apps}"
            return f"Error: Error: Resource '{app}' is not in the allowed {allowed}"
        return ""

    def _missing(self, name: str, given: dict[str, Any]) -> str:
        """What is said of nothing."""
        service, namespace = given.get("service_name"), given.get("namespace")
        if name == "GetResources" and not given.get("name"):
            if given.get("label_selector"):
                return f'No matching pods found for selector "{given["label_selector"]}".'
            kind = given["resource_type"]
            return f"No {kind} found." if kind in CLUSTERED else f"No resources found in {namespace} namespace."
        if name in ("GetResources", "DescribeResource"):
            where = "" if given["resource_type"] in CLUSTERED else f' in namespace "{namespace}"'
            return f'Error from server (NotFound): {given["resource_type"]} "{given["name"]}" not found{where}'
        return {
            "GetRecentLogs": f"No recent logs found for {service} in {namespace} namespace.",
            "GetErrorLogs": f"No error logs found for {service} in {namespace} namespace.",
            "CheckServiceConnectivity": "Connection failed",
            "GetAlerts": "No active metric anomalies detected at this time.",
            "CheckNodeServiceStatus": f"Error: '{service}' is not expected to run on node '{given.get('node_name')}'",
        }.get(name, f"Error: {name} has no answer for {json.dumps(given)}")


def definitions() -> list[dict[str, Any]]:
    """The tools as chat completions take them."""
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": tool.says,
                "parameters": {
                    "type": "object",
                    "properties": {each.removesuffix("?"): {"type": kind} for each, kind in tool.arguments.items()},
                    "required": [each for each in tool.arguments if not each.endswith("?")],
                },
            },
        }
        for name, tool in TOOLS.items()
    ]


def _given(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that a tool has. Raises ToolError."""
    found: dict[str, Any] = {}
    for each, kind in TOOLS[name].arguments.items():
        plain = each.removesuffix("?")
        value = arguments.get(plain)
        if value is None or (value == "" and each.endswith("?")):
            if not each.endswith("?"):
                raise ToolError(f"Tool execution failed for {name}: the argument {plain} is missing")
            continue
        try:
            found[plain] = int(value) if kind == "integer" else value
        except (TypeError, ValueError, OverflowError):
            raise ToolError(f"Tool execution failed for {name}: {plain} is no integer: {_shown(value)}") from None
        if isinstance(value, str) and (lack := _lack_of(value)):
            raise ToolError(f"Tool execution failed for {name}: {plain} {lack}")
        if kind != "integer" and not isinstance(value, bool if kind == "boolean" else str):
            raise ToolError(f"Tool execution failed for {name}: {plain} is no {kind}: {_shown(value)}")
    return found


def _lack_of(text: str) -> str:
    """Why a text cannot be asked for; empty if it can."""
    if len(text) > VALUE_MAX:
        return f"has {len(text)} characters"
    return "is no Unicode text" if any("\ud800" <= one <= "\udfff" for one in text) else ""


def _shown(value: object) -> str:
    return ascii(value)[:80]
