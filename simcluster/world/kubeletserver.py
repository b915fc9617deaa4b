"""What a kubelet answers over HTTP: health, pods, statistics, metrics, configuration, log files.

Source: pkg/kubelet/server/server.go and stats/summary.go of Kubernetes 1.32; names of metrics
from kubelet and cAdvisor. Only what the machine counts is told: no network or PSI counters of single
containers.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from urllib.parse import parse_qsl

import yaml

from simcluster.api.objects import Json, name_of, namespace_of, uid_of
from simcluster.control.kubelet import Kubelet
from simcluster.engine import format_rfc3339
from simcluster.models.machine.nodetree import NodeTree
from simcluster.models.machine.shell.files import FileError
from simcluster.telemetry import exposition

Answered = tuple[int, str, str]  # status, body, content type

_TEXT = "text/plain; charset=utf-8"
_JSON = "application/json"
_CONFIG_FILE = "/var/lib/kubelet/config.yaml"
_MISSING = (404, "404 page not found\n", _TEXT)
#: Defaults of KubeletConfiguration that `/configz` shows beside the file's own.
_DEFAULTS: Json = {
    "enableServer": True,
    "syncFrequency": "1m0s",
    "fileCheckFrequency": "20s",
    "httpCheckFrequency": "20s",
    "port": 10250,
    "registryPullQPS": 5,
    "registryBurst": 10,
    "eventRecordQPS": 50,
    "eventBurst": 100,
    "enableDebuggingHandlers": True,
    "oomScoreAdj": -999,
    "nodeStatusUpdateFrequency": "10s",
    "nodeStatusReportFrequency": "5m0s",
    "nodeLeaseDurationSeconds": 40,
    "imageMinimumGCAge": "2m0s",
    "imageGCHighThresholdPercent": 85,
    "imageGCLowThresholdPercent": 80,
    "volumeStatsAggPeriod": "1m0s",
    "cgroupsPerQOS": True,
    "cpuManagerPolicy": "none",
    "topologyManagerPolicy": "none",
    "maxPods": 110,
    "podPidsLimit": -1,
    "cpuCFSQuota": True,
    "cpuCFSQuotaPeriod": "100ms",
    "maxOpenFiles": 1000000,
    "serializeImagePulls": True,
    "evictionHard": {
        "imagefs.available": "15%",
        "memory.available": "100Mi",
        "nodefs.available": "10%",
        "nodefs.inodesFree": "5%",
    },
    "evictionPressureTransitionPeriod": "5m0s",
    "enableControllerAttachDetach": True,
    "makeIPTablesUtilChains": True,
    "failSwapOn": True,
    "containerLogMaxSize": "10Mi",
    "containerLogMaxFiles": 5,
    "enforceNodeAllocatable": ["pods"],
}


def answer(kubelet: Kubelet, method: str, target: str) -> Answered:
    """Answer one request; `target` is path and query."""
    path, _, query = target.partition("?")
    parts = path.strip("/").split("/")
    if parts[0] in ("logs", "containerLogs"):
        return _log_answer(kubelet, parts, dict(parse_qsl(query)))
    handler = _HANDLERS.get(path.rstrip("/") or "/")
    if handler is None:
        return _MISSING
    if method not in ("GET", "HEAD"):
        return 405, "405: Method Not Allowed", _TEXT
    return handler(kubelet)


def _healthz(kubelet: Kubelet) -> Answered:
    return 200, "ok", _TEXT


def _pods(kubelet: Kubelet) -> Answered:
    """The pods that this kubelet knows, as they stand in its cache."""
    items = [dict(pod) for pod in kubelet.client.cache.pods_on(kubelet.name)]
    return 200, _dump({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}), _JSON


def _running_pods(kubelet: Kubelet) -> Answered:
    """What runs, as the container runtime has it."""
    items = []
    for usage in kubelet.stats():
        pod = kubelet.client.cache.get("pods", usage.namespace, usage.name)
        metadata: Json = {"name": usage.name, "namespace": usage.namespace}
        if pod is not None:
            metadata["uid"] = uid_of(pod)
        metadata["creationTimestamp"] = None
        containers = [{"name": name, "resources": {}} for name in usage.containers]
        items.append({"metadata": metadata, "spec": {"containers": containers}, "status": {}})
    return 200, _dump({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}), _JSON


def _summary(kubelet: Kubelet) -> Answered:
    machine, now = kubelet.machine, format_rfc3339(kubelet.sim.now)
    node, disk = kubelet.node_stats(), kubelet.machine.disk_usage()
    available = max(0, machine.memory_bytes - node.memory_bytes)
    file_system = {
        "time": now,
        "availableBytes": disk.available_bytes,
        "capacityBytes": disk.total_bytes,
        "usedBytes": disk.used_bytes,
        "inodesFree": disk.free_inodes,
        "inodes": disk.total_inodes,
        "inodesUsed": disk.total_inodes - disk.free_inodes,
    }
    shown = {
        "nodeName": kubelet.name,
        "startTime": format_rfc3339(node.started_ns),
        "cpu": {"time": now, "usageCoreNanoSeconds": node.cpu_ns},
        "memory": {"time": now, "availableBytes": available, "workingSetBytes": node.memory_bytes},
        "fs": file_system,
        "runtime": {"imageFs": file_system, "containerFs": file_system},
    }
    return 200, json.dumps({"node": shown, "pods": _pod_summaries(kubelet, now)}, indent=1), _JSON


def _pod_summaries(kubelet: Kubelet, now: str) -> list[Json]:
    shown = []
    for usage in kubelet.stats():
        pod = kubelet.client.cache.get("pods", usage.namespace, usage.name)
        uid = uid_of(pod) if pod is not None else ""
        started = format_rfc3339(min(one.started_ns for one in usage.containers.values()))
        containers = [
            {
                "name": name,
                "startTime": format_rfc3339(one.started_ns),
                "cpu": {"time": now, "usageCoreNanoSeconds": one.cpu_ns},
                "memory": {"time": now, "workingSetBytes": one.memory_bytes},
            }
            for name, one in usage.containers.items()
        ]
        used_ns = sum(one.cpu_ns for one in usage.containers.values())  # integers
        held = sum(one.memory_bytes for one in usage.containers.values())  # integers
        shown.append(
            {
                "podRef": {"name": usage.name, "namespace": usage.namespace, "uid": uid},
                "startTime": started,
                "containers": containers,
                "cpu": {"time": now, "usageCoreNanoSeconds": used_ns},
                "memory": {"time": now, "workingSetBytes": held},
            }
        )
    return shown


def _configz(kubelet: Kubelet) -> Answered:
    file = kubelet.machine.files.find(_CONFIG_FILE)
    written = yaml.safe_load(file.text) if file is not None else {}
    own = {key: value for key, value in (written or {}).items() if key not in ("apiVersion", "kind")}
    return 200, _dump({"kubeletconfig": {**_DEFAULTS, **own}}), _JSON


def _log_answer(kubelet: Kubelet, parts: list[str], query: dict[str, str]) -> Answered:
    if parts[0] == "containerLogs":
        return _container_log(kubelet, parts[1:], query)
    path = "/".join(["/var/log", *parts[1:]]).rstrip("/")
    files = NodeTree(kubelet.machine)
    if files.is_folder(path):
        names = [name + ("/" if files.is_folder(f"{path}/{name}") else "") for name in files.entries(path)]
        return 200, "<pre>\n" + "".join(f'<a href="{n}">{n}</a>\n' for n in names) + "</pre>\n", "text/html"
    try:
        return 200, files.read(path).text, _TEXT
    except FileError:
        return _MISSING


def _container_log(kubelet: Kubelet, parts: list[str], query: dict[str, str]) -> Answered:
    if len(parts) != 3:
        return _MISSING
    namespace, name, container = parts
    pod = kubelet.client.cache.get("pods", namespace, name)
    if pod is None or pod["spec"].get("nodeName") != kubelet.name:
        return 404, f'pod "{name}" does not exist\n', _TEXT
    for runs in kubelet.machine.runtime.runs.values():
        for newest in runs.get(container, [])[:1]:
            if (newest.spec.namespace, newest.spec.pod_name) == (namespace_of(pod), name_of(pod)):
                tail = query.get("tailLines", "")
                lines = newest.log.read(tail=int(tail) if tail.isdecimal() else None)
                return 200, "".join(f"{line.text}\n" for line in lines), _TEXT
    return 404, f'container "{container}" not found in pod "{name}"\n', _TEXT


def _exposed(kubelet: Kubelet, path: str) -> Answered:
    samples = kubelet.exporter.samples(path)
    return 200, exposition.text(exposition.families_of(samples or {})), exposition.CONTENT_TYPE


def _dump(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n"


_HANDLERS: dict[str, Callable[[Kubelet], Answered]] = {
    "/configz": _configz,
    "/healthz": _healthz,
    "/healthz/log": _healthz,
    "/healthz/ping": _healthz,
    "/healthz/syncloop": _healthz,
    **{path: partial(_exposed, path=path) for path in ("/metrics", "/metrics/cadvisor", "/metrics/probes")},
    "/metrics/resource": partial(_exposed, path="/metrics/resource"),
    "/pods": _pods,
    "/runningpods": _running_pods,
    "/stats/summary": _summary,
}
