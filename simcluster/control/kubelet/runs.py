"""What the kubelet knows of its containers: a picture taken at the last relist (PLEG)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from simcluster.engine import Shared
from simcluster.models.machine.container import Container
from simcluster.models.machine.runtime import Runtime


class Run(NamedTuple):
    """One run of a container as the runtime listed it."""

    container_id: str
    state: str
    image_spec: str
    image_name: str
    image_id: str
    attempt: int
    started_ns: int
    finished_ns: int
    exit_code: int
    reason: str
    message: str
    sandbox_id: str = ""


@dataclass(frozen=True)
class PodPicture(Shared):
    """A pod's sandbox (address and id, empty when it has none) and its runs, newest first."""

    address: str
    runs: dict[str, tuple[Run, ...]]
    sandbox_id: str = ""

    def newest(self, name: str) -> Run | None:
        """The newest run of a container."""
        runs = self.runs.get(name)
        return runs[0] if runs else None

    def newest_here(self, name: str) -> Run | None:
        """The newest run of a container in the sandbox that there is now."""
        run = self.newest(name)
        return run if run is not None and run.sandbox_id == self.sandbox_id else None

    def running(self, name: str) -> bool:
        """Whether the container runs."""
        run = self.newest(name)
        return run is not None and run.state == "running"


NOTHING = PodPicture("", {})


def take_picture(runtime: Runtime, pod_uid: str) -> PodPicture:
    """List a pod's sandbox and containers."""
    sandbox = runtime.sandboxes.get(pod_uid)
    runs = {name: tuple(_run(run) for run in runs) for name, runs in runtime.runs.get(pod_uid, {}).items()}
    return PodPicture("", runs) if sandbox is None else PodPicture(sandbox.address, runs, sandbox.sandbox_id)


def happened(before: PodPicture, now: PodPicture) -> list[tuple[str, str]]:
    """Events of PLEG between two pictures: type, and id of the container or sandbox (pkg/kubelet/pleg/generic.go)."""
    known = {run.container_id: run.state for runs in before.runs.values() for run in runs}
    found = []
    for run in [run for runs in now.runs.values() for run in reversed(runs)]:
        if run.state != known.get(run.container_id) and run.state in ("running", "exited"):
            found.append(("ContainerStarted" if run.state == "running" else "ContainerDied", run.container_id))
    if before.sandbox_id and before.sandbox_id != now.sandbox_id:
        found.append(("ContainerDied", before.sandbox_id))
    if now.sandbox_id and now.sandbox_id != before.sandbox_id:
        found.append(("ContainerStarted", now.sandbox_id))
    return found


def _run(container: Container) -> Run:
    return Run(
        container.container_id,
        container.state,
        container.spec.image,
        container.image_name,
        container.image_id,
        container.attempt,
        container.started_ns,
        container.finished_ns,
        container.exit_code,
        container.reason,
        container.message,
        container.sandbox.sandbox_id,
    )
