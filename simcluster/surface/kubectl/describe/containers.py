"""Containers, volumes and tolerations, as pods and pod templates show them."""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.api import quantity
from simcluster.api.objects import Json
from simcluster.api.selectors import format_selector
from simcluster.surface.kubectl.describe.page import Page, rfc1123, truth
from simcluster.surface.kubectl.describe.volumesources import source


def containers(page: Page, title: str, specs: Sequence[Json], pod: Json | None, space: str, statuses: str = "") -> None:
    """A list of containers.

    Args:
        pod: the pod whose status fields `statuses` are shown; None for a template.
        space: indentation of the title; two spaces in templates.
    """
    found = {}
    if pod is not None:
        found = {status["name"]: status for status in (pod.get("status") or {}).get(statuses) or ()}
    page.line(f"{space}{title}:" + ("" if specs else " <none>"))
    for spec in specs:
        status = found.get(spec["name"])
        _basic(page, spec, status, " " if space else "")
        _command(page, spec)
        if status is not None:
            _states(page, status)
        _resources(page, spec.get("resources") or {})
        _probes(page, spec)
        _env_from(page, spec)
        _env(page, spec, pod)
        _mounts(page, spec)


def _basic(page: Page, spec: Json, status: Json | None, indent: str) -> None:
    page.line(f"{indent}{spec['name']}:", 1)
    if status is not None:
        page.pair("Container ID", status.get("containerID", ""), 2)
    page.pair("Image", spec.get("image", ""), 2)
    if status is not None:
        page.pair("Image ID", status.get("imageID", ""), 2)
    ports = spec.get("ports") or ()
    inside = [f"{port['containerPort']}/{port.get('protocol', 'TCP')}" for port in ports]
    outside = [f"{port.get('hostPort', 0)}/{port.get('protocol', 'TCP')}" for port in ports]
    page.pair("Ports" if len(inside) > 1 else "Port", ", ".join(inside) or "<none>", 2)
    page.pair("Host Ports" if len(outside) > 1 else "Host Port", ", ".join(outside) or "<none>", 2)
    seccomp = (spec.get("securityContext") or {}).get("seccompProfile")
    if seccomp:
        page.pair("SeccompProfile", seccomp.get("type", ""), 2)
        if seccomp.get("type") == "Localhost":
            page.pair("LocalhostProfile", seccomp.get("localhostProfile", ""), 3)


def _command(page: Page, spec: Json) -> None:
    for title, words in (("Command", spec.get("command")), ("Args", spec.get("args"))):
        if words:
            page.line(f"{title}:", 2)
            for word in words:
                for part in word.split("\n"):
                    page.line(part, 3)


def _states(page: Page, status: Json) -> None:
    _state(page, "State", status.get("state") or {})
    last = status.get("lastState") or {}
    if last.get("terminated"):
        _state(page, "Last State", last)
    page.pair("Ready", "True" if status.get("ready") else "False", 2)
    page.pair("Restart Count", status.get("restartCount", 0), 2)


def _state(page: Page, title: str, state: Json) -> None:
    if "running" in state:
        page.pair(title, "Running", 2)
        page.pair("Started", rfc1123(state["running"].get("startedAt")), 3)
    elif "terminated" in state:
        _terminated(page, title, state["terminated"])
    else:
        page.pair(title, "Waiting", 2)
        if (state.get("waiting") or {}).get("reason"):
            page.pair("Reason", state["waiting"]["reason"], 3)


def _terminated(page: Page, title: str, ended: Json) -> None:
    page.pair(title, "Terminated", 2)
    for key in ("reason", "message"):
        if ended.get(key):
            page.pair(key.capitalize(), ended[key], 3)
    page.pair("Exit Code", ended.get("exitCode", 0), 3)
    if ended.get("signal"):
        page.pair("Signal", ended["signal"], 3)
    page.pair("Started", rfc1123(ended.get("startedAt")), 3)
    page.pair("Finished", rfc1123(ended.get("finishedAt")), 3)


def _resources(page: Page, resources: Json) -> None:
    for title in ("limits", "requests"):
        amounts = resources.get(title) or {}
        if amounts:
            page.line(f"{title.capitalize()}:", 2)
            for name in sorted(amounts):
                page.pair(name, amounts[name], 3)


def _probes(page: Page, spec: Json) -> None:
    for title in ("liveness", "readiness", "startup"):
        probe = spec.get(f"{title}Probe")
        if probe:
            page.pair(title.capitalize(), describe_probe(probe), 2)


def describe_probe(probe: Json) -> str:
    """`http-get http://:8080/healthz delay=5s timeout=1s period=10s #success=1 #failure=3`."""
    timing = (
        f"delay={probe.get('initialDelaySeconds', 0)}s timeout={probe.get('timeoutSeconds', 1)}s "
        f"period={probe.get('periodSeconds', 10)}s #success={probe.get('successThreshold', 1)} "
        f"#failure={probe.get('failureThreshold', 3)}"
    )
    if "exec" in probe:
        return f"exec [{' '.join(probe['exec'].get('command') or ())}] {timing}"
    if "httpGet" in probe:
        get = probe["httpGet"]
        path = get.get("path") or "/"
        slash = "" if path.startswith("/") else "/"
        return (
            f"http-get {get.get('scheme', 'HTTP').lower()}://{get.get('host', '')}:{get['port']}{slash}{path} {timing}"
        )
    if "tcpSocket" in probe:
        return f"tcp-socket {probe['tcpSocket'].get('host', '')}:{probe['tcpSocket']['port']} {timing}"
    if "grpc" in probe:
        return f"grpc <pod>:{probe['grpc']['port']} {probe['grpc'].get('service', '')} {timing}"
    return f"unknown {timing}"


def _env_from(page: Page, spec: Json) -> None:
    sources = spec.get("envFrom") or ()
    if not sources:
        return
    page.line("Environment Variables from:", 2)
    for entry in sources:
        kind = "ConfigMap" if "configMapRef" in entry else "Secret"
        reference = entry.get("configMapRef") or entry.get("secretRef") or {}
        prefix = f" with prefix '{entry['prefix']}'" if entry.get("prefix") else ""
        page.line(f"{reference.get('name', '')}\t{kind}{prefix}\tOptional: {truth(reference.get('optional'))}", 3)


def _env(page: Page, spec: Json, pod: Json | None) -> None:
    variables = spec.get("env") or ()
    page.line("Environment:" + ("" if variables else "\t<none>"), 2)
    for variable in variables:
        given = variable.get("valueFrom")
        if not given:
            first, *rest = str(variable.get("value", "")).split("\n")
            page.pair(variable["name"], first, 3)
            for part in rest:
                page.line(f"\t{part}", 3)
        else:
            page.pair(variable["name"], _env_source(given, spec, pod), 3)


def _env_source(origin: Json, spec: Json, pod: Json | None) -> str:
    if "fieldRef" in origin:
        reference = origin["fieldRef"]
        value = field_value(pod, reference["fieldPath"]) if pod is not None else ""
        return f"{value} ({reference.get('apiVersion', 'v1')}:{reference['fieldPath']})"
    if "resourceFieldRef" in origin:
        resource = origin["resourceFieldRef"]["resource"]
        return f"{resource_value(origin['resourceFieldRef'], spec)} ({resource})"
    if "secretKeyRef" in origin:
        reference = origin["secretKeyRef"]
        where = f"in secret '{reference.get('name', '')}'"
    else:
        reference = origin.get("configMapKeyRef") or {}
        where = f"of config map '{reference.get('name', '')}'"
    return f"<set to the key '{reference.get('key', '')}' {where}>\tOptional: {truth(reference.get('optional'))}"


def field_value(pod: Json, path: str) -> str:
    """The value of a downward API field, as the client knows it: its scheme has only two of them.

    Source: describe.EnvValueRetriever and runtime.DefaultMetaV1FieldSelectorConversion.
    """
    if path not in ("metadata.name", "metadata.namespace"):
        return ""
    return str(pod["metadata"].get(path.removeprefix("metadata."), ""))


def resource_value(reference: Json, spec: Json) -> str:
    """What a reference to a container's own requests or limits comes to."""
    side, _, name = reference["resource"].partition(".")
    amount = ((spec.get("resources") or {}).get(side) or {}).get(name)
    if amount is None:
        return "node allocatable" if side == "limits" and name in ("cpu", "memory") else "0"
    divisor = reference.get("divisor") or "1"
    whole = quantity.parse(amount).nano
    unit = quantity.parse(divisor if divisor != "0" else "1").nano
    return str(-(-whole // unit))


def _mounts(page: Page, spec: Json) -> None:
    mounts = spec.get("volumeMounts") or ()
    page.line("Mounts:" + ("" if mounts else "\t<none>"), 2)
    for mount in sorted(mounts, key=_mount_path):
        flags = ["ro" if mount.get("readOnly") else "rw"]
        if mount.get("subPath"):
            flags.append(f'path="{mount["subPath"]}"')
        page.line(f"{mount['mountPath']} from {mount['name']} ({','.join(flags)})", 3)
    devices = spec.get("volumeDevices") or ()
    if devices:
        page.line("Devices:", 2)
        for device in devices:
            page.line(f"{device['devicePath']} from {device['name']}", 3)


def _mount_path(mount: Json) -> str:
    return str(mount["mountPath"])


def volumes(page: Page, specs: Sequence[Json], space: str) -> None:
    """A list of volumes."""
    if not specs:
        page.line(f"{space}Volumes:\t<none>")
        return
    page.line(f"{space}Volumes:")
    for spec in specs:
        page.line(f"{' ' if space else ''}{spec['name']}:", 1)
        source(page, spec)


def tolerations(page: Page, title: str, entries: Sequence[Json] | None) -> None:
    """Tolerations below each other, sorted by key."""
    page.listed(title, [_toleration(entry) for entry in sorted(entries or (), key=_toleration_key)])


def _toleration_key(entry: Json) -> str:
    return str(entry.get("key", ""))


def _toleration(entry: Json) -> str:
    text = str(entry.get("key", ""))
    if entry.get("value"):
        text += f"={entry['value']}"
    if entry.get("effect"):
        text += f":{entry['effect']}"
    if entry.get("operator") == "Exists" and not entry.get("value"):
        text += " op=Exists" if text else "op=Exists"
    if entry.get("tolerationSeconds") is not None:
        text += f" for {entry['tolerationSeconds']}s"
    return text


def topology_spread(page: Page, entries: Sequence[Json] | None, space: str) -> None:
    """Topology spread constraints, if there are any."""
    shown = []
    for entry in entries or ():
        text = f"{entry['topologyKey']}:{entry['whenUnsatisfiable']} when max skew {entry['maxSkew']} is exceeded"
        if entry.get("labelSelector") is not None:
            text += f" for selector {format_selector(entry['labelSelector'])}"
        shown.append(text)
    if shown:
        page.listed(f"{space}Topology Spread Constraints", shown)


def pod_template(page: Page, template: Json) -> None:
    """The `Pod Template:` section of a workload."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    page.line("Pod Template:")
    page.labels("  Labels", metadata.get("labels"))
    if metadata.get("annotations"):
        page.annotations("  Annotations", metadata["annotations"])
    if spec.get("serviceAccountName"):
        page.pair("  Service Account", spec["serviceAccountName"])
    if spec.get("initContainers"):
        containers(page, "Init Containers", spec["initContainers"], None, "  ")
    containers(page, "Containers", spec.get("containers") or (), None, "  ")
    volumes(page, spec.get("volumes") or (), "  ")
    topology_spread(page, spec.get("topologySpreadConstraints"), "  ")
    if spec.get("priorityClassName"):
        page.pair("  Priority Class Name", spec["priorityClassName"])
    page.labels("  Node-Selectors", spec.get("nodeSelector"))
    tolerations(page, "  Tolerations", spec.get("tolerations"))
