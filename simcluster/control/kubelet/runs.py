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


@dataclass(frozen=True)
class PodPicture(Shared):
    """A pod's sandbox address (empty when it has none) and its runs, newest first."""

    address: str
    runs: dict[str, tuple[Run, ...]]

    def newest(self, name: str) -> Run | None:
        """The newest run of a container."""
        runs = self.runs.get(name)
        return runs[0] if runs else None

    def running(self, name: str) -> bool:
        """Whether the container runs."""
        run = self.newest(name)
        return run is not None and run.state == "running"


NOTHING = PodPicture("", {})


def take_picture(runtime: Runtime, pod_uid: str) -> PodPicture:
    """List a pod's sandbox and containers."""
    sandbox = runtime.sandboxes.get(pod_uid)
    runs = {name: tuple(_run(run) for run in runs) for name, runs in runtime.runs.get(pod_uid, {}).items()}
    return PodPicture(sandbox.address if sandbox is not None else "", runs)


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
    )
