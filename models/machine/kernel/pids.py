"""Process numbers: how many tasks each pod may have, and the machine as a whole."""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.models.machine.kernel.sysctls import Sysctls

#: Tasks of a server (its threads), and of a node's own daemons and kernel threads.
PER_CONTAINER = 12
SYSTEM_TASKS = 330


class PidTable:
    """Tasks of one machine by pod uid, beyond those of its main processes."""

    __slots__ = ("_defunct", "_extra", "_limits", "_rejected", "_sysctls")

    def __init__(self, sysctls: Sysctls) -> None:
        self._sysctls = sysctls
        self._extra: dict[str, int] = {}
        self._limits: dict[str, int] = {}
        self._rejected: dict[str, int] = {}
        self._defunct: dict[str, int] = {}

    def limit(self, pod_uid: str) -> int | None:
        """`pids.max` of a pod's cgroup; None: `max`."""
        return self._limits.get(pod_uid)

    def set_limit(self, pod_uid: str, pids_max: int | None) -> None:
        """Set `pids.max` of a pod (None: no limit). Raises ValueError."""
        if pids_max is None:
            self._limits.pop(pod_uid, None)
            return
        if pids_max < 1:
            raise ValueError(f"pids.max must be at least 1, not {pids_max}")
        self._limits[pod_uid] = pids_max

    def extra(self, pod_uid: str) -> int:
        """Tasks that a pod forked besides its main processes."""
        return self._extra.get(pod_uid, 0)

    def extras(self, pod_uids: Sequence[str]) -> list[int]:
        """The same of several pods."""
        return [self.extra(uid) for uid in pod_uids] if self._extra else [0] * len(pod_uids)

    def defunct(self, pod_uid: str) -> int:
        """How many of these have ended and wait for their parent to ask after them (zombies)."""
        return self._defunct.get(pod_uid, 0)

    def ended(self, pod_uid: str, count: int) -> None:
        """`count` of a pod's tasks ended, and nobody asks after them: they keep their PIDs."""
        self._defunct[pod_uid] = min(self.extra(pod_uid), self.defunct(pod_uid) + count)

    def room(self, pod_uid: str, main_tasks: int, containers: int) -> int:
        """How many more tasks a pod may have."""
        most = min(self._sysctls.number("kernel.pid_max"), self._sysctls.number("kernel.threads-max"))
        left = most - self.total(containers)
        limit = self._limits.get(pod_uid)
        return max(0, left if limit is None else min(left, limit - main_tasks - self.extra(pod_uid)))

    def rejected(self, pod_uid: str) -> int:
        """`pids.events` max: how often a fork was refused."""
        return self._rejected.get(pod_uid, 0)

    def total(self, containers: int) -> int:
        """Tasks on the machine when so many containers run."""
        return SYSTEM_TASKS + PER_CONTAINER * containers + sum(self._extra.values())  # integers

    def fork(self, pod_uid: str, main_tasks: int, containers: int, count: int) -> str:
        """`count` more tasks in a pod: EAGAIN or ""; `main_tasks` are those of its main processes."""
        limit = self._limits.get(pod_uid)
        if limit is not None and main_tasks + self.extra(pod_uid) + count > limit:
            self._rejected[pod_uid] = self._rejected.get(pod_uid, 0) + 1
            return "EAGAIN"
        most = min(self._sysctls.number("kernel.pid_max"), self._sysctls.number("kernel.threads-max"))
        if self.total(containers) + count > most:
            return "EAGAIN"
        self._extra[pod_uid] = self.extra(pod_uid) + count
        return ""

    def reap(self, pod_uid: str, count: int) -> None:
        """So many tasks of a pod ended."""
        left = self.extra(pod_uid) - count
        if left > 0:
            self._extra[pod_uid] = left
        else:
            self._extra.pop(pod_uid, None)

    def forget(self, pod_uid: str) -> None:
        """The pod's processes are gone; the next ones live in groups of their own, which count from nothing."""
        self._extra.pop(pod_uid, None)
        self._defunct.pop(pod_uid, None)
        self._rejected.pop(pod_uid, None)
