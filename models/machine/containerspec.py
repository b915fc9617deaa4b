"""What the kubelet asks the runtime to run in a container: image, command, resources, volumes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from simcluster.engine import Shared


class Renewed(Protocol):
    """A file whose text the kubelet renews as time passes, such as a token. It never changes itself."""

    def text(self, now_ns: int) -> str:
        """Its text at an instant."""


@dataclass(frozen=True)
class Mount(Shared):
    """A volume seen from inside: its path, what it is, and the files the kubelet put there."""

    path: str
    source: str  # configMap, secret, emptyDir, persistentVolumeClaim, hostPath, projected
    files: tuple[tuple[str, str | Renewed], ...] = ()
    read_only: bool = False
    volume: str = ""  # the volume's name: containers of the pod that mount it share what is written
    host: str = ""  # where it lies on the node, of a hostPath or a local volume


class Variables(dict[str, str], Shared):
    """A process's environment variables; never changed, so forks share them."""

    __slots__ = ()


@dataclass(frozen=True)
class ContainerSpec(Shared):
    """What the kubelet asks the runtime to run. CPU in cores, memory in bytes."""

    namespace: str
    pod_name: str
    pod_uid: str
    name: str
    image: str
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    ports: tuple[int, ...] = ()
    cpu_request: float = 0.0
    cpu_limit: float | None = None
    memory_request: int = 0
    memory_limit: int | None = None
    mounts: tuple[Mount, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    read_only_root: bool = False  # securityContext.readOnlyRootFilesystem
    termination_path: str = "/dev/termination-log"
    user: int | None = None  # securityContext.runAsUser; None: the image's
    group: int | None = None  # securityContext.runAsGroup
    groups: tuple[int, ...] = ()  # fsGroup and supplementalGroups
    drop: tuple[str, ...] = ()  # securityContext.capabilities
    add: tuple[str, ...] = ()
    privileged: bool = False
    target: str = ""  # targetContainerName: whose processes it sees
    workdir: str = ""  # workingDir; empty: the image's
    termination_fallback: bool = False  # terminationMessagePolicy FallbackToLogsOnError

    @property
    def environment(self) -> dict[str, str]:
        """The variables as a dictionary, not to be changed."""
        return Variables(self.env)
