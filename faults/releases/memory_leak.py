"""A release whose program keeps memory that it should give back."""

from __future__ import annotations

from pydantic import Field

from simcluster.faults.datasheet import DataSheet
from simcluster.faults.releases.release import Release, ReleaseParams
from simcluster.faults.target import FaultTarget, ImpossibleTarget
from simcluster.models.apps import defects

#: A program that leaks more for each second of CPU does nothing else.
MOST_LEAK_MIB = 4096


class LeakParams(ReleaseParams):
    """The tag that comes out, and the `mib` that its program never gives back for a second of CPU it uses."""

    mib: float = Field(gt=0.0, le=MOST_LEAK_MIB)


class MemoryLeak(Release):
    """A Deployment is rolled out with a new version whose program leaks memory with its work.

    Symptoms: the working set grows with the CPU time; at the limit the kernel kills the process, the container
    is OOMKilled and started anew, again and again, with a longer back-off each time. A higher limit only delays.
    Shows in: `top`, the kernel's ring buffer, container states, restarts, Events BackOff, callers' logs, users.
    Undone by: rolling back, setting another tag, or applying the right manifest.
    """

    sheet = DataSheet(
        layer="release",
        family="memory_leak",
        changes=("spec.template.spec.containers[*].image", "behaviour"),
        follows="The working set grows to the limit; the kernel kills the process, again and again.",
        undone_by=("rolling back", "another tag"),
        units={"mib": "MiB a second of CPU"},
        source="Linux cgroup v2, memory.max",
    )
    Params = LeakParams
    params: LeakParams

    def defect(self) -> defects.Defect:
        """What the version does."""
        return defects.MemoryLeak(bytes=int(self.params.mib * (1 << 20)))

    def check(self, target: FaultTarget) -> None:
        """There must be a memory limit to run into."""
        super().check(target)
        if not ((self.container(target).get("resources") or {}).get("limits") or {}).get("memory"):
            raise ImpossibleTarget(f"{self.ref} has no memory limit that a leak could reach")
