"""`crictl` 1.32: pods, containers, images and logs by the container runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.engine import MINUTE, SECOND, format_rfc3339
from simcluster.engine.clock import HOUR
from simcluster.models.machine.container import Container
from simcluster.models.machine.program import ExecResult
from simcluster.models.machine.runtime import SOCKET_ERROR, RuntimeFailure

if TYPE_CHECKING:
    from simcluster.models.machine.machine import Machine


def crictl(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    """crictl: what the container runtime says."""
    words = [word for word in args if not word.startswith("-")]
    verb = words[0] if words else ""
    if not machine.runtime.up:
        error = SOCKET_ERROR.replace('"', '\\"')
        stamp = format_rfc3339(machine.sim.now)
        return ExecResult("", f'time="{stamp}" level=fatal msg="validate service connection: {error}"\n', 1)
    if verb == "ps":
        return _crictl_ps(machine, every="-a" in args or "--all" in args)
    if verb == "pods":
        return _crictl_pods(machine)
    if verb in ("images", "image"):
        return _crictl_images(machine)
    if verb == "logs" and len(words) > 1:
        return _crictl_logs(machine, words[1])
    if verb == "exec" and len(words) > 2:
        return _crictl_exec(machine, words[1], tuple(words[2:]))
    return ExecResult("", f"No help topic for '{verb}'\n" if verb else "NAME:\n   crictl - client for CRI\n", 3)


def _table(rows: list[list[str]]) -> ExecResult:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["".join(f"{cell:<{width + 3}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
    return ExecResult("\n".join(line.rstrip() for line in lines) + "\n")


def _crictl_ps(machine: Machine, *, every: bool) -> ExecResult:
    rows = [["CONTAINER", "IMAGE", "CREATED", "STATE", "NAME", "ATTEMPT", "POD ID", "POD"]]
    for container in reversed(machine.runtime.containers()):
        if not (container.running or every):
            continue
        state = "Running" if container.running else "Exited"
        image = container.image_id.partition("sha256:")[2][:13] or container.spec.image
        spec = container.spec
        created = _ago(machine.sim.now - container.created_ns)
        pod_id = container.sandbox.sandbox_id[:13]
        attempt = str(container.attempt)
        rows.append([container.container_id[:13], image, created, state, spec.name, attempt, pod_id, spec.pod_name])
    return _table(rows)


def _crictl_pods(machine: Machine) -> ExecResult:
    rows = [["POD ID", "STATE", "NAME", "NAMESPACE", "ATTEMPT", "RUNTIME"]]
    for sandbox in reversed(list(machine.runtime.sandboxes.values())):
        rows.append([sandbox.sandbox_id[:13], "Ready", sandbox.pod_name, sandbox.namespace, "0", "(default)"])
    return _table(rows)


def _crictl_images(machine: Machine) -> ExecResult:
    rows = [["IMAGE", "TAG", "IMAGE ID", "SIZE"]]
    for image in sorted(machine.images.images.values(), key=lambda i: i.name):
        tag = image.name[len(image.repository) + 1 :]
        megabytes = image.size_bytes * 10 // 1_000_000
        size = f"{megabytes // 10}.{megabytes % 10}MB"
        rows.append([image.repository, tag, image.digest.partition(":")[2][:13], size])
    return _table(rows)


def _find(machine: Machine, prefix: str) -> Container | None:
    for names in machine.runtime.runs.values():
        for runs in names.values():
            for container in runs:
                if container.container_id.startswith(prefix):
                    return container
    return None


def _crictl_logs(machine: Machine, prefix: str) -> ExecResult:
    container = _find(machine, prefix)
    if container is None:
        return ExecResult("", _unknown(machine, prefix), 1)
    return ExecResult("".join(f"{line.text}\n" for line in container.log.read()))


def _crictl_exec(machine: Machine, prefix: str, argv: tuple[str, ...]) -> ExecResult:
    container = _find(machine, prefix)
    if container is None:
        return ExecResult("", _unknown(machine, prefix), 1)
    try:
        return machine.runtime.execute(container, argv).result
    except RuntimeFailure as failure:
        return ExecResult("", f"FATA[0000] execing command in container: {failure}\n", 1)


def _unknown(machine: Machine, prefix: str) -> str:
    error = f'rpc error: code = NotFound desc = an error occurred when try to find container \\"{prefix}\\": not found'
    return f'time="{format_rfc3339(machine.sim.now)}" level=fatal msg="{error}"\n'


def _ago(duration_ns: int) -> str:
    if duration_ns < MINUTE:
        return f"{duration_ns // SECOND} seconds ago"
    if duration_ns < HOUR:
        minutes = duration_ns // MINUTE
        return f"{minutes} minutes ago" if minutes > 1 else "About a minute ago"
    hours = duration_ns // HOUR
    return f"{hours} hours ago" if hours > 1 else "About an hour ago"


TOOLS = {"crictl": crictl}
