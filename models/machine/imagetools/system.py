"""Commands about the process, the system and time, as busybox implements them."""

from __future__ import annotations

import re

from simcluster.engine import SECOND, format_rfc3339
from simcluster.engine.clock import month_name, unix_seconds, weekday
from simcluster.models.machine.imagetools.call import FOREVER_NS, Outcome, Tool, ToolCall, usage_error
from simcluster.models.machine.kernel.errors import MESSAGE

_UNITS_S = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
#: Memory a process fills in a second: a conservative rate for touching fresh pages.
_FILL_BYTES_PER_S = 500_000_000


def sleep(call: ToolCall) -> Outcome:
    """Wait: integers, fractions, suffixes s m h d, several arguments, `infinity`."""
    if len(call.argv) < 2:
        return Outcome(stderr="BusyBox v1.36.1 multi-call binary.\n\nUsage: sleep [N]...\n", code=1)
    total_ns = 0
    for word in call.argv[1:]:
        match = re.fullmatch(r"(\d*)(?:\.(\d*))?([smhd]?)", word)
        if word in ("infinity", "inf"):
            return Outcome(delay_ns=FOREVER_NS)
        if match is None or not (match[1] or match[2]):
            return usage_error(call, f"invalid number '{word}'")
        unit_ns = _UNITS_S[match[3]] * SECOND
        total_ns += int(match[1] or "0") * unit_ns
        total_ns += int((match[2] or "")[:9].ljust(9, "0")) * (unit_ns // SECOND)
    kernel = call.container.kernel
    failure = (
        kernel.syscalls.failure("nanosleep", call.container) if kernel is not None and kernel.syscalls.rules else None
    )
    if failure is not None:  # interrupted it ends at once; throttled it takes longer
        total_ns = 0 if failure.errno else total_ns + failure.delay_ns
    return Outcome(delay_ns=min(total_ns, FOREVER_NS))


def date(call: ToolCall) -> Outcome:
    """The time, UTC: default form, `+FORMAT`, `-Iseconds`, `-R`; `-u` changes nothing."""
    form = next((word[1:] for word in call.argv[1:] if word.startswith("+")), "")
    iso = any(word in ("-Iseconds", "-Is") or word.startswith("--iso-8601=s") for word in call.argv)
    if iso:
        form = "%Y-%m-%dT%H:%M:%S+00:00"
    kernel, now_ns = call.container.kernel, call.now_ns
    if kernel is not None:
        failure = kernel.syscalls.failure("clock", call.container) if kernel.syscalls.rules else None
        if failure is not None and failure.errno:
            return Outcome(stderr=f"date: can't get time: {MESSAGE[failure.errno]}\n", code=1)
        now_ns += kernel.clock.offset_ns()
    return Outcome(format_date(form or "%a %b %e %H:%M:%S UTC %Y", now_ns) + "\n")


def format_date(form: str, t_ns: int) -> str:
    """strftime for the simulated instant, with the directives scripts use."""
    text = format_rfc3339(t_ns, digits=9)
    year, month, day, clock = text[:4], text[5:7], text[8:10], text[11:19]
    values = {
        "Y": year, "m": month, "d": day, "e": f"{int(day):2d}", "H": clock[:2], "M": clock[3:5], "S": clock[6:],
        "y": year[2:], "T": clock, "F": text[:10], "D": f"{month}/{day}/{year[2:]}", "R": clock[:5],
        "s": str(unix_seconds(t_ns)), "N": text[20:29], "Z": "UTC", "z": "+0000", "%": "%", "n": "\n", "t": "\t",
        "a": weekday(t_ns), "b": month_name(int(month)), "h": month_name(int(month)),
        "c": f"{weekday(t_ns)} {month_name(int(month))} {int(day):2d} {clock} {year}",
    }  # fmt: skip
    return re.sub(r"%(.)", lambda match: values.get(match[1], match[0]), form)


def hostname(call: ToolCall) -> Outcome:
    """The pod's name; with `-i` its address."""
    sandbox = call.container.sandbox
    return Outcome((sandbox.address if call.has("i") or call.has("I") else sandbox.pod_name) + "\n")


def uname(call: ToolCall) -> Outcome:
    """The kernel."""
    sandbox, release = call.container.sandbox, call.container.machine.identity.kernel_version
    name = sandbox.node if sandbox.host_network else sandbox.pod_name
    return kernel_named(list(call.argv[1:]), name, release, gnu=False)


#: Long options of uname by letter.
_UNAME = {"kernel-name": "s", "nodename": "n", "kernel-release": "r", "kernel-version": "v", "machine": "m",
          "operating-system": "o", "all": "a", "processor": "p", "hardware-platform": "i"}  # fmt: skip


def kernel_named(args: list[str], node: str, release: str, *, gnu: bool) -> Outcome:
    """What `uname` prints, in the order in which it has the parts: GNU's knows the processor where BusyBox does not."""
    letters = ""
    for word in args:
        found = _UNAME.get(word[2:], "?") if word.startswith("--") else word[1:] if word.startswith("-") else "?"
        if not found or set(found) - set(_UNAME.values()):
            said = f"invalid option -- '{word.lstrip('-')[:1]}'" if word.startswith("-") else f"extra operand ‘{word}’"
            return Outcome(stderr=f"uname: {said}\nTry 'uname --help' for more information.\n", code=1)
        letters += found
    build = "#45-Ubuntu SMP PREEMPT_DYNAMIC Fri Aug 30 12:02:04 UTC 2024"
    processor = "x86_64" if gnu else "unknown"
    parts = {"s": "Linux", "n": node, "r": release, "v": build, "m": "x86_64", "p": processor, "i": processor}
    parts["o"] = "GNU/Linux" if gnu else "Linux"
    if "a" in letters:
        letters = "snrvmpio" if gnu else "snrvmo"
    return Outcome(" ".join(text for letter, text in parts.items() if letter in (letters or "s")) + "\n")


def chroot(call: ToolCall) -> Outcome:
    """`chroot /host PROGRAM`: a program of the node, where its file system is mounted (`kubectl debug node/...`)."""
    if len(call.argv) < 2:
        return Outcome(stderr="BusyBox v1.36.1 multi-call binary.\n\nUsage: chroot NEWROOT [PROG ARGS]\n", code=1)
    place, words = call.path(call.argv[1]), list(call.argv[2:]) or ["sh"]
    if not any(mount.host == "/" and mount.path.rstrip("/") == place.rstrip("/") for mount in call.container.mounts):
        text = f"chroot: can't change root directory to '{call.argv[1]}': No such file or directory\n"
        return Outcome(stderr=text, code=1)
    machine = call.container.machine
    printed = machine.login_shell.program(words) if machine.login_shell is not None else None
    if printed is not None:
        return Outcome(printed.stdout, printed.stderr, printed.exit_code)
    result = machine.run(words, call.stdin)
    if result is None:
        return Outcome(stderr=f"chroot: can't execute '{words[0]}': No such file or directory\n", code=127)
    return result


def nproc(call: ToolCall) -> Outcome:
    """The node's CPUs: a container sees them all, whatever its limit."""
    return Outcome(f"{call.container.machine.cpu_cores}\n")


def stress(call: ToolCall) -> Outcome:
    """`stress --cpu N --vm N --vm-bytes B --timeout S`: busy cores and touched memory."""
    options = dict(zip(call.argv[1:], call.argv[2:], strict=False))
    wanted = [options.get("--cpu", options.get("-c", "0")), options.get("--vm", options.get("-m", "0"))]
    wrong = next((text for text in wanted if not text.isdecimal()), None)
    if wrong is not None:
        return Outcome(stderr=f"stress: FAIL: [1] (244) not a number: {wrong}\n", code=1)
    cpus, workers = int(wanted[0]), int(wanted[1])
    size = re.fullmatch(r"(\d+)([KMG]?)[Bb]?", options.get("--vm-bytes", "256M").upper().removesuffix("B"))
    memory = workers * int(size[1]) * _SIZES[size[2]] if size else 0
    timeout = re.fullmatch(r"(\d+)([smhd]?)", options.get("--timeout", options.get("-t", "")))
    line = f"stress: info: [1] dispatching hogs: {cpus} cpu, 0 io, {workers} vm, 0 hdd\n"
    delay_ns = int(timeout[1]) * _UNITS_S[timeout[2]] * SECOND if timeout else FOREVER_NS
    cores = float(cpus + (workers if "--vm-hang" not in options else 0))
    return Outcome(line, delay_ns=delay_ns, cores=cores, memory_bytes=memory)


def fill_duration_ns(memory_bytes: int) -> int:
    """How long a process takes to touch so much fresh memory."""
    return memory_bytes * SECOND // _FILL_BYTES_PER_S


TOOLS: dict[str, Tool] = {
    "chroot": chroot,
    "date": date,
    "hostname": hostname,
    "nproc": nproc,
    "sleep": sleep,
    "stress": stress,
    "uname": uname,
}
