"""`ctr` of containerd 1.7: containers, tasks and images by namespace. The kubelet's lie in `k8s.io`.

Left out: pulling, running, content, snapshots' usage, events.
"""

from __future__ import annotations

import json

from simcluster.engine import format_rfc3339
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.runtime import SOCKET_ERROR
from simcluster.models.userland.outcome import Outcome

_GROUPS = {"c": "containers", "container": "containers", "containers": "containers", "t": "tasks", "task": "tasks",
           "tasks": "tasks", "i": "images", "image": "images", "images": "images", "ns": "namespaces",
           "namespace": "namespaces", "namespaces": "namespaces", "version": "version"}  # fmt: skip
_PAUSE = "registry.k8s.io/pause:3.10"


def _table(rows: list[list[str]], gap: int = 4) -> Outcome:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ("".join(f"{cell:<{width + gap}}" for cell, width in zip(row, widths, strict=True)) for row in rows)
    return Outcome("".join(f"{line}\n" for line in lines))


def _ctr(machine: Machine, args: list[str], stdin: str) -> Outcome:
    space, words = "default", list(args)
    while words and words[0].startswith("-"):
        name, equals, value = words.pop(0).partition("=")
        if name in ("-n", "--namespace", "-a", "--address", "--timeout", "--connect-timeout"):
            value = value if equals else words.pop(0) if words else ""
            space = value if name in ("-n", "--namespace") else space
    group = _GROUPS.get(words[0], "") if words else ""
    if not group:
        if not words:
            return Outcome("NAME:\n   ctr - \n        __\n  _____/ /______\n / ___/ __/ ___/\n/ /__/ /_/ /\n"
                           "\\___/\\__/_/\n\ncontainerd CLI\n")  # fmt: skip
        return Outcome("", f"No help topic for '{words[0]}'\n", 3)
    number = machine.identity.container_runtime.rpartition("/")[2]
    if not machine.runtime.up:
        error = SOCKET_ERROR.replace('"', '\\"')
        return Outcome("", f'ctr: failed to dial "/run/containerd/containerd.sock": {error}\n', 1)
    if group == "version":
        text = f"  Version:  v{number}\n  Revision: 57f17b0a6295a39009d861b89e3b3b87b005ca27\n"
        return Outcome(
            f"Client:\n{text}  Go version: go1.22.10\n\nServer:\n{text}  UUID: {machine.identity.machine_id}\n"
        )
    verb, rest = (words[1], words[2:]) if len(words) > 1 else ("", [])
    quiet = any(word in ("-q", "--quiet") for word in rest)
    operands = [word for word in rest if not word.startswith("-")]
    if group == "namespaces":
        return _table([["NAME", "LABELS"], ["k8s.io", ""]], 1) if verb in ("ls", "list") else _unknown(group, verb)
    if verb in ("ls", "list"):
        return _listed(machine, group, quiet, own=space == "k8s.io")
    if group == "containers" and verb == "info":
        return _info(machine, operands[0] if operands else "", own=space == "k8s.io")
    if group == "tasks" and verb == "kill" and operands:
        return _kill(machine, rest, operands[-1])
    return _unknown(group, verb)


def _unknown(group: str, verb: str) -> Outcome:
    return Outcome("", f"ctr {group}: No help topic for '{verb}'\n" if verb else "", 3 if verb else 0)


def _listed(machine: Machine, group: str, quiet: bool, *, own: bool) -> Outcome:
    """What there is of a kind; in another namespace than the kubelet's nothing is."""
    rows: list[list[str]] = []
    if group == "images":
        head = ["REF", "TYPE", "DIGEST", "SIZE", "PLATFORMS", "LABELS"]
        for image in sorted(machine.images.images.values(), key=_name) if own else ():
            size = f"{image.size_bytes / (1 << 20):.1f} MiB"
            kind = "application/vnd.oci.image.index.v1+json"
            rows.append([image.name, kind, image.digest, size, "linux/amd64", "io.cri-containerd.image=managed"])
        return Outcome("".join(f"{row[0]}\n" for row in rows)) if quiet else _table([head, *rows], 1)
    for sandbox in machine.runtime.sandboxes.values() if own else ():
        living = [one for one in sandbox.containers.values() if one.running]
        pause = min((one.pid for one in living), default=0) - 4
        if group == "containers" or living:
            rows.append(
                [sandbox.sandbox_id, _PAUSE] if group == "containers" else [sandbox.sandbox_id, str(pause), "RUNNING"]
            )
        for one in sandbox.containers.values():
            state = "RUNNING" if one.running else "STOPPED"
            rows.append(
                [one.container_id, one.image_name] if group == "containers" else [one.container_id, str(one.pid), state]
            )
    rows.sort()
    if quiet:
        return Outcome("".join(f"{row[0]}\n" for row in rows))
    if group == "tasks":
        return _table([["TASK", "PID", "STATUS"], *rows])
    return _table([["CONTAINER", "IMAGE", "RUNTIME"], *([*row, "io.containerd.runc.v2"] for row in rows)])


def _name(image: object) -> str:
    return str(getattr(image, "name", ""))


def _info(machine: Machine, wanted: str, *, own: bool) -> Outcome:
    for sandbox in machine.runtime.sandboxes.values() if own else ():
        for one in sandbox.containers.values():
            if one.container_id == wanted:
                spec = one.spec
                shown = {
                    "ID": one.container_id,
                    "Labels": {"io.cri-containerd.kind": "container", "io.kubernetes.container.name": spec.name,
                               "io.kubernetes.pod.name": spec.pod_name, "io.kubernetes.pod.namespace": spec.namespace,
                               "io.kubernetes.pod.uid": spec.pod_uid},
                    "Image": one.image_name,
                    "Runtime": {"Name": "io.containerd.runc.v2"},
                    "SnapshotKey": one.container_id,
                    "Snapshotter": "overlayfs",
                    "CreatedAt": format_rfc3339(one.created_ns, digits=9),
                    "Spec": {"ociVersion": "1.1.0", "process": {"args": list(one.argv), "cwd": spec.workdir or "/"},
                             "hostname": spec.pod_name, "linux": {"cgroupsPath": one.control_group}},
                }  # fmt: skip
                return Outcome(json.dumps(shown, indent=4) + "\n")
    return Outcome("", f'ctr: container "{wanted}" in namespace "{"k8s.io" if own else "default"}": not found\n', 1)


def _kill(machine: Machine, rest: list[str], wanted: str) -> Outcome:
    for container in machine.runtime.containers():
        if container.container_id == wanted and container.running:
            kill = any(word in ("SIGKILL", "KILL", "9", "--signal=SIGKILL", "-s=9") for word in rest)
            container.kill() if kill else container.terminate()
            return Outcome()
    return Outcome("", f"ctr: no running task found: task {wanted} not found: not found\n", 1)


TOOLS = {"ctr": _ctr}
