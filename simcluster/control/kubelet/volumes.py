"""A pod's volumes as files: what each container sees under its mount paths.

Source of the wording: pkg/volume/{configmap,secret,projected}, operation_generator.go
(`MountVolume.SetUp failed for volume ...`). Leaves out: attaching, file modes, CSI.
"""

from __future__ import annotations

from dataclasses import dataclass

from simcluster.api.objects import Json, namespace_of
from simcluster.api.store import Store
from simcluster.control.kubelet.environment import NodeFacts, data_of, field_value, resource_value
from simcluster.control.kubelet.podspec import Pod
from simcluster.engine import Shared
from simcluster.engine.streams import Streams
from simcluster.models.machine.container import Mount
from simcluster.models.machine.hostfiles import HostFiles

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


class VolumeError(Exception):
    """A volume cannot be set up (yet); the message is that of the FailedMount event."""


@dataclass(frozen=True)
class Volume(Shared):
    """A volume that is set up: its kind and its files."""

    source: str
    files: tuple[tuple[str, str], ...] = ()


class VolumeBuilder:
    """Sets up the volumes of one node's pods."""

    def __init__(self, cache: Store, streams: Streams, node: NodeFacts, files: HostFiles | None = None) -> None:
        self.cache = cache
        self.files = files
        self.streams = streams
        self.node = node
        self._tokens: dict[tuple[str, str], str] = {}  # as the kubelet's token manager keeps them

    def build(self, pod: Pod, volume: Json, address: str) -> Volume:
        """Set up one volume. Raises VolumeError."""
        name = volume["name"]
        for kind, reference in volume.items():
            if kind == "name":
                continue
            if kind == "persistentVolumeClaim":
                return self._claim(pod, name, reference)
            try:
                return Volume(kind, self._files(pod, kind, reference or {}, address))
            except VolumeError as error:
                raise VolumeError(f'MountVolume.SetUp failed for volume "{name}" : {error}') from None
        return Volume("emptyDir")

    def _claim(self, pod: Pod, name: str, reference: Json) -> Volume:
        namespace, claim_name = namespace_of(pod), reference["claimName"]
        claim = self.cache.get("persistentvolumeclaims", namespace, claim_name)
        why = ""
        if claim is None:
            why = f'failed to fetch PVC from API server: persistentvolumeclaims "{claim_name}" not found'
        elif (claim.get("status") or {}).get("phase") != "Bound":
            why = "PVC is not bound"
        if why:
            raise VolumeError(
                f"Unable to attach or mount volumes: unmounted volumes=[{name}], unattached volumes=[], "
                f"failed to process volumes=[{name}]: error processing PVC {namespace}/{claim_name}: {why}"
            )
        return Volume("persistentVolumeClaim")

    def _files(self, pod: Pod, kind: str, reference: Json, address: str) -> tuple[tuple[str, str], ...]:
        if kind == "configMap":
            return self._object_files(pod, "configmaps", "configmap", reference["name"], reference)
        if kind == "secret":
            name = reference.get("secretName") or reference.get("name") or ""
            return self._object_files(pod, "secrets", "secret", name, reference)
        if kind == "downwardAPI":
            return self._downward_files(pod, reference, address)
        if kind == "projected":
            found: list[tuple[str, str]] = []
            for source in reference.get("sources") or ():
                for part, inner in source.items():
                    found.extend(self._projected(pod, part, inner, address))
            return tuple(found)
        if kind == "hostPath" and self.files is not None:
            return _host_files(self.files, reference["path"], reference.get("type") or "")
        return ()

    def _projected(self, pod: Pod, kind: str, reference: Json, address: str) -> tuple[tuple[str, str], ...]:
        if kind == "serviceAccountToken":
            return ((reference["path"], self._token(pod)),)
        return self._files(pod, kind, reference, address)

    def _token(self, pod: Pod) -> str:
        namespace = namespace_of(pod)
        account = pod["spec"].get("serviceAccountName") or "default"
        if self.cache.get("serviceaccounts", namespace, account) is None:
            raise VolumeError(f'failed to fetch token: serviceaccounts "{account}" not found')
        known = self._tokens.get((namespace, account))
        if known is None:
            stream = self.streams.stream("service-account-token", namespace, account)
            parts = ("eyJhbGciOiJSUzI1NiIs" + stream.text(_ALPHABET, 40), stream.text(_ALPHABET, 320))
            known = self._tokens[namespace, account] = ".".join((*parts, stream.text(_ALPHABET, 342)))
        return known

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
                what = "config" if kind == "configmap" else "secret"
                raise VolumeError(f"references non-existent {what} key: {item['key']}")
            files.append((item["path"], data[item["key"]]))
        return tuple(files)

    def _downward_files(self, pod: Pod, reference: Json, address: str) -> tuple[tuple[str, str], ...]:
        files = []
        for item in reference.get("items") or ():
            if "fieldRef" in item:
                text = field_value(pod, item["fieldRef"]["fieldPath"], address, self.node)
            else:
                text = resource_value(pod, None, item["resourceFieldRef"], self.node)
            files.append((item["path"], text))
        return tuple(files)


def _host_files(files: HostFiles, path: str, kind: str) -> tuple[tuple[str, str], ...]:
    """What lies at a path of the host, as it is when the pod starts.

    Source of the wording: pkg/volume/hostpath/host_path.go (checkTypeInternal).
    """
    found = files.find(path)
    if kind == "File" and found is None:
        raise VolumeError(f"hostPath type check failed: {path} is not a file")
    if kind == "Directory" and not files.is_folder(path):
        raise VolumeError(f"hostPath type check failed: {path} is not a directory")
    if kind == "DirectoryOrCreate" and not files.exists(path):
        files.make_folder(path, parents=True)
    if kind == "FileOrCreate" and found is None:
        files.write(path, "")
    return (("", found.text),) if found is not None else tuple(files.below(path))


def mounts_of(container: Json, volumes: dict[str, Volume]) -> tuple[Mount, ...]:
    """What one container sees of the pod's volumes."""
    mounts = []
    for entry in container.get("volumeMounts") or ():
        volume = volumes.get(entry["name"], Volume("emptyDir"))
        files = volume.files
        path = entry["mountPath"]
        part = entry.get("subPath")
        if part:
            inside = tuple((name[len(part) + 1 :], text) for name, text in files if name.startswith(part + "/"))
            single = [text for name, text in files if name == part]
            if single:  # a single file mounted at the path itself
                path, _, last = path.rpartition("/")
                inside = ((last, single[0]),)
            files = inside
        elif len(files) == 1 and not files[0][0]:  # a single file of the host
            path, _, last = path.rpartition("/")
            files = ((last, files[0][1]),)
        mounts.append(Mount(path or "/", volume.source, files, bool(entry.get("readOnly")), entry["name"]))
    return tuple(mounts)
