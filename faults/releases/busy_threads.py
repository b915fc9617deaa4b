"""A release whose threads spin: it uses all the CPU that it gets, whatever it is asked for."""

from __future__ import annotations

from pydantic import Field

from simcluster.faults.datasheet import DataSheet
from simcluster.faults.releases.release import Release, ReleaseParams
from simcluster.models.apps import defects

#: More threads than any node of a cluster has cores.
MOST_THREADS = 64


class BusyParams(ReleaseParams):
    """The tag that comes out, and how many `threads` of its program spin."""

    threads: int = Field(gt=0, le=MOST_THREADS)


class BusyThreads(Release):
    """A Deployment is rolled out with a version of which some threads do nothing but spin.

    Symptoms: the container uses its CPU limit all the time and is throttled; requests wait for what is left, callers
    time out, probes with short time-outs fail. Without a limit it takes from its node what others leave.
    Shows in: `kubectl top pod`, cpu.stat of its cgroup, `top` of the node, latency, callers' logs, users.
    Undone by: rolling back, setting another tag, or applying the right manifest. A higher limit is used up, too.
    """

    sheet = DataSheet(
        layer="release",
        family="cpu_overload",
        changes=("spec.template.spec.containers[*].image", "behaviour"),
        follows="The container uses all the CPU that it may; its requests wait, and callers time out.",
        undone_by=("rolling back", "another tag"),
        units={"threads": "threads"},
        source="Linux cgroup v2, cpu.max; Cloud-OpsBench, pod_cpu_overload",
    )
    Params = BusyParams
    params: BusyParams

    def defect(self) -> defects.Defect:
        """What the version does."""
        return defects.BusyThreads(threads=self.params.threads)
