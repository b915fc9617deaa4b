"""tar and gzip, in their real formats.

Left out: bzip2 and xz.
"""

from __future__ import annotations

import io
import tarfile

from simcluster.engine.clock import unix_seconds
from simcluster.models.userland.datetimes import formatted_at
from simcluster.models.userland.escapes import raw
from simcluster.models.userland.options import parse
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.paths import FileError
from simcluster.models.userland.patterns import matches
from simcluster.models.userland.place import Call, Tool
from simcluster.models.userland.tools.packing import packed, unpacked


def tar(call: Call) -> Outcome:
    """Make, list and unpack archives."""
    args = list(call.args)
    if args and not args[0].startswith("-"):
        args[0] = "-" + args[0]
    # In a cluster of letters `f` takes the next word.
    given = parse(
        args,
        "cxtrvzjJphPkmwWO",
        "fCTX exclude strip-components transform",
        {
            "create": "c",
            "extract": "x",
            "get": "x",
            "list": "t",
            "append": "r",
            "file": "f",
            "directory": "C",
            "verbose": "v",
            "gzip": "z",
            "exclude": "exclude",
            "to-stdout": "O",
            "strip-components": "strip-components",
        },
    )
    if given.problem:
        return call.wrong(given.problem, 64 if call.gnu else 1)
    modes = [letter for letter in "cxtr" if given.has(letter)]
    if len(modes) != 1:
        said = (
            "You may not specify more than one '-Acdtrux', '--delete' or  '--test-label' option"
            if modes
            else "You must specify one of the '-Acdtrux', '--delete' or '--test-label' options"
        )
        return call.wrong(said, 2) if call.gnu else call.wrong("must specify at least one of -c, -x or -t")
    name = given.values.get("f", "-")
    if modes[0] in "cr":
        return _create(
            call,
            name,
            given.values.get("C", call.cwd),
            given.words,
            zipped=given.has("z") or name.endswith((".tgz", ".gz")),
            verbose=given.has("v"),
            excluded=given.values.get("exclude", ""),
            onto=modes[0] == "r",
        )
    return _open(
        call,
        name,
        given.values.get("C", call.cwd),
        given.words,
        mode="O" if given.has("O") and modes[0] == "x" else modes[0],
        verbose=given.has("v"),
        strip=int(given.values.get("strip-components", "0")[:3] or 0),
    )


def _create(
    call: Call, name: str, folder: str, words: list[str], *, zipped: bool, verbose: bool, excluded: str, onto: bool
) -> Outcome:
    if not words and not onto:
        return call.wrong("Cowardly refusing to create an empty archive", 2)
    before = b"" if not onto or call.look(name) is None else raw(call.read(name))
    if before[:2] == b"\x1f\x8b":
        return call.wrong("Cannot update compressed archives", 2)
    buffer = io.BytesIO(before)
    shown: list[str] = []
    inner = Call(call.place, call.argv, call.env, cwd=call.path(folder), now_ns=call.now_ns)
    with tarfile.open(fileobj=buffer, mode="a" if before else "w", format=tarfile.GNU_FORMAT) as archive:
        for word in words:
            if inner.look(word, follow=False) is None:
                shown_name = f"{word}: Cannot stat" if call.gnu else word.lstrip("/")
                call.complain(f"{shown_name}: No such file or directory")
                continue
            for path in _below(inner, word):
                if not excluded or not _excludes(excluded, path):
                    _add(inner, archive, path, shown)
    if any(word.startswith("/") for word in words):
        removing = "Removing leading `/'" if call.gnu else "removing leading '/'"
        call.said.insert(0, f"{call.name}: {removing} from member names\n")
    failed = any("No such file" in text for text in call.said)
    if failed:
        call.complain(
            "Exiting with failure status due to previous errors"
            if call.gnu
            else "error exit delayed from previous errors"
        )
    text = packed(buffer.getvalue()) if zipped else buffer.getvalue().decode("utf-8", "surrogateescape")
    listing = "".join(line + "\n" for line in shown) if verbose else ""
    if name == "-":
        return Outcome(text, "".join(call.said) + listing, (2 if call.gnu else 1) if failed else 0)
    try:
        call.files.write(call.resolved(name), text)
    except FileError as problem:
        call.complain(f"{name}: Cannot open: {problem}")
        failed = True
    return Outcome(listing, "".join(call.said), (2 if call.gnu else 1) if failed else 0)


def _excludes(pattern: str, path: str) -> bool:
    """Whether `--exclude=PATTERN` leaves a member out: the pattern fits its end or a folder above it."""
    parts = path.rstrip("/").split("/")
    tails = ["/".join(parts[at:stop]) for at in range(len(parts)) for stop in range(at + 1, len(parts) + 1)]
    return any(matches(pattern, tail) for tail in tails)


def _below(call: Call, name: str) -> list[str]:
    found = call.look(name, follow=False)
    if found is None or not found.is_folder:
        return [name]
    names = call.files.names(call.path(name))
    return [name.rstrip("/") + "/", *(path for each in names for path in _below(call, f"{name.rstrip('/')}/{each}"))]


def _add(call: Call, archive: tarfile.TarFile, path: str, shown: list[str]) -> None:
    found = call.look(path, follow=False)
    if found is None or found.kind in ("block", "char"):
        return
    info = tarfile.TarInfo(path.lstrip("/") or "./")
    info.mode, info.uname, info.gname, info.mtime = found.mode, found.owner, found.group, unix_seconds(found.changed_ns)
    shown.append(path)
    if found.is_folder:
        info.type = tarfile.DIRTYPE
        archive.addfile(info)
        return
    if found.kind == "link":
        info.type, info.linkname = tarfile.SYMTYPE, found.target
        archive.addfile(info)
        return
    try:
        data = raw(call.files.read(call.path(path)))
    except FileError as problem:
        call.complain(f"{path}: Cannot open: {problem}")
        return
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


def _open(call: Call, name: str, folder: str, words: list[str], *, mode: str, verbose: bool, strip: int) -> Outcome:
    try:
        data = unpacked(raw(call.read(name)))
    except FileError as problem:
        more = "tar: Error is not recoverable: exiting now\n" if call.gnu else ""
        said = f"tar: {name}: Cannot open: {problem}\n" if call.gnu else f"tar: can't open '{name}': {problem}\n"
        return Outcome(stderr=said + more, code=2 if call.gnu else 1)
    out: list[str] = []
    missing = set(words)
    target = call.path(folder)
    there = call.files.look(target)
    if there is None or not there.is_folder:
        more = "tar: Error is not recoverable: exiting now\n" if call.gnu else ""
        if not call.gnu:
            return Outcome(stderr=f"tar: can't change directory to '{folder}': No such file or directory\n", code=1)
        return Outcome(stderr=f"tar: {folder}: Cannot open: No such file or directory\n{more}", code=2)
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for info in archive:
                asked = [word for word in words if f"{info.name.rstrip('/')}/".startswith(word.rstrip("/") + "/")]
                missing -= set(asked)
                if words and not asked:
                    continue
                if mode == "O":
                    source = archive.extractfile(info) if info.isfile() else None
                    out.append((source.read() if source is not None else b"").decode("utf-8", "surrogateescape"))
                    continue
                shown = info.name + ("/" if info.isdir() else "")
                out.append((_long(info, shown) if mode == "t" and verbose else shown) + "\n")
                if mode == "x":
                    _extract(call, archive, info, target, strip)
    except (tarfile.TarError, EOFError, OSError):
        more = "tar: Exiting with failure status due to previous errors\n" if call.gnu else ""
        said = "tar: This does not look like a tar archive\n" if call.gnu else "tar: invalid tar magic\n"
        return Outcome("", said + more, 2 if call.gnu else 1)
    for word in words:
        if word in missing:
            call.complain(f"{word}: Not found in archive" if call.gnu else f"{word}: not found in archive")
    if call.gnu and missing:
        call.complain("Exiting with failure status due to previous errors")
    return call.done("".join(out) if mode in "tO" or verbose else "", failed=2 if call.gnu else 1)


def _long(info: tarfile.TarInfo, shown: str) -> str:
    from_bits = "".join(letter if info.mode >> (8 - at) & 1 else "-" for at, letter in enumerate("rwxrwxrwx"))
    stamp = formatted_at("%Y-%m-%d %H:%M", int(info.mtime))
    sign = "d" if info.isdir() else "l" if info.issym() else "-"
    return f"{sign}{from_bits} {info.uname}/{info.gname} {info.size:>9} {stamp} {shown}"


def _extract(call: Call, archive: tarfile.TarFile, info: tarfile.TarInfo, folder: str, strip: int) -> None:
    parts = [part for part in info.name.split("/") if part not in ("", ".")][strip:]
    if not parts or ".." in parts:
        return
    path = f"{folder.rstrip('/')}/{'/'.join(parts)}"
    try:
        made = folder.rstrip("/")
        for part in parts if info.isdir() else parts[:-1]:
            made += f"/{part}"
            if call.files.look(made) is None:
                call.files.make_folder(made)
        if info.issym():
            call.files.adorn(path, target=info.linkname)
        elif info.isfile():
            source = archive.extractfile(info)
            call.files.write(path, (source.read() if source is not None else b"").decode("utf-8", "surrogateescape"))
            call.files.adorn(path, mode=info.mode)
    except FileError as problem:
        call.complain(f"{info.name}: Cannot open: {problem}")


def gzip(call: Call) -> Outcome:
    """gzip, gunzip and zcat."""
    given = parse(
        call.args,
        "dckflrtvnq123456789",
        "S",
        {"decompress": "d", "stdout": "c", "keep": "k", "force": "f", "list": "l", "test": "t"},
    )
    if given.problem:
        return call.wrong(given.problem)
    back = given.has("d") or given.has("t") or call.name in ("gunzip", "zcat")
    names = given.words
    if not names or names == ["-"]:
        return _piped(call, call.stdin(), back)
    out: list[str] = []
    ignored = False
    for name in names:
        try:
            text = call.read(name)
        except FileError as problem:
            call.said.append(f"gzip: {name}: {problem}\n" if call.gnu else f"{call.name}: {name}: {problem}\n")
            continue
        if given.has("l"):
            out.append(_listed(call, name, raw(text), first=not out))
            continue
        kept = given.has("c") or given.has("t") or call.name == "zcat"
        if back and not kept and not name.endswith((".gz", ".tgz")):
            dash = "--" if call.gnu else "-"
            call.said.append(f"{'gzip' if call.gnu else call.name}: {name}: unknown suffix {dash} ignored\n")
            ignored = True
            continue
        outcome = _piped(call, text, back, name)
        if outcome.code:
            call.said.append(outcome.stderr)
        elif kept:
            out.append("" if given.has("t") else outcome.stdout)
        else:
            target = (
                (name.removesuffix(".gz") if not name.endswith(".tgz") else name[:-4] + ".tar")
                if back
                else name + ".gz"
            )
            try:
                call.files.write(call.resolved(target), outcome.stdout)
                if not given.has("k"):
                    call.files.remove(call.resolved(name))
            except FileError as problem:
                call.said.append(f"gzip: {target}: {problem}\n")
    # GNU's warnings have a status of their own.
    return call.done("".join(out), failed=2 if ignored and call.gnu else 1)


def _listed(call: Call, name: str, data: bytes, *, first: bool) -> str:
    """A row of `gzip -l`."""
    if data[:2] != b"\x1f\x8b":
        call.said.append(f"\ngzip: {name}: not in gzip format\n")
        return ""
    whole = len(unpacked(data))
    saved = 0 if not whole else round((whole - len(data) + 18) * 1000 / whole)
    head = "         compressed        uncompressed  ratio uncompressed_name\n" if first else ""
    return f"{head}{len(data):>19} {whole:>19} {saved / 10:>5.1f}% {name.removesuffix('.gz')}\n"


def _piped(call: Call, text: str, back: bool, name: str = "stdin") -> Outcome:
    if not back:
        return Outcome(packed(raw(text)))
    data = raw(text)
    if data[:2] != b"\x1f\x8b":
        return Outcome(
            stderr=f"\ngzip: {name}: not in gzip format\n" if call.gnu else f"{call.name}: invalid magic\n", code=1
        )
    return Outcome(unpacked(data).decode("utf-8", "surrogateescape"))


TOOLS: dict[str, Tool] = {"gunzip": gzip, "gzip": gzip, "tar": tar, "zcat": gzip}
