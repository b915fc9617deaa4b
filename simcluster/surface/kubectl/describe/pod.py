"""`kubectl describe pod`."""

from __future__ import annotations

from simcluster.api.objects import Json
from simcluster.surface.kubectl.describe import containers
from simcluster.surface.kubectl.describe.page import Page, controlled_by, events_of, rfc1123


def pod(page: Page, obj: Json) -> None:
    """A pod."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    page.head(obj)
    if spec.get("priority") is not None:
        page.pair("Priority", spec["priority"])
    if spec.get("priorityClassName"):
        page.pair("Priority Class Name", spec["priorityClassName"])
    if spec.get("runtimeClassName"):
        page.pair("Runtime Class Name", spec["runtimeClassName"])
    if spec.get("serviceAccountName"):
        page.pair("Service Account", spec["serviceAccountName"])
    node = spec.get("nodeName")
    page.pair("Node", f"{node}/{status.get('hostIP', '')}" if node else "<none>")
    if status.get("startTime"):
        page.pair("Start Time", rfc1123(status["startTime"]))
    page.meta(obj)
    _status(page, obj)
    _addresses(page, obj)
    if spec.get("initContainers"):
        containers.containers(page, "Init Containers", spec["initContainers"], obj, "", "initContainerStatuses")
    containers.containers(page, "Containers", spec.get("containers") or (), obj, "", "containerStatuses")
    if spec.get("ephemeralContainers"):
        ephemeral = spec["ephemeralContainers"]
        containers.containers(page, "Ephemeral Containers", ephemeral, obj, "", "ephemeralContainerStatuses")
    _conditions(page, obj)
    containers.volumes(page, spec.get("volumes") or (), "")
    page.pair("QoS Class", status.get("qosClass", ""))
    page.labels("Node-Selectors", spec.get("nodeSelector"))
    containers.tolerations(page, "Tolerations", spec.get("tolerations"))
    containers.topology_spread(page, spec.get("topologySpreadConstraints"), "")
    page.events(events_of(page.invocation, obj))


def _status(page: Page, obj: Json) -> None:
    metadata, status = obj["metadata"], obj.get("status") or {}
    phase = status.get("phase", "")
    if metadata.get("deletionTimestamp") and phase not in ("Failed", "Succeeded"):
        page.pair("Status", f"Terminating (lasts {page.age(metadata['deletionTimestamp'])})")
        page.pair("Termination Grace Period", f"{metadata.get('deletionGracePeriodSeconds', 0)}s")
    else:
        page.pair("Status", phase)
    for key in ("reason", "message"):
        if status.get(key):
            page.pair(key.capitalize(), status[key])
    seccomp = ((obj.get("spec") or {}).get("securityContext") or {}).get("seccompProfile")
    if seccomp:
        page.pair("SeccompProfile", seccomp.get("type", ""))


def _addresses(page: Page, obj: Json) -> None:
    status = obj.get("status") or {}
    page.pair("IP", status.get("podIP", ""))
    addresses = status.get("podIPs") or ()
    if addresses:
        page.line("IPs:")
        for address in addresses:
            page.pair("IP", address["ip"], 1)
    else:
        page.pair("IPs", "<none>")
    if controlled_by(obj):
        page.pair("Controlled By", controlled_by(obj))
    if status.get("nominatedNodeName"):
        page.pair("NominatedNodeName", status["nominatedNodeName"])


def _conditions(page: Page, obj: Json) -> None:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    gates = (obj.get("spec") or {}).get("readinessGates") or ()
    if gates:
        found = {condition["type"]: condition["status"] for condition in conditions}
        page.line("Readiness Gates:")
        page.line("Type\tStatus", 1)
        for gate in gates:
            page.line(f"{gate['conditionType']} \t{found.get(gate['conditionType'], '<none>')} ", 1)
    if conditions:
        page.line("Conditions:")
        page.line("Type\tStatus", 1)
        for condition in conditions:
            page.line(f"{condition['type']} \t{condition['status']} ", 1)
