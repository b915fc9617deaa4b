"""One node's machine: hardware under its kernel, with systemd, a container runtime, power, cooling, network card.

What is true here was not necessarily reported: the kubelet looks at the machine and tells
the API. Which programs and virtual files it has is the business of `linux`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import merge

from simcluster.engine import SECOND, Simulation
from simcluster.models.machine.container import Container
from simcluster.models.machine.cooling import Cooling
from simcluster.models.machine.dimms import Dimms
from simcluster.models.machine.hardware import MachineSpec
from simcluster.models.machine.host import Boot, Host
from simcluster.models.machine.images import ImageRegistry
from simcluster.models.machine.journal import JournalLine
from simcluster.models.machine.kernel import bootlog, sysctlfiles
from simcluster.models.machine.kernel.kernel import Kernel
from simcluster.models.machine.links.nic import Nic
from simcluster.models.machine.network import Network
from simcluster.models.machine.power import Power
from simcluster.models.machine.program import ProgramCatalog
from simcluster.models.machine.runtime import Runtime
from simcluster.models.machine.shell.files import Layer
from simcluster.models.machine.units import Unit


class Machine(Host):
    """A node's machine."""

    def __init__(
        self, sim: Simulation, spec: MachineSpec, network: Network, registry: ImageRegistry, catalog: ProgramCatalog
    ) -> None:
        super().__init__(sim, spec, network, registry)
        self.node = spec.name  # as owner of its own address (network.Listener)
        self.pods = spec.pods
        self.pod_cidr = spec.pod_cidr or f"10.244.{max(0, int(spec.address.rpartition('.')[2]) - 2)}.0/24"
        self.runtime = self.build_runtime(catalog)
        for image in spec.preloaded:
            self.images.preload(image)
        self.units.units["containerd.service"].on_start = self._containerd_started
        self.units.units["containerd.service"].on_stop = self._containerd_stopped
        self.os = Kernel(self)
        self.log.clock = self.os.clock
        self.nics = {"eth0": Nic(sim, "eth0", spec.address, network.links.changed)}
        self.nics["eth0"].driver = self._link
        network.links.nics[spec.name] = self.nics["eth0"]
        network.attach(spec.address, self, node=True)
        self.power = Power(self, self.runtime, self.nics["eth0"])
        self.boots = [Boot(self.booted_ns, self.identity.boot_id)]
        self.cooling = Cooling(self, self.power)
        self.dimms = Dimms(self)

    def booted(self) -> None:
        """It has booted: what lasts no longer than a boot begins anew."""
        super().booted()
        sysctlfiles.booted(self)
        self.network.links.remove(self.name, ())
        self.runtime.past_groups.clear()
        self.cooling.booted()
        self.dimms.booted()
        for disk in self.disks.values():
            disk.booted()

    def panic(self, why: str) -> None:
        """Its kernel gives up: everything stops at once, and nothing of it reaches a journal on a drive.

        After `kernel.panic` seconds it boots again (0: somebody has to switch it off and on; until then it counts as
        off). The management controller has an entry of it (CONFIG_IPMI_PANIC_EVENT).
        """
        if not self.runs:
            return
        self.sel.note(self.sim.now, "OS Critical Stop OS Boot", f"Run-time critical stop ({why})")
        after_s = self.os.sysctls.number("kernel.panic")
        self.power.cut()
        if after_s:
            self.sim.after(max(0, after_s) * SECOND, self.power.give)

    def build_runtime(self, catalog: ProgramCatalog) -> Runtime:
        """The container runtime. A machine of another make overrides it."""
        return Runtime(self.sim, self, self.network, catalog, self.pod_cidr)

    # As somebody logged in as root meets it (surface.protocols.Host).

    def unit(self, name: str) -> Unit | None:
        """The systemd unit of this name, with or without `.service`."""
        return self.units.find(name)

    def unit_list(self) -> Sequence[Unit]:
        """All units, sorted by name."""
        return [self.units.units[name] for name in sorted(self.units.units)]

    def control(self, action: str, name: str) -> str:
        """systemctl start, stop, restart, enable or disable a unit; an error text or ""."""
        return self.units.control(action, name)

    def signal_unit(self, name: str, signal: str) -> None:
        """systemctl kill: a signal to a unit's main process."""
        self.units.signalled(name, signal)

    def set_weight(self, name: str, weight: int, *, lasts: bool) -> None:
        """systemctl set-property CPUWeight=; `lasts` beyond the next boot."""
        self.units.set_weight(name, weight, lasts=lasts)

    def is_restarting(self, name: str) -> bool:
        """Whether a unit waits for its automatic restart."""
        return self.units.is_due(name)

    def journal(self) -> Iterable[JournalLine]:
        """The journal, oldest first, with what the kernel said at each boot."""
        booting = [line for boot in self.boots for line in bootlog.lines(self, boot.started_ns, boot.wrong_ns)]
        return merge(booting, self.log, key=_written_ns)

    @property
    def clock_error_ns(self) -> int:
        """How far its clock is off: what it shows minus the true time."""
        return self.os.clock.offset_ns()

    @property
    def runs(self) -> bool:
        """Whether it has power and its operating system runs."""
        return self.power.running

    def containers(self) -> list[Container]:
        """The newest run of every container on it, in order of creation of their pods."""
        return self.runtime.containers()

    def layers(self) -> list[Layer]:
        """What containers have written to the root file system: layers in which there is something."""
        written = [one.written for one in self.runtime.containers() if one.written is not None and one.written.files]
        volumes = [one.volumes for one in self.runtime.sandboxes.values() if one.volumes]
        return written + [layer for each in volumes for layer in each.values() if layer.files]

    def cpu_ns(self) -> int:
        """CPU time used on the machine since it booted, nanoseconds of one core."""
        others = sum(process.used_ns(self.sim.now) for process in self.processes.values())  # integers
        used = self.runtime.cpu_ns() + self.retired_host_ns + others
        return used + self.system_cpu_ns() - self.cpu_before_boot_ns

    def container_on(self, port: int) -> Container | None:
        """The container in the host's network that listens on the port."""
        for sandbox in self.runtime.sandboxes.values():
            if sandbox.host_network:
                found = sandbox.container_on(port)
                if found is not None:
                    return found
        return None

    def listens_on(self, port: int) -> bool:
        """Whether a process in the host's network accepts connections on the port."""
        if port == 10250:
            return self.units.units["kubelet.service"].active
        if port == 22:
            return self.units.units["ssh.service"].active
        return self.container_on(port) is not None

    def _link(self, up: bool) -> None:
        """What its driver says of the link (drivers/net/ethernet/intel/ixgbe, ixgbe_watchdog_link_is_up)."""
        if self.runs:
            said = "NIC Link is Up 10 Gbps, Flow Control: RX/TX" if up else "NIC Link is Down"
            self.kernel(f"ixgbe 0000:03:00.0 eth0: {said}")

    def _containerd_started(self) -> None:
        self.runtime.up = True
        self.containerd("info", "containerd successfully booted in 0.041s")

    def _containerd_stopped(self) -> None:
        self.runtime.up = False
        if self.runtime.on_stop is not None:
            self.runtime.on_stop()


def _written_ns(line: JournalLine) -> int:
    return line.t_ns - line.wrong_ns
