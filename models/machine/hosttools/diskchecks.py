"""`fsck`, `e2fsck` and `badblocks`: looking for damage. Formats: e2fsprogs 1.47.

Left out: repairs beyond the journal and the error flag, as the model keeps no damaged structures of its own.
"""

from __future__ import annotations

from simcluster.models.machine.hosttools.blockdevices import disk_of, part_of
from simcluster.models.machine.machine import Machine
from simcluster.models.userland.outcome import Outcome

_E2FSCK = "e2fsck 1.47.0 (5-Feb-2023)\n"
#: Most bad sectors that one run tries, so that it ends.
_MOST = 200


def fsck(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """fsck: the wrapper around e2fsck."""
    result = e2fsck(machine, args, stdin)
    text = "fsck from util-linux 2.39.3\n" + result.stdout
    if result.delay_ns:
        return Outcome(text, result.stderr, result.code, result.delay_ns)
    return Outcome(text, result.stderr, result.code)


def e2fsck(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """e2fsck: -n looks, -f looks although all seems well, -y and -p repair."""
    device = next((arg for arg in args if not arg.startswith("-")), "")
    letters = "".join(arg[1:] for arg in args if arg.startswith("-"))
    system = machine.mounts.on(device)
    if system is None or disk_of(machine, device) is None:
        text = f"e2fsck: No such file or directory while trying to open {device}\nPossibly non-existent device?\n"
        return Outcome("", _E2FSCK + text, 8)
    mounted = machine.mounts.is_mounted(system)
    if mounted and "n" not in letters:
        text = f"{device} is mounted.\ne2fsck: Cannot continue, aborting.\n\n\n"
        return Outcome("", _E2FSCK + text, 8)
    warning = (
        "Warning!  "
        + device
        + " is mounted.\nWarning: skipping journal recovery because doing a read-only filesystem check.\n"
    )
    head = warning if mounted else ""
    answer = system.disk.read(system.lba(0), 16, buffered=system.device)
    if answer.failed:
        text = f"{head}e2fsck: Input/output error while trying to open {device}\n"
        return Outcome("", _E2FSCK + text, 8, answer.delay_ns)
    usage = system.usage()
    files = f"{usage.total_inodes - usage.free_inodes}/{usage.total_inodes} files"
    blocks = f"{usage.used_bytes // 4096}/{system.blocks} blocks"
    if not system.error_count and "f" not in letters:
        return Outcome(f"{head}{device}: clean, {files}, {blocks}\n", _E2FSCK)
    passes = (
        "Pass 1: Checking inodes, blocks, and sizes\nPass 2: Checking directory structure\n"
        "Pass 3: Checking directory connectivity\nPass 4: Checking reference counts\n"
        "Pass 5: Checking group summary information\n"
    )
    found, delay = "", system.disk.surface_scan_ns // 400
    if system.error_count:
        found = f"{device} contains a file system with errors, check forced.\n"
    repaired = system.error_count and "n" not in letters
    if repaired:
        system.error_count, system.aborted = 0, False
        passes = f"{device}: recovering journal\n{passes}\n{device}: ***** FILE SYSTEM WAS MODIFIED *****\n"
    code = 1 if repaired else 4 if system.error_count else 0
    return Outcome(f"{head}{found}{passes}{device}: {files} (0.1% non-contiguous), {blocks}\n", _E2FSCK, code, delay)


def badblocks(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """badblocks: read a device, or a range of its blocks, and list what cannot be read (no writing)."""
    words: list[str] = []
    size, rest = 1024, iter(args)
    for arg in rest:
        if arg == "-b":
            size = int(next(rest, "1024"))
        elif arg in ("-c", "-o", "-e", "-p", "-t"):
            next(rest, "")
        elif arg in ("-w", "-n"):
            return Outcome(
                "",
                f"{words[0] if words else ''} is apparently in use by the system; it's not safe to run badblocks!\n",
                1,
            )
        elif not arg.startswith("-"):
            words.append(arg)
    disk = disk_of(machine, words[0]) if words else None
    if disk is None:
        return Outcome("", "badblocks: No such file or directory while trying to determine device size\n", 1)
    part = part_of(disk, words[0])
    start, sectors = (part.start, part.sectors) if part is not None else (0, disk.model.sectors)
    each = size // 512
    for word, what in zip(words[1:], ("last block", "first block"), strict=False):
        if not word.isdecimal():
            return Outcome("", f"badblocks: invalid {what} - {word}\n", 1)
    last = min(int(words[1]), sectors // each - 1) if len(words) > 1 else sectors // each - 1
    first = int(words[2]) if len(words) > 2 else 0
    if first > last:
        return Outcome("", f"badblocks: invalid starting block ({first}): must be less than {last}\n", 1)
    count = last - first + 1
    begin = start + first * each
    delay = disk.pass_over(count * each, sequential=True)
    bad = disk.sectors.bad_in(begin // 8, count * each // 8 + 1)[:_MOST]
    found = []
    for block in bad:
        delay = max(delay, disk.give_up(block, 0, words[0].removeprefix("/dev/")))
        found += [(block * 8 - start) // each + i for i in range(max(1, 4096 // size))]
    speak = "v" in "".join(arg for arg in args if arg.startswith("-"))
    head = f"Checking blocks {first} to {last}\nChecking for bad blocks (read-only test): done" + " " * 49 + "\n"
    tail = f"Pass completed, {len(found)} bad blocks found. ({len(found)}/0/0 errors)\n"
    return Outcome("".join(f"{number}\n" for number in found), head + tail if speak else "", delay_ns=delay)


TOOLS = {"fsck": fsck, "fsck.ext4": e2fsck, "e2fsck": e2fsck, "badblocks": badblocks}
