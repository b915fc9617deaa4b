"""File descriptors: what each process holds, its limit, and the limit of the whole system.

What a container holds is counted, not listed: what its runtime needs, files it opened, sockets,
and what it leaks with its work. Left out: single descriptors and who shares them.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.engine import SECOND
from simcluster.models.machine.kernel.group import Group
from simcluster.models.machine.kernel.sysctls import Sysctls

#: RLIMIT_NOFILE that containerd 1.7's unit gives (LimitNOFILE=infinity is fs.nr_open).
DEFAULT_LIMIT = 1_048_576
#: What a server holds without any connection: standard streams, epoll, logs, libraries.
BASE = 14
#: Open files of a node's own daemons at rest.
SYSTEM_FILES = 2_900


class Descriptors:
    """Descriptors of one machine's processes.

    Attributes:
        default_limit: soft limit of new containers.
    """

    __slots__ = ("_leaks", "_limits", "_open", "_sockets", "_sysctls", "default_limit")

    def __init__(self, sysctls: Sysctls) -> None:
        self._sysctls = sysctls
        self.default_limit = DEFAULT_LIMIT
        self._open: dict[str, int] = {}  # container id ->
        self._sockets: dict[str, float] = {}
        self._limits: dict[tuple[str, str], int] = {}  # pod uid, container name ->
        self._leaks: dict[str, tuple[float, int]] = {}  # container id -> per CPU second, CPU time at the start

    @property
    def unusual(self) -> bool:
        """Whether somebody has a limit or a leak of his own, or the system's limit is within reach."""
        return bool(self._limits or self._leaks) or self._sysctls.number("fs.file-max") < DEFAULT_LIMIT

    def limit(self, container: Group) -> int:
        """RLIMIT_NOFILE of the container's processes."""
        return self._limits.get((container.spec.pod_uid, container.spec.name), self.default_limit)

    def set_limit(self, container: Group, soft: int) -> None:
        """Set RLIMIT_NOFILE for this container of the pod, restarts included. Raises ValueError."""
        most = self._sysctls.number("fs.nr_open")
        if not BASE <= soft <= most:
            raise ValueError(f"RLIMIT_NOFILE must be between {BASE} and fs.nr_open ({most}), not {soft}")
        self._limits[container.spec.pod_uid, container.spec.name] = soft

    def leak(self, container: Group, per_cpu_second: float) -> None:
        """From now on it never closes so many descriptors for each second of CPU it uses (0: no more).

        Raises:
            ValueError: a negative rate.
        """
        if per_cpu_second < 0.0:
            raise ValueError("a process cannot leak less than nothing")
        held = self._leaked(container)
        if held:
            self._open[container.container_id] = self._open.get(container.container_id, 0) + held
        self._leaks[container.container_id] = (per_cpu_second, container.cpu_ns)

    def held(self, container: Group) -> int:
        """Descriptors that the container's main process holds."""
        if not container.running:
            return 0
        key = container.container_id
        held = BASE + self._open.get(key, 0) + int(self._sockets.get(key, 0.0)) + self._leaked(container)
        return min(held, self.limit(container))

    def each(self, containers: Sequence[Group]) -> list[int]:
        """`held` of several containers that run."""
        if self._limits or self._leaks:
            return [self.held(container) for container in containers]
        open_, sockets, most = self._open, self._sockets, self.default_limit
        keys = [container.container_id for container in containers]
        return [min(BASE + open_.get(key, 0) + int(sockets.get(key, 0.0)), most) for key in keys]

    def held_by(self, containers: Sequence[Group]) -> int:
        """Descriptors of several containers together."""
        return sum(self.each([container for container in containers if container.state == "running"]))  # integers

    def take(self, container: Group, count: int, system: int) -> str:
        """Open `count` more; `system` is how many the machine has open. The error, or ""."""
        if self.held(container) + count > self.limit(container):
            return "EMFILE"
        if system + count > self._sysctls.number("fs.file-max"):
            return "ENFILE"
        self._open[container.container_id] = self._open.get(container.container_id, 0) + count
        return ""

    def give(self, container: Group, count: int) -> None:
        """Close `count`."""
        left = self._open.get(container.container_id, 0) - count
        if left > 0:
            self._open[container.container_id] = left
        else:
            self._open.pop(container.container_id, None)

    def sockets(self, container: Group, concurrent: float, system: int, held: float = 0.0) -> tuple[float, str]:
        """Connections that want to be open: the share of them that gets no descriptor, and why.

        Of those that are `held` already nobody leaves: the share is one of the others.
        """
        key = container.container_id
        room = max(0, self.limit(container) - BASE - self._open.get(key, 0) - self._leaked(container))
        left = max(0, self._sysctls.number("fs.file-max") - system + int(self._sockets.get(key, 0.0)))
        fits, cause = (room, "EMFILE") if room <= left else (left, "ENFILE")
        kept = min(concurrent, float(fits))
        if kept > 0.0:
            self._sockets[key] = kept
        else:
            self._sockets.pop(key, None)
        # A full table serves nobody new, however few want to come.
        others, fitting = concurrent - held, max(0.0, kept - held)
        short = 1.0 - fitting / others if others > fitting else 0.0
        return (short, cause) if short > 0.0 else (0.0, "")

    def connected(self, container: Group) -> int:
        """Connections of a container."""
        return int(self._sockets.get(container.container_id, 0.0))

    def all_sockets(self) -> int:
        """Connections of all containers."""
        return sum(int(count) for count in self._sockets.values())  # integers

    def forget(self, container: Group) -> None:
        """The process is gone, and with it all it held."""
        key = container.container_id
        self._open.pop(key, None)
        self._sockets.pop(key, None)
        self._leaks.pop(key, None)

    def _leaked(self, container: Group) -> int:
        rate, since = self._leaks.get(container.container_id, (0.0, 0))
        return int(rate * (container.cpu_ns - since) / SECOND)
