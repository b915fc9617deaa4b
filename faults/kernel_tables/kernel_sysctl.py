"""A kernel parameter of a node that somebody set: a table that is too small for what goes through it."""

from __future__ import annotations

from pydantic import Field

from simcluster.engine.content import Content
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.host import HostMechanism
from simcluster.faults.target import FaultTarget, ImpossibleTarget

#: Parameters that limit a table, by which a smaller number is worse.
TABLES = ("fs.file-max", "kernel.pid_max", "net.core.somaxconn", "net.netfilter.nf_conntrack_max")


class SysctlParams(Content):
    """`sysctl -w name=value`."""

    name: str
    value: int = Field(ge=1)


class KernelSysctl(HostMechanism):
    """A limit of a node's kernel is lowered below what the node's pods need.

    Symptoms of a small nf_conntrack_max: new connections through the node hang (their SYN is dropped and sent
    again after 1, 3 and 7 s), those that are open go on; the kernel says `table full, dropping packet`.
    Shows in: `sysctl`, `conntrack -C` and `-S`, the ring buffer, users. No object is changed.
    Undone by: `sysctl -w` with a number that is large enough; or cordoning the node and moving the pods.
    """

    sheet = DataSheet(
        layer="kernel",
        family="conntrack_full",
        changes=("sysctl *",),
        follows="New connections through the node hang, those that are open go on; the kernel says that its "
        "table is full.",
        undone_by=("a number that is large enough", "moving the pods"),
        units={"value": "entries"},
        source="Linux, Documentation/networking/nf_conntrack-sysctl.rst",
    )
    Params = SysctlParams
    params: SysctlParams

    @property
    def part(self) -> str:
        """What of it is wrong."""
        return self.params.name

    @property
    def details(self) -> dict[str, str]:
        """By what people tell of it."""
        return {self.params.name.rpartition(".")[2]: str(self.params.value)}

    def check(self, target: FaultTarget) -> None:
        """The parameter must limit a table, be higher now, and take the value."""
        super().check(target)
        name, value = self.params.name, self.params.value
        if name not in TABLES:
            raise ImpossibleTarget(f"{name} limits no table; these do: {', '.join(TABLES)}")
        sysctls = self.host(target).os.sysctls
        if sysctls.number(name) <= value:
            raise ImpossibleTarget(f"{name} of {self.ref} is {sysctls.get(name)}: {value} does not lower it")

    def inject(self, target: FaultTarget) -> None:
        """Write it."""
        problem = self.host(target).os.sysctls.set(self.params.name, str(self.params.value))
        assert not problem, problem

    def still_present(self, target: FaultTarget) -> str:
        """It is as low, and pods of the application are, or may come, there."""
        machine = self.current(target)
        if machine is None or machine.os.sysctls.number(self.params.name) > self.params.value:
            return ""
        return "" if self.left_behind(target) else f"{self.params.name} of {self.ref} is still {self.params.value}"
