"""Which faults there are: mechanisms are code listed here, faults are the YAML files in `specs/`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, field_validator

from simcluster.engine.content import Content, ContentError, Library, UnknownName, load_content, nearest, read_document
from simcluster.faults.clocks.kernel_clock import KernelClock
from simcluster.faults.cooling.cooling_loss import CoolingLoss
from simcluster.faults.cpu_limits.container_cpu import ContainerCpu
from simcluster.faults.deployer import Deployer
from simcluster.faults.drives.disk_errors import LatentErrors, SilentCorruption
from simcluster.faults.drives.disk_slow import SlowDrive
from simcluster.faults.environment.container_env import ContainerEnv
from simcluster.faults.images.container_image import ContainerImage
from simcluster.faults.kernel_tables.kernel_sysctl import KernelSysctl
from simcluster.faults.links.link_slow import LinkSlow
from simcluster.faults.load.load_spike import LoadSpike
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.neighbours.cpu_steal import CpuSteal
from simcluster.faults.neighbours.neighbour_process import NeighbourProcess
from simcluster.faults.power.machine_power import PowerLoss
from simcluster.faults.releases.kernel_descriptors import KernelDescriptors
from simcluster.faults.releases.litter import ProcessLitter, SharedLitter
from simcluster.faults.releases.memory_leak import MemoryLeak
from simcluster.faults.services.service_selector import ServiceSelector
from simcluster.faults.target import ObjectRef
from simcluster.faults.units.unit_stop import UnitStop

MECHANISMS: dict[str, type[Mechanism]] = {
    "container_cpu": ContainerCpu,
    "container_env": ContainerEnv,
    "container_image": ContainerImage,
    "cooling_loss": CoolingLoss,
    "cpu_steal": CpuSteal,
    "kernel_clock": KernelClock,
    "kernel_descriptors": KernelDescriptors,
    "kernel_sysctl": KernelSysctl,
    "latent_errors": LatentErrors,
    "link_slow": LinkSlow,
    "load_spike": LoadSpike,
    "memory_leak": MemoryLeak,
    "neighbour_process": NeighbourProcess,
    "power_loss": PowerLoss,
    "process_litter": ProcessLitter,
    "service_selector": ServiceSelector,
    "shared_litter": SharedLitter,
    "silent_corruption": SilentCorruption,
    "slow_drive": SlowDrive,
    "unit_stop": UnitStop,
}

SPECS = Path(__file__).parent / "specs"


class FaultSpec(Content):
    """One fault: a mechanism with parameters, and what it should look like.

    Attributes:
        id: the file's name.
        mechanism: a key of `MECHANISMS`.
        params: parameters that a task may complete or override.
        deployer: under whose name it is done.
        description: one or two sentences for `simcluster list`.
        symptoms: what an operator can see, one line each.
    """

    id: str
    mechanism: str
    params: dict[str, Any] = Field(default_factory=dict)
    deployer: Deployer = Deployer()
    description: str
    symptoms: tuple[str, ...] = Field(min_length=1)

    @field_validator("mechanism")
    @classmethod
    def _known_mechanism(cls, value: str) -> str:
        if value not in MECHANISMS:
            close = nearest(value, MECHANISMS) or sorted(MECHANISMS)
            raise ValueError(f"unknown mechanism {value!r}; did you mean {', '.join(close)}?")
        return value


def ids(library: Library | None = None) -> list[str]:
    """Ids of all faults, sorted."""
    return sorted((library or Library()).files("faults", SPECS))


def load(fault_id: str, library: Library | None = None) -> FaultSpec:
    """The fault of this id.

    Raises:
        UnknownName: there is none; the nearest are listed.
        ContentError: its file is wrong.
    """
    files = (library or Library()).files("faults", SPECS)
    if fault_id not in files:
        raise UnknownName("fault", fault_id, sorted(files))
    path = files[fault_id]
    spec = load_content(path, FaultSpec)
    if spec.id != fault_id:
        raise ContentError(path, read_document(path).line(("id",)), f"id must be the file's name, {fault_id!r}")
    return spec


def build(spec: FaultSpec, ref: ObjectRef, namespace: str, params: dict[str, Any]) -> Mechanism:
    """The mechanism of a fault, aimed.

    Args:
        params: take precedence over those of the spec.

    Raises:
        ValueError: the parameters together are not what the mechanism takes.
    """
    mechanism = MECHANISMS[spec.mechanism]
    try:
        complete = mechanism.Params.model_validate({**spec.params, **params})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(["params", *map(str, first["loc"])])
        raise ValueError(f"fault {spec.id}: {place}: {first['msg']}") from None
    return mechanism(ref, namespace, complete, spec.deployer)
