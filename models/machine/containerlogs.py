"""Containers' logs as files of their node: /var/log/pods as the runtime and the kubelet keep it, /var/log/containers.

Of rotated files the newest lies as it was, older ones are compressed (pkg/kubelet/logs/container_log_manager.go).
Links in /var/log/containers are shown as the files they lead to. Left out: that writing here changes what is logged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from simcluster.engine import format_rfc3339
from simcluster.models.machine.container import Container
from simcluster.models.machine.machine import Machine
from simcluster.telemetry.logs import LogLine, Rotated

PODS, CONTAINERS = "/var/log/pods", "/var/log/containers"
#: About how much smaller gzip makes lines of programs.
GZIP_RATIO = 10
#: How a compressed file begins (RFC 1952).
GZIP_MAGIC = "\x1f\x8b\x08"


class Logged(NamedTuple):
    """A file: of which run, which part (None: the current one), and whether it is compressed."""

    run: Container
    part: Rotated | None = None
    packed: bool = False

    @property
    def size(self) -> int:
        """Bytes."""
        if self.part is None:
            return self.run.log.size_bytes
        return self.part.size_bytes // (GZIP_RATIO if self.packed else 1)

    @property
    def changed_ns(self) -> int:
        """When it was last written."""
        if self.part is not None:
            return self.part.t_ns
        return self.run.log.latest_ns or self.run.created_ns

    def text(self) -> str:
        """Its lines as the runtime wrote them; of a compressed one what it holds."""
        log, clock = self.run.log, self.run.machine.os.clock
        lines: list[LogLine] = log.read() if self.part is None else log.put_aside(self.part)
        stamped = [(format_rfc3339(clock.shown_ns(line.t_ns), digits=9), line) for line in lines]
        return "".join(f"{stamp} {line.stream} F {line.text}\n" for stamp, line in stamped)


def files(machine: Machine) -> Iterator[tuple[str, Logged]]:
    """All of a node's, by their paths."""
    for names in machine.runtime.runs.values():
        for listed in names.values():
            for run in listed:
                if run.log.missing:
                    continue
                yield run.log_path, Logged(run)
                spec = run.spec
                link = f"{spec.pod_name}_{spec.namespace}_{spec.name}-{run.container_id}.log"
                yield f"{CONTAINERS}/{link}", Logged(run)
                for part in run.log.rotated:
                    packed = part is not run.log.rotated[-1]
                    stamp = format_rfc3339(part.t_ns)
                    name = f"{stamp[:10].replace('-', '')}-{stamp[11:19].replace(':', '')}{'.gz' if packed else ''}"
                    yield f"{run.log_path}.{name}", Logged(run, part, packed)


def find(machine: Machine, path: str) -> Logged | None:
    """The file at a path."""
    if not path.startswith((f"{PODS}/", f"{CONTAINERS}/")):
        return None
    return next((logged for place, logged in files(machine) if place == path), None)


def below(machine: Machine, folder: str) -> list[str]:
    """Paths of all such files in a folder and its folders."""
    prefix = folder.rstrip("/") + "/"
    if not (prefix.startswith(("/var/log/pods/", "/var/log/containers/")) or PODS.startswith(prefix)):
        return []
    return sorted(path for path, _ in files(machine) if path.startswith(prefix))
