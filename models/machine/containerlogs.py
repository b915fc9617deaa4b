"""Containers' logs as files of their node: /var/log/pods as the runtime and the kubelet keep it, /var/log/containers.

Of rotated files the newest lies as it was, older ones are compressed (pkg/kubelet/logs/container_log_manager.go).
Links in /var/log/containers are shown as the files they lead to; files of programs (`program_logs` of the machine) lie
where those say, as they were written. Left out: that writing here changes what is logged, rotated files of programs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from simcluster.engine import format_rfc3339
from simcluster.models.machine.container import Container
from simcluster.models.machine.machine import Machine
from simcluster.telemetry.logs import LogFile, LogLine, Rotated

PODS, CONTAINERS = "/var/log/pods", "/var/log/containers"
#: About how much smaller gzip makes lines of programs.
GZIP_RATIO = 10
#: How a compressed file begins (RFC 1952).
GZIP_MAGIC = "\x1f\x8b\x08"


class Logged(NamedTuple):
    """A file of a machine: of which run (None: a program's own), which part (None: the current one), and whether it is
    compressed.
    """

    machine: Machine
    log: LogFile
    run: Container | None = None
    part: Rotated | None = None
    packed: bool = False

    @property
    def size(self) -> int:
        """Bytes."""
        if self.part is None:
            return self.log.size_bytes
        return self.part.size_bytes // (GZIP_RATIO if self.packed else 1)

    @property
    def changed_ns(self) -> int:
        """When it was last written."""
        if self.part is not None:
            return self.part.t_ns
        return self.log.latest_ns or (self.run.created_ns if self.run is not None else 0)

    def text(self) -> str:
        """Its lines as the runtime (or the program) wrote them; of a compressed one what it holds."""
        log, clock = self.log, self.machine.os.clock
        lines: list[LogLine] = log.read() if self.part is None else log.put_aside(self.part)
        if self.run is None:
            return "".join(f"{line.text}\n" for line in lines)
        stamped = [(format_rfc3339(clock.shown_ns(line.t_ns), digits=9), line) for line in lines]
        return "".join(f"{stamp} {line.stream} F {line.text}\n" for stamp, line in stamped)


def files(machine: Machine) -> Iterator[tuple[str, Logged]]:
    """All of a node's, by their paths."""
    for path, log in machine.program_logs.items():
        yield path, Logged(machine, log)
    for names in machine.runtime.runs.values():
        for listed in names.values():
            for run in listed:
                if run.log.missing:
                    continue
                yield run.log_path, Logged(machine, run.log, run)
                spec = run.spec
                link = f"{spec.pod_name}_{spec.namespace}_{spec.name}-{run.container_id}.log"
                yield f"{CONTAINERS}/{link}", Logged(machine, run.log, run)
                for part in run.log.rotated:
                    packed = part is not run.log.rotated[-1]
                    stamp = format_rfc3339(part.t_ns)
                    name = f"{stamp[:10].replace('-', '')}-{stamp[11:19].replace(':', '')}{'.gz' if packed else ''}"
                    yield f"{run.log_path}.{name}", Logged(machine, run.log, run, part, packed)


def size_of(machine: Machine, pod_uid: str, name: str) -> int:
    """Bytes of a container's logs on its node: of its runs that are kept, rotated files with them."""
    total = 0
    for run in machine.runtime.runs.get(pod_uid, {}).get(name, ()):
        parts = run.log.rotated
        kept = [
            Logged(machine, run.log, run),
            *(Logged(machine, run.log, run, one, one is not parts[-1]) for one in parts),
        ]
        total += sum(each.size for each in kept) if not run.log.missing else 0  # integers
    return total


def find(machine: Machine, path: str) -> Logged | None:
    """The file at a path."""
    if path in machine.program_logs:
        return Logged(machine, machine.program_logs[path])
    if not path.startswith((f"{PODS}/", f"{CONTAINERS}/")):
        return None
    return next((logged for place, logged in files(machine) if place == path), None)


def below(machine: Machine, folder: str) -> list[str]:
    """Paths of all such files in a folder and its folders."""
    prefix = folder.rstrip("/") + "/"
    if not (prefix.startswith(("/var/log/pods/", "/var/log/containers/")) or PODS.startswith(prefix)):
        return sorted(path for path in machine.program_logs if path.startswith(prefix))
    return sorted(path for path, _ in files(machine) if path.startswith(prefix))
