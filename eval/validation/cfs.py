"""Row CFS: what a CPU limit does, on a real container and period by period."""

from __future__ import annotations

import math

from simcluster.engine import MILLISECOND, SECOND, Simulation, arithmetic
from simcluster.engine.streams import Streams
from simcluster.eval.validation.context import Context
from simcluster.eval.validation.row import Row
from simcluster.models.machine.container import Container
from simcluster.models.machine.containerspec import ContainerSpec
from simcluster.models.machine.hardware import MachineSpec
from simcluster.models.machine.images import ImageRegistry
from simcluster.models.machine.kernel import cfs
from simcluster.models.machine.kernel.cgroups import group_of
from simcluster.models.machine.linux import LinuxMachine
from simcluster.models.machine.network import Network
from simcluster.models.machine.program import Program

_ONE = ("exact",)


class Busy(Program):
    """A process with four threads that never wait."""

    def start(self) -> None:
        """Nothing to set up."""


class BusyPrograms:
    """Every image is busy."""

    def program_for(self, container: Container) -> Program:
        """The program of a container."""
        return Busy(container)


def bandwidth(context: Context) -> None:
    """Stalls, throttled periods and capacity under a limit."""
    one = cfs.period(1.0, 4, 400 * MILLISECOND)
    context.note("stall of 1 CPU and 4 busy threads (ms in 100)", 75.0, one.stalled_ns / MILLISECOND, 0.0)
    context.note("CPU used in it (ms)", 100.0, one.used_ns / MILLISECOND, 0.0)
    # A request of hardly any work that comes at a random instant sleeps until the period ends.
    late = max(0.0, one.stalled_ns - 50 * MILLISECOND) / cfs.PERIOD_NS
    context.note("share of instants from which 50 ms are not enough", 0.25, late, 0.0)
    _periods(context)
    _container(context)


def _periods(context: Context) -> None:
    """Independent periods with log-normal demand: how many are throttled."""
    count, stream = context.size(40_000, 8_000), Streams(0).stream("cfs")
    for load, spread in ((0.5, 0.4), (0.8, 0.3), (0.95, 0.2)):
        squared = arithmetic.log(1.0 + spread * spread)
        median = load * cfs.PERIOD_NS * arithmetic.exp(-squared / 2.0)
        hits = used = wanted = 0
        for _ in range(count):
            demand = stream.lognormal_ns(int(median), math.sqrt(squared))
            period = cfs.period(1.0, 4, demand)
            hits, used, wanted = hits + period.throttled, used + period.used_ns, wanted + demand
        expected = cfs.throttled_share(1.0, load * cfs.PERIOD_NS, spread * load * cfs.PERIOD_NS)
        slack = 2.58 * math.sqrt(expected * (1.0 - expected) / count) + 0.001
        context.note(f"nr_throttled / nr_periods at {load:g} of the limit", expected, hits / count, slack)


def _container(context: Context) -> None:
    """A busy container with a limit: it gets the limit and no more, and cpu.stat says so."""
    sim = Simulation()
    node = LinuxMachine(sim, MachineSpec("worker-1", "172.18.0.3"), Network(), ImageRegistry(sim), BusyPrograms())
    spec = ContainerSpec("default", "busy", "uid-busy", "c", "acme/busy:1", cpu_limit=1.0)
    sandbox = node.runtime.create_sandbox("default", "busy", "uid-busy", group=group_of(spec))
    container = node.runtime.create_container(sandbox, spec, 0)
    node.runtime.start_container(container)
    node.report_demand(container, 4.0)
    for _ in range(60):
        node.sim.run_for(SECOND)
        got = container.cpu_cores()
        container.use_cpu(int(got * SECOND), int(cfs.period(1.0, 4, 400 * MILLISECOND).stalled_ns * 10))
    stat = container.cpu_stat()
    context.note("cores used under a limit of 1", 1.0, stat.usage_usec / 60e6, 1e-6)
    context.note("nr_throttled / nr_periods of a busy group", 1.0, stat.nr_throttled / stat.nr_periods, 0.0)
    context.note("throttled_usec / nr_throttled (ms)", 75.0, stat.throttled_usec / stat.nr_throttled / 1000, 0.1)


ROWS = {
    "CFS": Row(
        "CPU limit: stalls, throttled periods, capacity",
        "kernel documentation, sched-bwc",
        "99 % of the sampling error of a share; else exact",
        bandwidth,
        _ONE,
    ),
}
