"""What the kernel knows of a container: a group of processes with a main one, in the namespaces of its pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from simcluster.models.machine.containerspec import ContainerSpec, Mount
from simcluster.models.machine.kernel.cgroups import PodGroup
from simcluster.models.machine.shell.files import Layer


class Namespaces(Protocol):
    """What the containers of a pod share."""

    host_network: bool
    group: PodGroup

    @property
    def containers(self) -> Mapping[str, Group]:
        """The newest run of each, by name."""


class Group(Protocol):
    """The processes of one container.

    Attributes:
        state: `created`, `running` or `exited`.
        memory_bytes: what they hold; memory_full: how often that came up against the limit.
        oom_kills: how many of them the kernel killed for memory.
        throttled_ns: time in which the CFS quota stopped them.
        written: its writable layer.
        file_cache: bytes of its files in the page cache, where its program keeps count of them; file_peak: the most.
    """

    container_id: str
    spec: ContainerSpec
    pid: int
    state: str
    memory_bytes: int
    memory_full: int
    oom_kills: int
    throttled_ns: int
    written: Layer | None
    file_cache: int | None
    file_peak: int

    @property
    def sandbox(self) -> Namespaces:
        """Its pod's namespaces."""

    @property
    def running(self) -> bool:
        """Whether the main process lives."""

    @property
    def control_group(self) -> str:
        """Its control group as the host sees it: a path without a slash in front."""

    @property
    def comm(self) -> str:
        """Name of the main process."""

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """Its volumes."""

    @property
    def cpu_ns(self) -> int:
        """CPU time used since the start, in nanoseconds of one core."""

    def read_meter(self) -> None:
        """Take over what somebody else has counted of its CPU time."""

    def exit(self, code: int, reason: str = "", message: str = "") -> None:
        """The main process ends."""
