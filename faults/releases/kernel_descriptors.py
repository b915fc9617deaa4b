"""A release whose start script limits its own descriptors too far."""

from __future__ import annotations

from pydantic import Field

from simcluster.faults.datasheet import DataSheet
from simcluster.faults.releases.release import Release, ReleaseParams
from simcluster.models.apps import defects
from simcluster.models.machine.kernel.descriptors import BASE, DEFAULT_LIMIT


class DescriptorParams(ReleaseParams):
    """The tag that comes out, and the `nofile` that its start script sets (`ulimit -n`)."""

    nofile: int = Field(ge=BASE, lt=DEFAULT_LIMIT)


class KernelDescriptors(Release):
    """A Deployment is rolled out with a version that may open too few files for its connections.

    Symptoms: the program's log says `accept4: too many open files`; connections wait to be accepted until their
    callers time out; who is connected already is served. The pod stays Ready.
    Shows in: the log, `ulimit -n` and /proc/PID/limits in the container, users.
    Undone by: rolling back, setting another tag, or applying the right manifest.
    """

    sheet = DataSheet(
        layer="release",
        family="descriptors",
        changes=("spec.template.spec.containers[*].image", "behaviour"),
        follows="accept4 fails with EMFILE; new connections wait until their callers time out.",
        undone_by=("rolling back", "another tag"),
        units={"nofile": "open files (ulimit -n)"},
        source="getrlimit(2), RLIMIT_NOFILE",
    )
    Params = DescriptorParams
    params: DescriptorParams

    def defect(self) -> defects.Defect:
        """What the version does."""
        return defects.DescriptorLimit(limit=self.params.nofile)
