"""Programs about clocks and temperatures: `sensors`, `turbostat`, `cpupower frequency-info`.

Formats: lm-sensors 3.6.0, linux-tools 6.8 (Ubuntu 24.04). Left out: sensors of the board (they are the management
controller's: `ipmitool sdr`), turbostat's other columns, setting clocks.
"""

from __future__ import annotations

from simcluster.engine import SECOND
from simcluster.models.machine.cooling import LIMIT_C
from simcluster.models.machine.kernel import usage
from simcluster.models.machine.kernel.thermalfiles import HIGH_C, LOWEST_MHZ, NOMINAL_MHZ, mhz
from simcluster.models.machine.machine import Machine
from simcluster.models.userland.options import parse
from simcluster.models.userland.outcome import Outcome


def _sensors(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """sensors: temperatures of the processor and of NVMe drives."""
    degrees = float(int(machine.cooling.temperature_c))
    lines = ["coretemp-isa-0000", "Adapter: ISA adapter"]
    for label in ("Package id 0", *(f"Core {number}" for number in range(machine.cpu_cores))):
        alarm = "  ALARM (CRIT)" if degrees >= LIMIT_C else ""
        lines.append(f"{label + ':':<14}{degrees:+.1f}°C  (high = {HIGH_C:+.1f}°C, crit = {LIMIT_C:+.1f}°C){alarm}")
    for disk in machine.disks.values():
        if disk.model.is_nvme:
            lines += [
                "", "nvme-pci-0100", "Adapter: PCI adapter",
                f"{'Composite:':<14}{disk.temperature - 0.1:+.1f}°C  (low  = -273.1°C, high = +81.8°C)",
                f"{'':<24}(crit = +84.8°C)",
            ]  # fmt: skip
    return Outcome("\n".join(lines) + "\n\n")


def _turbostat(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """turbostat [--quiet] [-i SECONDS] [-n COUNT]: clocks, use, temperature and power."""
    long = {"quiet": "q", "interval": "i", "num_iterations": "n", "show": "s", "Summary": "S"}
    asked = parse(args, "qSd", "ins", long)
    if asked.problem:
        return Outcome("", f"turbostat: {asked.problem}\n", 1)
    first = not stdin
    if first:
        pause = max(1, int(float(asked.values.get("i", "5")) * SECOND))
        banner = "" if asked.has("q") else "turbostat version 2023.11.07 - Len Brown <lenb@kernel.org>\n"
        return Outcome("", banner, delay_ns=pause, then=("turbostat", *args), then_stdin="1")
    duty = min(1.0, NOMINAL_MHZ * machine.cpu_speed / LOWEST_MHZ)  # MPERF stands still while ticks are skipped
    share = 100.0 * duty * usage.busy(machine) / machine.cpu.capacity
    clock, degrees = mhz(machine), int(machine.cooling.temperature_c)
    shown = f"{share * clock / 100.0:.0f}\t{share:.2f}\t{clock:.0f}\t{NOMINAL_MHZ:.0f}"
    lines = [
        "Core\tCPU\tAvg_MHz\tBusy%\tBzy_MHz\tTSC_MHz\tCoreTmp\tCoreThr\tPkgTmp\tPkgWatt",
        f"-\t-\t{shown}\t{degrees}\t{machine.cooling.events}\t{degrees}\t{machine.cooling.watts():.2f}",
    ]
    for number in range(machine.cpu_cores):
        package = f"\t{degrees}\t{machine.cooling.watts():.2f}" if number == 0 else ""
        lines.append(f"{number}\t{number}\t{shown}\t{degrees}\t{machine.cooling.events}{package}")
    text = "\n".join(lines[:2] if asked.has("S") else lines) + "\n"
    left = int(asked.values["n"]) if asked.values.get("n", "").isdigit() else 0
    done = int(stdin)
    if done >= left > 0:
        return Outcome(text)
    pause = max(1, int(float(asked.values.get("i", "5")) * SECOND))
    return Outcome(text, delay_ns=pause, then=("turbostat", *args), then_stdin=str(done + 1))


def _cpupower(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """cpupower [-c CPU] frequency-info."""
    if "frequency-info" not in args:
        usage_text = "Usage:\tcpupower [-d|--debug] [-c|--cpu cpulist ] <command> [<args>]\n"
        return Outcome("", usage_text, 1)
    clock = mhz(machine)
    shown = f"{clock / 1000.0:.2f} GHz" if clock >= 1000.0 else f"{clock:.0f} MHz"
    lines = (
        "analyzing CPU 0:", "  driver: intel_cpufreq", "  CPUs which run at the same hardware frequency: 0",
        "  CPUs which need to have their frequency coordinated by software: 0",
        "  maximum transition latency:  20.0 us",
        f"  hardware limits: {LOWEST_MHZ:.0f} MHz - {NOMINAL_MHZ / 1000.0:.2f} GHz",
        "  available cpufreq governors: conservative ondemand userspace powersave performance schedutil",
        f"  current policy: frequency should be within {LOWEST_MHZ:.0f} MHz and {NOMINAL_MHZ / 1000.0:.2f} GHz.",
        '                  The governor "schedutil" may decide which speed to use',
        "                  within this range.",
        f"  current CPU frequency: {shown} (asserted by call to hardware)",
        "  boost state support:", "    Supported: no", "    Active: no",
    )  # fmt: skip
    return Outcome("\n".join(lines) + "\n")


TOOLS = {"cpupower": _cpupower, "sensors": _sensors, "turbostat": _turbostat}
