"""`tar`, as busybox implements it: what `kubectl cp` runs in a container.

Files hold text: an archive of them is UTF-8 but for its blocks of NUL, and so passes through pipes of text. Left out:
compression, links, owners, modes, times of files (all are of the present).
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator

from simcluster.engine.clock import unix_seconds
from simcluster.models.machine.imagetools.call import Outcome, Tool, ToolCall, usage_error
from simcluster.models.machine.shell.files import FileError

_USAGE = "must specify at least one of -c, -x or -t"
_DELAYED = "tar: error exit delayed from previous errors\n"
_STRIPPED = "tar: removing leading '/' from member names\n"


def tar(call: ToolCall) -> Outcome:
    """Make (`c`), unpack (`x`) or list (`t`) an archive on standard input and output, or in a file (`-f`)."""
    mode, archive, folder, names = "", "-", "/", []
    words, first = iter(call.argv[1:]), True
    for word in words:
        if word.startswith("--"):
            continue  # --no-same-owner, --no-same-permissions: nothing here has either
        if not (word.startswith("-") or first):
            names.append(word)
            continue
        first = False
        for letter in word.removeprefix("-"):
            if letter in "cxt":
                mode = letter
            elif letter == "f":
                archive = next(words, "-")
            elif letter == "C":
                folder = next(words, "/")
    base = call.path(folder) if folder != "/" else call.cwd
    if not mode:
        return usage_error(call, _USAGE)
    if not call.files.is_folder(base):
        return Outcome(stderr=f"tar: can't change directory to '{folder}': No such file or directory\n", code=1)
    if mode == "c":
        return _create(call, archive, base, names)
    if archive == "-":
        packed = call.stdin
    else:
        texts, errors = call.inputs([archive])
        if errors:
            return Outcome(stderr=errors, code=1)
        packed = texts[0]
    return _read(call, packed, base, names, lists=mode == "t")


def _create(call: ToolCall, archive: str, base: str, names: list[str]) -> Outcome:
    if not names:
        return Outcome(stderr="tar: empty archive\n", code=1)
    errors = ""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT, encoding="utf-8") as packing:
        for name in names:
            if name.startswith("/"):
                errors += _STRIPPED if _STRIPPED not in errors else ""
            shown = name.lstrip("/")
            path = call.path(name if name.startswith("/") else f"{base}/{name}")
            try:
                for member, text in _below(call, path, shown):
                    _pack(packing, member, text, unix_seconds(call.now_ns))
            except FileError as problem:
                errors += f"tar: {shown}: {problem}\n"
    if failed := errors.replace(_STRIPPED, "") != "":
        errors += _DELAYED
    packed = made.getvalue().decode(errors="replace")
    if archive == "-":
        return Outcome(packed, errors, int(failed))
    try:
        call.files.write(call.path(archive), packed)
    except FileError as problem:
        return Outcome(stderr=f"{errors}tar: can't open '{archive}': {problem}\n", code=1)
    return Outcome(stderr=errors, code=int(failed))


def _below(call: ToolCall, path: str, shown: str) -> Iterator[tuple[str, str | None]]:
    """Name and text of a file, or of a folder (without text) and of what is in it. Raises FileError."""
    if not call.files.is_folder(path):
        yield shown, call.files.read(path)
        return
    yield f"{shown}/", None
    for entry in call.files.entries(path):
        yield from _below(call, f"{path.rstrip('/')}/{entry}", f"{shown}/{entry}" if shown else entry)


def _pack(packing: tarfile.TarFile, member: str, text: str | None, now_s: int) -> None:
    entry = tarfile.TarInfo(member)
    entry.mtime, entry.uname, entry.gname = now_s, "root", "root"
    if text is None:
        entry.type, entry.mode = tarfile.DIRTYPE, 0o755
        packing.addfile(entry)
        return
    content = text.encode()
    entry.size, entry.mode = len(content), 0o644
    packing.addfile(entry, io.BytesIO(content))


def _read(call: ToolCall, packed: str, base: str, names: list[str], *, lists: bool) -> Outcome:
    listed = ""
    try:
        with tarfile.open(
            fileobj=io.BytesIO(packed.encode()), mode="r:", encoding="utf-8", errors="replace"
        ) as packing:
            for member in packing:
                if names and not any(f"{member.name}/".startswith(f"{name.rstrip('/')}/") for name in names):
                    continue
                if lists:
                    listed += member.name + ("/\n" if member.isdir() else "\n")
                else:
                    _unpack(call, packing, member, f"{base.rstrip('/')}/{member.name}")
    except FileError as problem:
        return Outcome(listed, f"tar: can't open: {problem}\n", 1)
    except (tarfile.TarError, EOFError, ValueError):
        return Outcome(listed, "tar: invalid tar magic\n" if packed else "tar: short read\n", 1)
    return Outcome(listed)


def _unpack(call: ToolCall, packing: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> None:
    path = call.path(path)
    if member.isdir():
        if not call.files.is_folder(path):
            call.files.make_folder(path, parents=True)
        return
    content = packing.extractfile(member)
    if content is None:
        return  # a link
    folder = path.rpartition("/")[0] or "/"
    if not call.files.is_folder(folder):
        call.files.make_folder(folder, parents=True)
    call.files.write(path, content.read().decode(errors="replace"))


TOOLS: dict[str, Tool] = {"tar": tar}
