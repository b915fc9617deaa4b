"""`crictl` 1.32: pods, containers, images, logs and use by the container runtime.

Left out: making pods and containers, pulling, port-forward, attach, templates.
"""

from __future__ import annotations

import json
import re
from typing import Any

from simcluster.engine import MINUTE, SECOND, format_rfc3339
from simcluster.engine.clock import HOUR
from simcluster.models.machine.container import Container
from simcluster.models.machine.kernel import memory
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.runtime import SOCKET_ERROR, RuntimeFailure
from simcluster.models.userland.options import Options, parse
from simcluster.models.userland.outcome import Outcome

_LONG = {"all": "a", "quiet": "q", "name": "name", "pod": "p", "state": "s", "namespace": "namespace", "output": "o",
         "tail": "tail", "since": "since", "timestamps": "t", "previous": "P", "follow": "f", "no-trunc": "T",
         "latest": "l", "last": "n", "label": "label", "id": "id", "timeout": "timeout", "verbose": "v",
         "runtime-endpoint": "r", "tty": "tty", "interactive": "i", "sync": "sync"}  # fmt: skip
_STATES = {"running": "Running", "exited": "Exited", "created": "Created", "ready": "Ready", "notready": "NotReady"}


def crictl(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """crictl: what the container runtime says."""
    words = list(args)
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in ("-r", "--runtime-endpoint", "-t", "--timeout") else words[1:]
    verb, rest = (words[0], words[1:]) if words else ("", [])
    if verb not in _VERBS:
        return Outcome("", f"No help topic for '{verb}'\n" if verb else "NAME:\n   crictl - client for CRI\n", 3)
    if not machine.runtime.up:
        error = SOCKET_ERROR.replace('"', '\\"')
        return _fatal(machine, f"validate service connection: {error}")
    if verb == "exec":
        return _exec(machine, [word for word in rest if word not in ("-it", "-i", "-t", "-s", "--sync")])
    asked = parse(rest, "aqtPfTlvi", "psorn name namespace tail since label id timeout", _LONG)
    if asked.problem:
        flag = re.sub(r".*'(.*)'", r"\1", asked.problem)
        said = f"flag provided but not defined: -{flag.lstrip('-')}"
        return Outcome("", f"Incorrect Usage: {said}\n\n", 1) if flag else Outcome("", f"{said}\n", 1)
    if asked.has("f") and verb == "logs":
        return _followed(machine, asked, args, stdin)
    return _VERBS[verb](machine, asked)


def _followed(machine: Machine, asked: Options, args: list[str], stdin: str) -> Outcome:
    """`logs -f`: what has come since the last look, until the container ends or somebody presses Ctrl-C."""
    container = _find(machine, asked.words[0]) if asked.words else None
    if container is None or not container.running:
        return _logs(machine, asked)
    now = machine.sim.now
    if stdin.isdigit():
        new = [line for line in container.log.read() if line.t_ns > int(stdin)]
        text = "".join(f"{line.text}\n" for line in new)
    else:
        text = _logs(machine, asked).stdout
    return Outcome(text, "", 0, SECOND, then=("crictl", *args), then_stdin=str(now))


def _fatal(machine: Machine, text: str) -> Outcome:
    stamp = format_rfc3339(machine.os.clock.now_ns())
    return Outcome("", f'time="{stamp}" level=fatal msg="{text}"\n', 1)


def _table(rows: list[list[str]]) -> Outcome:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["".join(f"{cell:<{width + 3}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
    return Outcome("\n".join(line.rstrip() for line in lines) + "\n")


def _chosen(machine: Machine, asked: Options) -> list[Container]:
    """Containers by state, name, pod and label, the newest first."""
    state = _STATES.get(asked.values.get("s", "").lower(), "")
    found = []
    for container in reversed(machine.runtime.containers()):
        own = "Running" if container.running else "Exited"
        if (state and own != state) or (not state and not container.running and not asked.has("a")):
            continue
        if "name" in asked.values and not re.search(asked.values["name"], container.spec.name):
            continue
        if "p" in asked.values and not container.sandbox.sandbox_id.startswith(asked.values["p"]):
            continue
        if "id" in asked.values and not container.container_id.startswith(asked.values["id"]):
            continue
        found.append(container)
    count = 1 if asked.has("l") else int(asked.values.get("n", "0") or 0)
    return found[:count] if count else found


def _ps(machine: Machine, asked: Options) -> Outcome:
    chosen = _chosen(machine, asked)
    if asked.has("q"):
        return Outcome("".join(f"{container.container_id}\n" for container in chosen))
    if asked.values.get("o") == "json":
        return Outcome(_json({"containers": [_record(container) for container in chosen]}))
    rows = [["CONTAINER", "IMAGE", "CREATED", "STATE", "NAME", "ATTEMPT", "POD ID", "POD"]]
    for container in chosen:
        image = container.image_id.partition("sha256:")[2][:13] or container.spec.image
        spec, long = container.spec, None if asked.has("T") else 13
        created = _ago(machine.sim.now - container.created_ns)
        rows.append(
            [
                container.container_id[:long],
                image,
                created,
                "Running" if container.running else "Exited",
                spec.name,
                str(container.attempt),
                container.sandbox.sandbox_id[:long],
                spec.pod_name,
            ]
        )
    return _table(rows)


def _record(container: Container) -> dict[str, Any]:
    spec = container.spec
    return {
        "id": container.container_id,
        "podSandboxId": container.sandbox.sandbox_id,
        "metadata": {"name": spec.name, "attempt": container.attempt},
        "image": {"image": spec.image},
        "imageRef": container.image_id,
        "state": "CONTAINER_RUNNING" if container.running else "CONTAINER_EXITED",
        "createdAt": str(container.created_ns),
        "labels": {"io.kubernetes.container.name": spec.name, "io.kubernetes.pod.name": spec.pod_name,
                   "io.kubernetes.pod.namespace": spec.namespace, "io.kubernetes.pod.uid": spec.pod_uid},
    }  # fmt: skip


def _json(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"


def _pods(machine: Machine, asked: Options) -> Outcome:
    chosen = []
    for sandbox in reversed(list(machine.runtime.sandboxes.values())):
        wanted = all(
            not asked.values.get(option) or re.search(asked.values[option], text)
            for option, text in (("name", sandbox.pod_name), ("namespace", sandbox.namespace),
                                 ("id", sandbox.sandbox_id))
        )  # fmt: skip
        if wanted:
            chosen.append(sandbox)
    if asked.has("q"):
        return Outcome("".join(f"{sandbox.sandbox_id}\n" for sandbox in chosen))
    rows = [["POD ID", "CREATED", "STATE", "NAME", "NAMESPACE", "ATTEMPT", "RUNTIME"]]
    for sandbox in chosen:
        born = min((c.created_ns for c in sandbox.containers.values()), default=machine.sim.now)
        rows.append([sandbox.sandbox_id[:13], _ago(machine.sim.now - born), "Ready", sandbox.pod_name,
                     sandbox.namespace, "0", "(default)"])  # fmt: skip
    return _table(rows)


def _images(machine: Machine, asked: Options) -> Outcome:
    images = sorted(machine.images.images.values(), key=_image_name)
    if asked.words:
        images = [image for image in images if asked.words[0] in image.name]
    if asked.has("q"):
        return Outcome("".join(f"{image.digest}\n" for image in images))
    rows = [["IMAGE", "TAG", "IMAGE ID", "SIZE"]]
    for image in images:
        tag = image.name[len(image.repository) + 1 :]
        megabytes = image.size_bytes * 10 // 1_000_000
        rows.append(
            [image.repository, tag, image.digest.partition(":")[2][:13], f"{megabytes // 10}.{megabytes % 10}MB"]
        )
    return _table(rows)


def _image_name(image: Any) -> str:
    return str(image.name)


def _find(machine: Machine, prefix: str) -> Container | None:
    for names in machine.runtime.runs.values():
        for runs in names.values():
            for container in runs:
                if container.container_id.startswith(prefix):
                    return container
    return None


def _logs(machine: Machine, asked: Options) -> Outcome:
    if not asked.words:
        return _fatal(machine, "ID cannot be empty")
    container = _find(machine, asked.words[0])
    if container is None:
        return _unknown(machine, asked.words[0])
    tail = asked.values.get("tail", "")
    lines = container.log.read(tail=int(tail) if tail.isdigit() else None)
    since = re.fullmatch(r"(\d+)([smh])", asked.values.get("since", ""))
    if since:
        oldest = machine.sim.now - int(since[1]) * {"s": SECOND, "m": MINUTE, "h": HOUR}[since[2]]
        lines = [line for line in lines if line.t_ns >= oldest]
    stamped, clock = asked.has("t"), machine.os.clock
    stamps = [f"{format_rfc3339(clock.shown_ns(line.t_ns), digits=9)} " if stamped else "" for line in lines]
    shown = [stamp + line.text for stamp, line in zip(stamps, lines, strict=True)]
    return Outcome("".join(f"{line}\n" for line in shown))


def _inspect(machine: Machine, asked: Options) -> Outcome:
    if not asked.words:
        return _fatal(machine, "ID cannot be empty")
    container = _find(machine, asked.words[0])
    if container is None:
        return _unknown(machine, asked.words[0])
    spec, quota = container.spec, container.spec.cpu_limit
    linux = {
        "cpuPeriod": "100000",
        "cpuQuota": str(int(quota * 100_000) if quota is not None else 0),
        "cpuShares": str(max(2, int(spec.cpu_request * 1024))),
        "memoryLimitInBytes": str(spec.memory_limit or 0),
        "oomScoreAdj": str(machine.oom_score(container)),
    }
    status = {
        **{key: value for key, value in _record(container).items() if key not in ("podSandboxId", "createdAt")},
        "createdAt": format_rfc3339(container.created_ns, digits=9),
        "startedAt": format_rfc3339(container.started_ns, digits=9),
        "finishedAt": format_rfc3339(container.finished_ns, digits=9)
        if not container.running
        else "0001-01-01T00:00:00Z",
        "exitCode": container.exit_code,
        "reason": container.reason,
        "message": container.message,
        "logPath": container.log_path,
        "resources": {"linux": linux},
        "mounts": [{"containerPath": mount.path, "hostPath": mount.host} for mount in container.mounts],
    }
    info = {"sandboxID": container.sandbox.sandbox_id, "pid": container.pid if container.running else 0,
            "runtimeType": "io.containerd.runc.v2"}  # fmt: skip
    return Outcome(_json({"status": status, "info": info}))


def _inspect_pod(machine: Machine, asked: Options) -> Outcome:
    wanted = asked.words[0] if asked.words else ""
    for sandbox in machine.runtime.sandboxes.values():
        if wanted and sandbox.sandbox_id.startswith(wanted):
            network = {"ip": "" if sandbox.host_network else sandbox.address, "additionalIps": []}
            return Outcome(_json({"status": {
                "id": sandbox.sandbox_id, "metadata": {"name": sandbox.pod_name, "namespace": sandbox.namespace},
                "state": "SANDBOX_READY", "network": network}}))  # fmt: skip
    return _fatal(
        machine,
        f'rpc error: code = NotFound desc = an error occurred when try to find sandbox \\"{wanted}\\": not found',
    )


def _stats(machine: Machine, asked: Options) -> Outcome:
    rows = [["CONTAINER", "NAME", "CPU %", "MEM", "DISK", "INODES"]]
    for container in _chosen(machine, asked):
        if asked.words and not container.container_id.startswith(asked.words[0]):
            continue
        held = container.memory_bytes + memory.file_bytes(machine, container)
        percent = 100.0 * machine.cpu.used(container)
        rows.append([container.container_id[:13], container.spec.name, f"{percent:.2f}", _size(held), "32.77kB", "9"])
    return _table(rows)


def _size(amount: int) -> str:
    for unit, name in ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")):
        if amount >= unit:
            return f"{amount / unit:.4g}{name}"
    return f"{amount}B"


def _info(machine: Machine, asked: Options) -> Outcome:
    conditions = [
        {"type": kind, "status": True, "reason": "", "message": ""} for kind in ("RuntimeReady", "NetworkReady")
    ]
    return Outcome(_json({"status": {"conditions": conditions}}))


def _version(machine: Machine, asked: Options) -> Outcome:
    number = machine.identity.container_runtime.rpartition("/")[2]
    return Outcome(f"Version:  0.1.0\nRuntimeName:  containerd\nRuntimeVersion:  v{number}\nRuntimeApiVersion:  v1\n")


def _stop(machine: Machine, asked: Options) -> Outcome:
    if not asked.words:
        return _fatal(machine, "ID cannot be empty")
    out = []
    for word in asked.words:
        container = _find(machine, word)
        if container is None:
            return _unknown(machine, word)
        container.terminate()
        out.append(f"{word}\n")
    return Outcome("".join(out))


def _exec(machine: Machine, words: list[str]) -> Outcome:
    if len(words) < 2:
        return _fatal(machine, "ID cannot be empty")
    container = _find(machine, words[0])
    if container is None:
        return _unknown(machine, words[0])
    try:
        result, delay_ns = machine.runtime.execute(container, tuple(words[1:]))
        return result._replace(delay_ns=delay_ns)
    except RuntimeFailure as failure:
        return Outcome("", f"FATA[0000] execing command in container: {failure}\n", 1)


def _unknown(machine: Machine, prefix: str) -> Outcome:
    error = f'rpc error: code = NotFound desc = an error occurred when try to find container \\"{prefix}\\": not found'
    return _fatal(machine, error)


def _ago(duration_ns: int) -> str:
    if duration_ns < MINUTE:
        return f"{duration_ns // SECOND} seconds ago"
    if duration_ns < HOUR:
        minutes = duration_ns // MINUTE
        return f"{minutes} minutes ago" if minutes > 1 else "About a minute ago"
    hours = duration_ns // HOUR
    return f"{hours} hours ago" if hours > 1 else "About an hour ago"


_VERBS = {
    "exec": _ps, "image": _images, "images": _images, "info": _info, "inspect": _inspect, "inspectp": _inspect_pod,
    "logs": _logs, "pods": _pods, "ps": _ps, "stats": _stats, "stop": _stop, "version": _version,
}  # fmt: skip
TOOLS = {"crictl": crictl}
