"""Releases whose programs leave something behind with their work until the kernel has no more of it."""

from __future__ import annotations

from pydantic import Field

from simcluster.control.kubelet.thresholds import configured_pids
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.releases.release import Release, ReleaseParams
from simcluster.faults.target import FaultTarget, ImpossibleTarget
from simcluster.models.apps import defects
from simcluster.models.machine.machine import Machine

#: A program that starts more children in a second of CPU does nothing else (a fork and an exec cost about 1 ms).
MOST_CHILDREN = 1000.0
#: A program that writes more in a second of CPU does nothing else.
MOST_MIB = 4096.0


class ProcessParams(ReleaseParams):
    """The tag that comes out, and the `children` that its program never asks after for a second of CPU it uses."""

    children: float = Field(gt=0.0, le=MOST_CHILDREN)


class ProcessLitter(Release):
    """A Deployment is rolled out with a version that starts children and never waits for them.

    Symptoms: zombies of the program pile up until its pod has as many tasks as the kubelet allows (podPidsLimit);
    then fork is refused (EAGAIN), the program ends on it and is started anew, and all begins again.
    Shows in: `ps` and `top` (zombies), pids.current and pids.events of its cgroup, the ring buffer ("fork rejected by
    pids controller"), the log, exit codes, restarts, Events BackOff, callers, users.
    Undone by: rolling back, setting another tag, or applying the right manifest. A restart only buys time.
    """

    sheet = DataSheet(
        layer="release",
        family="pid_exhaustion",
        changes=("spec.template.spec.containers[*].image", "behaviour"),
        follows="Zombies pile up to the pod's limit of tasks; fork is refused and the program ends, again and again.",
        undone_by=("rolling back", "another tag"),
        units={"children": "processes a second of CPU"},
        source="Linux cgroup v2, pids.max; kubelet, podPidsLimit",
    )
    Params = ProcessParams
    params: ProcessParams

    def defect(self) -> defects.Defect:
        """What the version does."""
        return defects.ProcessLitter(children=self.params.children)

    def check(self, target: FaultTarget) -> None:
        """There must be a limit of a pod's tasks to run into."""
        super().check(target)
        machines = [machine for machine in target.machines.values() if isinstance(machine, Machine)]
        if not any(configured_pids(machine) > 0 for machine in machines):
            raise ImpossibleTarget(f"no kubelet limits the tasks of {self.ref}'s pods (podPidsLimit)")


class SharedParams(ReleaseParams):
    """The tag that comes out, and the `mib` that its program leaves in /dev/shm for a second of CPU it uses."""

    mib: float = Field(gt=0.0, le=MOST_MIB)


class SharedLitter(Release):
    """A Deployment is rolled out with a version that writes files to /dev/shm and never removes them.

    Symptoms: the pod's /dev/shm (64 MiB) fills; a write is refused (ENOSPC) and the program ends on it. The file
    system belongs to the pod, so what is in it outlives the container: the next run ends at its first write.
    Shows in: the log ("No space left on device" while no disk is full), `df /dev/shm` and memory.stat (shmem) in the
    container, exit codes, restarts, Events BackOff, callers, users.
    Undone by: rolling back, setting another tag, or applying the right manifest. A new pod only buys time.
    """

    sheet = DataSheet(
        layer="release",
        family="shared_memory",
        changes=("spec.template.spec.containers[*].image", "behaviour"),
        follows="/dev/shm fills; a write is refused (ENOSPC) and the program ends, again and again.",
        undone_by=("rolling back", "another tag"),
        units={"mib": "MiB a second of CPU"},
        source="containerd, default size of /dev/shm",
    )
    Params = SharedParams
    params: SharedParams

    def defect(self) -> defects.Defect:
        """What the version does."""
        return defects.SharedMemoryLitter(bytes=int(self.params.mib * (1 << 20)))
