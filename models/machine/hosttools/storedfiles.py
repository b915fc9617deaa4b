"""Files that processes keep on a drive without text of their own (a store's data), as programs that look see them."""

from __future__ import annotations

from copy import deepcopy

from simcluster.models.machine.machine import Machine
from simcluster.models.machine.shell.files import ERROR_TEXTS, Layer


def size_of(machine: Machine, path: str) -> int | None:
    """Bytes of a stored file; None if there is none of this name."""
    storage = machine.built_storage
    system = None if storage is None else storage.mounts.at(path)
    return system.size_of(path) if system is not None and system.exists(path) else None


def is_folder(machine: Machine, path: str) -> bool:
    """Whether stored files lie below a path."""
    storage = machine.built_storage
    return storage is not None and bool(storage.mounts.at(path).files_below(path))


def names_in(machine: Machine, folder: str) -> list[str]:
    """Names of stored files and of their folders directly in a folder, sorted."""
    storage = machine.built_storage
    if storage is None:
        return []
    prefix = folder.rstrip("/") + "/"
    found = dict.fromkeys(
        path[len(prefix) :].partition("/")[0] for path in storage.mounts.at(folder).files_below(folder)
    )
    return sorted(found)


def size_below(machine: Machine, path: str) -> int:
    """Bytes of a stored file, or of all below a folder."""
    storage = machine.built_storage
    if storage is None:
        return 0
    system = storage.mounts.at(path)
    return system.size_of(path) + sum(system.size_of(file) for file in system.files_below(path))  # integers


def read_through(machine: Machine, path: str, comm: str) -> tuple[int, str]:
    """Read a stored file from its drive: how long it takes, and the error as programs print it, or ""."""
    outcome = machine.files_at(path).read(path, 0, size_of(machine, path) or 0, comm=comm)
    return outcome.delay_ns, ERROR_TEXTS.get(outcome.error, "")


def remove(machine: Machine, path: str) -> str:
    """Remove a stored file, or all below a folder; an error as programs print it, or ""."""
    system = machine.files_at(path)
    for file in [path] if system.exists(path) else system.files_below(path):
        error = system.remove(file)
        if error:
            return ERROR_TEXTS[error]
    return ""


def copy(machine: Machine, source: str, target: str, comm: str) -> tuple[int, str]:
    """Copy a stored file, or all below a folder: read from one drive, written to the other; how long, and the error.

    What a program keeps in a folder goes with its files: a store that starts on the copy finds its data.
    """
    there, here = machine.files_at(source), machine.files_at(target)
    alone = there.exists(source)
    delay = 0
    for file in [source] if alone else there.files_below(source):
        size, end = there.size_of(file), target + file[len(source) :]
        read = there.read(file, 0, size, comm=comm)
        if read.error:
            return delay + read.delay_ns, ERROR_TEXTS[read.error]
        error = here.allocate(end, size)
        if error:
            return delay, ERROR_TEXTS[error]
        written = here.write(end, 0, size, comm=comm)
        if written.error:
            return delay, ERROR_TEXTS[written.error]
        delay += max(read.delay_ns, written.delay_ns)  # read ahead, written behind
    folders = [path.rpartition("/")[0] for path in (source, target)] if alone else [source, target]
    _carry(machine, folders[0], folders[1])
    return delay, ""


def _carry(machine: Machine, source: str, target: str) -> None:
    """What programs hold in the folders of volumes."""
    volumes = machine.network.volumes
    for key in list(volumes):
        node, _, path = key.partition(":")
        if node != machine.name or not (path == source or path.startswith(source + "/")):
            continue
        copied, held = Layer(), volumes[key]
        copied.files, copied.folders = dict(held.files), dict(held.folders)
        copied.held = {name: deepcopy(value) for name, value in held.held.items()}
        volumes.setdefault(f"{node}:{target}{path[len(source) :]}", copied)
