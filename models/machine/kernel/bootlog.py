"""What a machine's kernel says while it boots, made up when somebody reads it.

A booted node's ring buffer is not empty. The lines follow from the machine's parts (cores, memory, drives, network
card), so nobody has to keep them. Sources: kernel 6.8's messages on a server with AHCI, NVMe and an 82599 card.
Left out: ACPI tables, memory maps, most drivers, what a boot says of faults that it finds.
"""

from __future__ import annotations

from simcluster.engine import MICROSECOND
from simcluster.models.machine.hardware import Hardware
from simcluster.models.machine.journal import JournalLine
from simcluster.models.machine.storage import Disk

BUILD = "#45-Ubuntu SMP PREEMPT_DYNAMIC Fri Aug 30 12:02:04 UTC 2024"
COMPILER = "x86_64-linux-gnu-gcc-13 (Ubuntu 13.2.0-23ubuntu4) 13.2.0, GNU ld (GNU Binutils for Ubuntu) 2.42"
#: From one line to the next, and from one stage of the boot to the next.
_STEP_NS, _STAGE_NS = 137 * MICROSECOND, 143_000 * MICROSECOND


def lines(machine: Hardware, booted_ns: int, wrong_ns: int = 0) -> list[JournalLine]:
    """The lines of a boot that have been printed by now; `wrong_ns` is how far the clock is off."""
    found, at_ns = [], booted_ns
    for stage in (_early(machine), _processors(machine), _drives(machine), _late(machine)):
        for text in stage:
            found.append(JournalLine(at_ns + wrong_ns, "", "kernel", 0, text, wrong_ns))
            at_ns += _STEP_NS * (1 + len(text) % 7)
        at_ns += _STAGE_NS
    return [line for line in found if line.t_ns - wrong_ns <= machine.sim.now]


def command_line(machine: Hardware) -> str:
    """What the loader gave the kernel."""
    root, release = machine.mounts.at("/").uuid, machine.identity.kernel_version
    return f"BOOT_IMAGE=/boot/vmlinuz-{release} root=UUID={root} ro console=tty1 console=ttyS0"


def _early(machine: Hardware) -> list[str]:
    release, kib = machine.identity.kernel_version, machine.memory_bytes >> 10
    return [
        f"Linux version {release} (buildd@lcy02-amd64-080) ({COMPILER}) {BUILD} (Ubuntu 6.8.0-45.45-generic 6.8.12)",
        f"Command line: {command_line(machine)}",
        "KERNEL supported cpus:",
        "  Intel GenuineIntel",
        "  AMD AuthenticAMD",
        "BIOS-provided physical RAM map:",
        "NX (Execute Disable) protection: active",
        "SMBIOS 3.2.1 present.",
        "DMI: Supermicro SYS-1029P-WTRT/X11DDW-NT, BIOS 3.4 11/02/2020",
        "tsc: Detected 2500.000 MHz processor",
        "ACPI: Early table checksum verification disabled",
        f"Memory: {kib - 262144}K/{kib}K available (22528K kernel code, 4443K rwdata, 14376K rodata, 4960K init, "
        "4676K bss, 262144K reserved, 0K cma-reserved)",
        f"SLUB: HWalign=64, Order=0-3, MinObjects=0, CPUs={machine.cpu_cores}, Nodes=1",
    ]


def _processors(machine: Hardware) -> list[str]:
    cores = machine.cpu_cores
    others = " ".join(f"#{number}" for number in range(1, cores))
    return [
        "smpboot: CPU0: Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz (family: 0x6, model: 0x55, stepping: 0x7)",
        "smp: Bringing up secondary CPUs ...",
        "smpboot: x86: Booting SMP configuration:",
        *([f".... node  #0, CPUs:      {others}"] if others else []),
        f"smp: Brought up 1 node, {cores} CPU{'s' if cores > 1 else ''}",
        f"smpboot: Total of {cores} processors activated ({5000 * cores}.00 BogoMIPS)",
        "clocksource: Switched to clocksource tsc",
        "NET: Registered PF_INET protocol family",
        "Freeing unused kernel image (initmem) memory: 4960K",
        "Run /init as init process",
    ]


def _drives(machine: Hardware) -> list[str]:
    found: list[str] = []
    for disk in machine.disks.values():
        found += _nvme(disk) if disk.model.is_nvme else _sata(disk)
    driver = "ixgbe 0000:03:00.0"
    return [
        *found,
        "ixgbe: Intel(R) 10 Gigabit PCI Express Network Driver",
        f"{driver}: Multiqueue Enabled: Rx Queue count = {machine.cpu_cores}, Tx Queue count = {machine.cpu_cores} "
        "XDP Queue count = 0",
        f"{driver}: Intel(R) 10 Gigabit Network Connection",
    ]


def _nvme(disk: Disk) -> list[str]:
    parts = " ".join(f"p{number}" for number in range(1, len(disk.partitions) + 1))
    return [
        f"nvme {disk.controller}: pci function 0000:00:1{disk.port}.0",
        f"nvme {disk.controller}: 4/0/0 default/read/poll queues",
        f" {disk.name}: {parts}",
    ]


def _sata(disk: Disk) -> list[str]:
    model, sectors = disk.model, disk.model.sectors
    sd = f"sd {disk.address}: [{disk.name}]"
    decimal, binary = model.size_bytes / 1e12, (model.size_bytes >> 30)
    parts = " ".join(part.name for part in disk.partitions)
    port = disk.port
    return [
        f"ata{port}: SATA max UDMA/133 abar m524288@0x92f00000 port 0x92f00{port}00 irq 3{port}",
        f"ata{port}: SATA link up 6.0 Gbps (SStatus 133 SControl 300)",
        f"ata{port}.00: ATA-10: {model.model}, {model.firmware}, max UDMA/133",
        f"ata{port}.00: {sectors} sectors, multi 16: LBA48 NCQ (depth 32), AA",
        f"ata{port}.00: configured for UDMA/133",
        f"scsi {disk.address}: Direct-Access     ATA      {model.model[:16]:<16} {model.firmware[:4]:<4} PQ: 0 ANSI: 5",
        f"{sd} {sectors} 512-byte logical blocks: ({decimal:.2f} TB/{binary} GiB)",
        f"{sd} 4096-byte physical blocks",
        f"{sd} Write Protect is off",
        f"{sd} Mode Sense: 00 3a 00 00",
        f"{sd} Write cache: enabled, read cache: enabled, doesn't support DPO or FUA",
        f" {disk.name}: {parts}",
        f"{sd} Attached SCSI disk",
    ]


def _late(machine: Hardware) -> list[str]:
    root = machine.mounts.at("/")
    mounted = "r/w with ordered data mode. Quota mode: none."
    others = [
        f"EXT4-fs ({system.device}): mounted filesystem {system.uuid} {mounted}"
        for system in machine.mounts
        if system.mount_point != "/"
    ]
    return [
        f"EXT4-fs ({root.device}): mounted filesystem {root.uuid} ro with ordered data mode. Quota mode: none.",
        f"EXT4-fs ({root.device}): re-mounted {root.uuid} r/w. Quota mode: none.",
        *others,
        "ixgbe 0000:03:00.0 eth0: NIC Link is Up 10 Gbps, Flow Control: RX/TX",
        "bridge: filtering via arp/ip/ip6tables is no longer available by default. Update your scripts to load "
        "br_netfilter if you need this.",
        "Bridge firewalling registered",
        "IPVS: Registered protocols (TCP, UDP, SCTP, AH, ESP)",
    ]
