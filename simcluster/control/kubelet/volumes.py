"""A pod's volumes as files: what each container sees under its mount paths.

Source of the wording: pkg/volume/{configmap,secret,projected}, operation_generator.go
(`MountVolume.SetUp failed for volume ...`). Leaves out: file modes, what CSI drivers mount.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simcluster.api.objects import Json, name_of, namespace_of, uid_of
from simcluster.api.store import Store
from simcluster.control.kubelet.environment import ConfigError, NodeFacts, data_of, field_value, resource_value
from simcluster.control.kubelet.intree import device_problem, missing_path, removed_plugin
from simcluster.control.kubelet.networkmounts import nfs_problem
from simcluster.control.kubelet.podspec import Pod
from simcluster.control.kubelet.tokenfile import Identified, TokenFile
from simcluster.control.volumes.provisioners import PROVISIONED_BY
from simcluster.engine import SECOND, Shared, Simulation
from simcluster.models.machine.container import Sandbox
from simcluster.models.machine.containerspec import Mount
from simcluster.models.machine.network import Network
from simcluster.models.machine.nodetree import NodeTree
from simcluster.models.machine.shell.files import FileError, Layer

#: Names within a volume and their texts.
Files = tuple[tuple[str, str | TokenFile], ...]


#: What the files of volumes are made of, besides pods and the node.
SOURCES = ("configmaps", "secrets", "serviceaccounts")


#: Sockets that the programs of a node listen on.
SOCKETS = ("/run/containerd/containerd.sock", "/run/dbus/system_bus_socket", "/run/systemd/journal/socket")
_DEVICES = {"CharDevice": "character device", "BlockDevice": "block device"}


class VolumeError(Exception):
    """A volume cannot be set up (yet); the message is that of the FailedMount event."""


class ClaimError(VolumeError):
    """A claim cannot be used: the sync that found it fails at once."""


@dataclass(frozen=True)
class Volume(Shared):
    """A volume that is set up: its kind, its files, and where it lies on the node if it has a path there."""

    source: str
    files: Files = ()
    host: str = ""


class Volumes(dict[str, Volume], Shared):
    """The volumes of a pod by name; never changed but replaced."""

    __slots__ = ()


class VolumeBuilder:
    """Sets up the volumes of one node's pods."""

    def __init__(
        self, sim: Simulation, cache: Store, node: NodeFacts, network: Network, files: NodeTree | None = None
    ) -> None:
        self.sim = sim
        self.cache = cache
        self.network = network
        self.files = files
        self.node = node
        self._tokens_since: dict[str, int] = {}  # pod uid -> second of its first token

    def build(self, pod: Pod, volume: Json, address: str) -> Volume:
        """Set up one volume. Raises VolumeError."""
        name = volume["name"]
        _refuse(volume, name, name)
        for kind, reference in volume.items():
            if kind == "name":
                continue
            if kind == "persistentVolumeClaim":
                return self._claim(pod, name, reference["claimName"])
            if kind == "ephemeral":
                return self._claim(pod, name, claim_of(pod, volume))
            try:
                host = self._place(reference["path"]) if kind == "hostPath" else ""
                problem = self._nfs(pod, name, reference) if kind == "nfs" else ""
                if problem:
                    raise VolumeError(problem)
                return Volume(kind, self._files(pod, kind, reference or {}, address), host)
            except VolumeError as error:
                raise VolumeError(f'MountVolume.SetUp failed for volume "{name}" : {error}') from None
        return Volume("emptyDir")

    def mark(self) -> tuple[object, ...]:
        """As long as it is the same, so are the sources of every pod."""
        cache = self.cache
        node = cache.get("nodes", "", self.node.name)
        return (*[cache.changed_at(resource) for resource in SOURCES], node and uid_of(node))

    def sources(self, pod: Pod) -> tuple[object, ...]:
        """What the files of a running pod's volumes are made of, besides the pod itself."""
        found: list[object] = []
        for volume in pod["spec"].get("volumes") or ():
            projected = volume.get("projected")
            for part in (volume,) if projected is None else projected.get("sources") or ():
                if "configMap" in part:
                    found.append(self.cache.get("configmaps", namespace_of(pod), part["configMap"].get("name") or ""))
                elif "secret" in part:
                    name = part["secret"].get("secretName") or part["secret"].get("name") or ""
                    found.append(self.cache.get("secrets", namespace_of(pod), name))
                elif "serviceAccountToken" in part:
                    name = pod["spec"].get("serviceAccountName") or "default"
                    node = self.cache.get("nodes", "", self.node.name)
                    found += (self.cache.get("serviceaccounts", namespace_of(pod), name), node and uid_of(node))
        return tuple(found)

    def attach(self, pod: Pod, sandbox: Sandbox) -> None:
        """Give a new sandbox what others wrote to its persistent volumes and to its paths of the node.

        What its own emptyDirs hold it has already; those in memory begin empty (an earlier sandbox ends with a boot).
        """
        namespace = namespace_of(pod)
        for volume in pod["spec"].get("volumes") or ():
            if "hostPath" in volume:
                sandbox.volumes[volume["name"]] = self._kept(volume["hostPath"]["path"])
                continue
            if (volume.get("emptyDir") or {}).get("medium") == "Memory":
                sandbox.volumes.pop(volume["name"], None)
                continue
            claim = self.cache.get("persistentvolumeclaims", namespace, claim_of(pod, volume))
            bound = None if claim is None else self.cache.get("persistentvolumes", "", _volume_name(claim))
            if bound is not None:
                path = _local_path(bound)
                kept = self._kept(path) if path else self.network.volumes.setdefault(uid_of(bound), Layer())
                sandbox.volumes[volume["name"]] = kept

    def _claim(self, pod: Pod, name: str, claim_name: str) -> Volume:
        namespace = namespace_of(pod)
        claim = self.cache.get("persistentvolumeclaims", namespace, claim_name)
        why = ""
        if claim is None:
            why = f'failed to fetch PVC from API server: persistentvolumeclaims "{claim_name}" not found'
        elif (claim.get("status") or {}).get("phase") != "Bound":
            why = "PVC is not bound"
        if why:
            raise ClaimError(
                f"Unable to attach or mount volumes: unmounted volumes=[{name}], unattached volumes=[], "
                f"failed to process volumes=[{name}]: error processing PVC {namespace}/{claim_name}: {why}"
            )
        bound = None if claim is None else self.cache.get("persistentvolumes", "", _volume_name(claim))
        if bound is not None:
            _refuse(bound["spec"], name_of(bound), name)
            made = PROVISIONED_BY in (bound["metadata"].get("annotations") or {})
            missing = missing_path(self.files, bound["spec"], made=made)
            if missing:
                raise VolumeError(missing.format(name_of(bound)))
        export = (bound["spec"].get("nfs") if bound is not None else None) or {}
        problem = self._nfs(pod, name_of(bound), export) if bound is not None and export else ""
        if problem and bound is not None:
            raise VolumeError(f'MountVolume.SetUp failed for volume "{name_of(bound)}" : {problem}')
        return Volume("persistentVolumeClaim", host=self._place(_local_path(bound)))

    def _kept(self, path: str) -> Layer:
        """What pods write to a path of the node."""
        return Layer() if self.files is None else self.files.machine.volumes.setdefault(self._place(path), Layer())

    def _place(self, path: str) -> str:
        """Where a path of the node really lies now."""
        return path if self.files is None or not path else self.files.place(path)

    def _files(self, pod: Pod, kind: str, reference: Json, address: str) -> Files:
        if kind == "configMap":
            return self._object_files(pod, "configmaps", "configmap", reference.get("name", ""), reference)
        if kind == "secret":
            name = reference.get("secretName") or reference.get("name") or ""
            return self._object_files(pod, "secrets", "secret", name, reference)
        if kind == "downwardAPI":
            return self._downward_files(pod, reference, address)
        if kind == "projected":
            found: list[tuple[str, str | TokenFile]] = []
            for source in reference.get("sources") or ():
                for part, inner in source.items():
                    found.extend(self._projected(pod, part, inner, address))
            return tuple(found)
        if kind == "csi":
            self._check_driver(str(reference["driver"]))
        if kind == "hostPath" and self.files is not None:
            return _host_files(self.files, reference["path"], reference.get("type") or "")
        return ()

    def _nfs(self, pod: Pod, volume: str, reference: Json) -> str:
        return nfs_problem(
            self.network, self.node.name, str(reference["server"]), str(reference["path"]), uid_of(pod), volume
        )

    def _check_driver(self, driver: str) -> None:
        """An inline CSI volume needs its driver on the node."""
        known = self.cache.get("csinodes.storage.k8s.io", "", self.node.name)
        drivers = (known["spec"].get("drivers") or ()) if known is not None else ()
        if not any(entry["name"] == driver for entry in drivers):
            why = "kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: driver name "
            raise VolumeError(f"{why}{driver} not found in the list of registered CSI drivers")

    def _projected(self, pod: Pod, kind: str, reference: Json, address: str) -> Files:
        if kind == "serviceAccountToken":
            return ((reference["path"], self._token(pod, reference)),)
        return self._files(pod, kind, reference, address)

    def _token(self, pod: Pod, reference: Json) -> TokenFile:
        namespace = namespace_of(pod)
        name = pod["spec"].get("serviceAccountName") or "default"
        account = self.cache.get("serviceaccounts", namespace, name)
        if account is None:
            raise VolumeError(f'failed to fetch token: serviceaccounts "{name}" not found')
        node = self.cache.get("nodes", "", self.node.name)
        return TokenFile(
            namespace,
            Identified(name, uid_of(account)),
            Identified(name_of(pod), uid_of(pod)),
            Identified(self.node.name, uid_of(node)) if node is not None else None,
            reference.get("audience") or "",
            int(reference.get("expirationSeconds") or 3600),
            self._tokens_since.setdefault(uid_of(pod), self.sim.now // SECOND),
        )

    def forget_pod(self, uid: str) -> None:
        """A pod is gone for good."""
        self._tokens_since.pop(uid, None)

    def _object_files(
        self, pod: Pod, resource: str, kind: str, name: str, reference: Json
    ) -> tuple[tuple[str, str], ...]:
        found = self.cache.get(resource, namespace_of(pod), name)
        if found is None:
            if reference.get("optional"):
                return ()
            raise VolumeError(f'{kind} "{name}" not found')
        data = data_of(found)
        items = reference.get("items")
        if not items:
            return tuple(data.items())
        files = []
        for item in items:
            if item["key"] not in data:
                if reference.get("optional"):
                    continue
                what = (
                    "configmap references non-existent config"
                    if kind == "configmap"
                    else "references non-existent secret"
                )
                raise VolumeError(f"{what} key: {item['key']}")
            files.append((item["path"], data[item["key"]]))
        return tuple(files)

    def _downward_files(self, pod: Pod, reference: Json, address: str) -> tuple[tuple[str, str], ...]:
        files = []
        for item in reference.get("items") or ():
            if "fieldRef" in item:
                try:
                    text = field_value(pod, item["fieldRef"]["fieldPath"], address, self.node)
                except ConfigError as error:
                    raise VolumeError(str(error)) from None
            else:
                of = item.get("resourceFieldRef")
                text = "" if of is None else resource_value(pod, None, of, self.node)
            files.append((item["path"], text))
        return tuple(files)


def claim_of(pod: Pod, volume: Json) -> str:
    """Name of the claim behind a volume; empty if there is none."""
    if "persistentVolumeClaim" in volume:
        return str(volume["persistentVolumeClaim"]["claimName"])
    return f"{name_of(pod)}-{volume['name']}" if "ephemeral" in volume else ""


def _refuse(source: Mapping[str, Any], name: str, inner: str) -> None:
    """Refuse what no plugin of the node mounts; `inner` is the pod's own name for it. Raises VolumeError."""
    if removed_plugin(source):
        raise ClaimError(
            f"Unable to attach or mount volumes: unmounted volumes=[{inner}], unattached volumes=[], failed to "
            f'process volumes=[{inner}]: failed to get Plugin from volumeSpec for volume "{name}" err=no volume '
            "plugin matched"
        )
    problem = device_problem(source)
    if problem:
        raise VolumeError(f'MountVolume.WaitForAttach failed for volume "{name}" : {problem}')


def _volume_name(claim: Mapping[str, Any]) -> str:
    return str((claim.get("spec") or {}).get("volumeName") or "")


def _local_path(volume: Mapping[str, Any] | None) -> str:
    """The path of a persistent volume on its node; empty if it does not lie on one."""
    spec = (volume or {}).get("spec") or {}
    return str((spec.get("hostPath") or spec.get("local") or {}).get("path") or "")


def _host_files(files: NodeTree, path: str, kind: str) -> tuple[tuple[str, str], ...]:
    """What lies at a path of the host, as it is when the pod starts.

    Source of the wording: pkg/volume/hostpath/host_path.go (checkTypeInternal).
    """
    found = files.look(path)
    if kind == "File" and (found is None or found.is_folder):
        raise VolumeError(f"hostPath type check failed: {path} is not a file")
    if kind == "Directory" and (found is None or not found.is_folder):
        raise VolumeError(f"hostPath type check failed: {path} is not a directory")
    if kind == "Socket" and path.replace("/var/run/", "/run/") not in SOCKETS:
        raise VolumeError(f"hostPath type check failed: {path} is not a socket file")
    if kind in _DEVICES and not path.startswith("/dev/"):
        raise VolumeError(f"hostPath type check failed: {path} is not a {_DEVICES[kind]}")
    try:
        if kind == "DirectoryOrCreate" and found is None:
            files.make_folders(path)
        if kind == "FileOrCreate" and found is None:
            files.write(path, "")
    except FileError as error:
        call = "mkdir" if kind == "DirectoryOrCreate" else "open"
        raise VolumeError(f"{call} {path}: {str(error).lower()}") from None
    return (("", files.read(path).text),) if found is not None and not found.is_folder else files.texts(path)


def mounts_of(
    container: Json, volumes: dict[str, Volume], former: tuple[Mount, ...] | None = None
) -> tuple[Mount, ...]:
    """What one container sees of the pod's volumes.

    Args:
        former: what it has seen until now; a `subPath` of it never follows the volume.
    """
    mounts: list[Mount] = []
    for entry in container.get("volumeMounts") or ():
        if former is not None and (entry.get("subPath") or entry.get("subPathExpr")) and len(mounts) < len(former):
            mounts.append(former[len(mounts)])
            continue
        volume = volumes.get(entry["name"], Volume("emptyDir"))
        files = volume.files
        path = entry["mountPath"]
        part = entry.get("subPath")
        if part:
            inside = tuple((name[len(part) + 1 :], text) for name, text in files if name.startswith(part + "/"))
            single = [text for name, text in files if name == part]
            files = (("", single[0]),) if single else inside  # a single file is mounted at the path itself
        host = f"{volume.host}/{part}" if volume.host and part else volume.host
        mounts.append(Mount(path or "/", volume.source, files, bool(entry.get("readOnly")), entry["name"], host))
    return tuple(mounts)
