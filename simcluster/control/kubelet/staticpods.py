"""Static pods: manifests in a folder of the node, and their mirror pods in the API.

The kubelet runs what lies in `/etc/kubernetes/manifests` whether or not there is an API
server, and keeps for each such pod a mirror pod, through which it can be seen. A mirror that
is deleted is made again; to move the file away ends the pod.
Source: pkg/kubelet/config/{common,file,file_linux}.go, pod_workers.go (static pods of one name
run one after another).
Left out: pods from a URL, manifests in JSON lists.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable
from typing import Any

import yaml

from simcluster.api.defaults.pods import apply_pod
from simcluster.api.objects import ApiObject, is_terminating, name_of, namespace_of, thaw, uid_of
from simcluster.api.store import Change
from simcluster.control.kubelet.host import Host
from simcluster.control.kubelet.mirrorpods import HASH, SEEN, SOURCE, delete_mirror, mirror_hash
from simcluster.control.kubelet.podworker import PodWorker
from simcluster.engine import MILLISECOND, SECOND, Timer, format_rfc3339
from simcluster.models.machine.shell.files import FileError

#: `staticPodPath` of kubeadm's kubelet configuration.
FOLDER = "/etc/kubernetes/manifests"
#: fileCheckFrequency: a folder is read as a whole this often; here only when a file could not be parsed.
CHECK_NS = 20 * SECOND
#: housekeepingPeriod: orphaned mirror pods go, and waiting static pods start, this often.
HOUSEKEEPING_NS = 2 * SECOND
#: From the change of a file to the kubelet's pod update (inotify).
NOTICE_NS = 5 * MILLISECOND

#: libyaml where it is there.
_QUICK: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class ManifestError(Exception):
    """A file is no manifest of a pod; the text is the kubelet's."""


@functools.lru_cache(maxsize=64)
def _parsed(text: str) -> Any:
    """The value of a manifest, not to be changed: worlds of one process boot from the same files."""
    try:
        return yaml.load(text, _QUICK)
    except yaml.YAMLError:
        return yaml.safe_load(text)  # whose errors name the place in the same words everywhere


def static_pod(text: str, path: str, node: str, now_ns: int) -> ApiObject:
    """The pod of a manifest, named and marked as the kubelet does it. Raises ManifestError."""
    try:
        pod = thaw({"pod": _parsed(text)})["pod"]
    except yaml.YAMLError as error:
        line = " ".join(str(error).split())
        raise ManifestError(f"{path}: couldn't parse as pod({line}), please check config file") from None
    if not isinstance(pod, dict) or pod.get("kind") != "Pod":
        raise ManifestError(f"{path}: couldn't parse as pod(Object 'Kind' is missing), please check config file")
    containers = (pod.get("spec") or {}).get("containers")
    if not pod.get("metadata") or not pod["metadata"].get("name") or not containers:
        raise ManifestError(f"invalid pod: [spec.containers: Required value] in {path}")
    if not all(isinstance(c, dict) and c.get("name") and c.get("image") for c in containers):
        raise ManifestError(f"invalid pod: [spec.containers[0].image: Required value] in {path}")
    facts = json.dumps(pod, sort_keys=True, separators=(",", ":"), default=str)
    digest = hashlib.md5(f"{facts}host:{node}file:{path}".encode(), usedforsecurity=False).hexdigest()
    metadata = pod["metadata"]
    metadata["name"] = f"{metadata['name']}-{node}".lower()
    metadata.setdefault("namespace", "default")
    metadata["uid"] = digest
    metadata["annotations"] = {
        **(metadata.get("annotations") or {}),
        HASH: digest,
        SEEN: format_rfc3339(now_ns, digits=9),
        SOURCE: "file",
    }
    spec = pod["spec"]
    spec["nodeName"] = node
    spec.setdefault("tolerations", []).append({"effect": "NoExecute", "operator": "Exists"})
    apply_pod(pod)
    pod["status"] = {"phase": "Pending"}
    return ApiObject(pod)


class StaticPods:
    """The file source of one kubelet, and the mirror pods it keeps.

    Args:
        workers: of the node's pods, by uid.
        add: is given a pod that is to run.
    """

    def __init__(self, host: Host, workers: dict[str, PodWorker], add: Callable[[ApiObject, str], None]) -> None:
        self.host = host
        self.workers = workers
        self.add = add
        self._pods: dict[str, ApiObject] = {}  # path -> the pod that was read from it
        self._waiting: dict[str, ApiObject] = {}  # reference -> pod that starts when its namesake has gone
        self._noticed: dict[str, None] = {}
        self._check: Timer | None = None

    def start(self) -> None:
        """The kubelet starts: read the folder, then watch it."""
        files = self.host.machine.files
        self._pods, self._waiting, self._noticed = {}, {}, {}
        files.watch(FOLDER, self.file_changed)
        for name in files.entries(FOLDER):
            self._read(f"{FOLDER}/{name}")

    def stop(self) -> None:
        """The kubelet has stopped; the pods run on."""
        self.host.machine.files.unwatch(self.file_changed)
        if self._check is not None:
            self._check.cancel()
            self._check = None

    # Files.

    def file_changed(self, path: str) -> None:
        """A file of the folder appeared, changed or went."""
        if path not in self._noticed:
            self._noticed[path] = None
            self.host.sim.after(NOTICE_NS, self._notice)

    def _notice(self) -> None:
        noticed, self._noticed = self._noticed, {}
        if self.host.running:
            for path in noticed:
                self._read(path)

    def _read(self, path: str) -> None:
        if path.rpartition("/")[2].startswith("."):
            return
        try:
            text = self.host.machine.files.read(path)
        except FileError:
            self._replace(path, None)
            return
        try:
            pod = static_pod(text, path, self.host.name, self.host.sim.now)
        except ManifestError as error:
            self.host.klog.error("file.go:187", str(error), "Could not process manifest file", path=path)
            if self._check is None and path in self._pods:
                # The change is refused, and at the next reading of the whole folder the pod is missing.
                self._check = self.host.sim.after(CHECK_NS, self._check_folder)
            return
        self._replace(path, pod)

    def _check_folder(self) -> None:
        self._check = None
        for path in list(self._pods):
            try:
                static_pod(self.host.machine.files.read(path), path, self.host.name, 0)
            except (ManifestError, FileError):
                self._replace(path, None)

    def _replace(self, path: str, pod: ApiObject | None) -> None:
        before = self._pods.pop(path, None)
        if pod is not None:
            self._pods[path] = pod
            if before is not None and uid_of(before) == uid_of(pod):
                self._pods[path] = before
                return
        if before is not None:
            self._end(before)
        if pod is not None:
            self._begin(pod)

    def _end(self, pod: ApiObject) -> None:
        reference = _reference(pod)
        waiting = self._waiting.get(reference)
        if waiting is not None and uid_of(waiting) == uid_of(pod):
            del self._waiting[reference]
        worker = self.workers.get(uid_of(pod))
        if worker is not None:
            self.host.klog.info("kubelet.go:2431", "SyncLoop REMOVE", source="file", pods=[reference])
            worker.retire()

    def _begin(self, pod: ApiObject) -> None:
        reference = _reference(pod)
        if any(worker.static and worker.reference == reference for worker in self.workers.values()):
            self._waiting[reference] = pod
            return
        self.add(pod, "file")

    def forgotten(self, worker: PodWorker) -> None:
        """A static pod is gone: its namesake may start, or its mirror goes."""
        self.host.sim.after(HOUSEKEEPING_NS, self._keep_house, worker.namespace, worker.name)

    def _keep_house(self, namespace: str, name: str) -> None:
        host = self.host
        if not host.running:
            return
        pod = self._waiting.pop(f"{namespace}/{name}", None)
        if pod is not None:
            self._begin(pod)
            return
        mirror = host.client.cache.get("pods", namespace, name)
        if mirror is not None and mirror_hash(mirror) and mirror_hash(mirror) not in self.workers:
            delete_mirror(host, mirror)

    # Mirror pods.

    def mirror_changed(self, change: Change) -> None:
        """A mirror pod of this node changed in the API."""
        mirror = change.object
        worker = self.workers.get(mirror_hash(mirror))
        if worker is None:
            if change.kind != "DELETED":
                after = HOUSEKEEPING_NS
                self.host.sim.after(after, self._keep_house, namespace_of(mirror), name_of(mirror))
        elif change.kind == "DELETED" or is_terminating(mirror):
            worker.sent = {}
            worker.request_sync()
        else:
            worker.report.compare(mirror)


def _reference(pod: ApiObject) -> str:
    return f"{namespace_of(pod)}/{name_of(pod)}"
