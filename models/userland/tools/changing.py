"""Programs that change files: cp, mv, rm, mkdir, touch, ln, chmod, truncate and their kin."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from simcluster.models.userland.datetimes import formatted, read_date
from simcluster.models.userland.options import parse
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.paths import PATH_MAX, FileError, parent_of
from simcluster.models.userland.place import Call, Tool
from simcluster.models.userland.tools.lines import size_of
from simcluster.models.userland.tools.modes import changed, letters_of

_COPY = {
    "recursive": "r",
    "archive": "a",
    "force": "f",
    "interactive": "i",
    "no-clobber": "n",
    "preserve": "p",
    "update": "u",
    "verbose": "v",
    "target-directory": "t",
    "no-target-directory": "T",
    "dereference": "L",
    "link": "l",
    "parents": "parents",
    "backup": "b",
}


def _missing(call: Call, what: str = "operand") -> Outcome:
    return (
        call.wrong(f"missing {what}")
        if call.gnu
        else Outcome(stderr=f"BusyBox v1.36.1 () multi-call binary.\n\nUsage: {call.name} [OPTIONS] FILE...\n", code=1)
    )


def copy(call: Call) -> Outcome:
    """cp and mv."""
    given = parse(call.args, "rRafinpuvTLHPdlsbx", "tS", _COPY)
    if given.problem:
        return call.wrong(given.problem)
    words = list(given.words)
    if "t" in given.values:
        words.append(given.values["t"])
    if len(words) < 2:
        return _missing(call, "file operand" if not words else f"destination file operand after '{words[0]}'")
    *sources, target = words
    found = call.look(target)
    into = found is not None and found.is_folder and not given.has("T")
    if len(sources) > 1 and not into:
        return call.wrong(
            f"target '{target}': No such file or directory"
            if found is None
            else f"target '{target}' is not a directory",
            hint=False,
        )
    out = []
    for source in sources:
        last = call.path(source).rpartition("/")[2]
        inner = into and not source.endswith("/.")
        end = f"{target.rstrip('/') or ''}/{last}" if inner else target
        if given.has("parents"):
            end = f"{target.rstrip('/')}/{source.strip('/')}"
            _make_above(call, end)
        entry = call.look(source, follow=call.name == "cp" and not given.has("a", "d", "P"))
        if entry is None:
            why = "No such file or directory"
            call.complain(
                f"cannot stat '{source}': {why}"
                if call.gnu
                else f"can't {'stat' if call.name == 'cp' else 'rename'} '{source}': {why}"
            )
            continue
        if entry.is_folder and call.name == "cp" and not given.has("r", "R", "a"):
            call.complain(
                f"-r not specified; omitting directory '{source}'" if call.gnu else f"omitting directory '{source}'"
            )
            continue
        there = call.look(end)
        if given.has("n") and there is not None:
            continue
        if there is not None and call.resolved(source) == call.resolved(end):
            call.complain(f"'{source}' and '{end}' are the same file")
            continue
        try:
            _transfer(
                call,
                call.path(source) if call.name == "mv" or entry.kind == "link" else call.resolved(source),
                call.path(end),
                keep=given.has("a", "p"),
            )
        except FileError as problem:
            what = f"cannot move '{source}' to '{end}'" if call.name == "mv" else f"cannot create regular file '{end}'"
            what = f"error reading '{source}'" if str(problem) == "Input/output error" else what
            call.complain(
                f"{what}: {problem}"
                if call.gnu
                else f"can't {'rename' if call.name == 'mv' else 'create'} '{end}': {problem}"
            )
            continue
        if given.has("v"):
            out.append(
                f"renamed '{source}' -> '{end}'\n" if call.name == "mv" and call.gnu else f"'{source}' -> '{end}'\n"
            )
    return call.done("".join(out))


def _make_above(call: Call, name: str) -> None:
    """The folders in which a file is to lie."""
    above = call.path(name).split("/")[:-1]
    for depth in range(2, len(above) + 1):
        if call.files.look("/".join(above[:depth])) is None:
            call.files.make_folder("/".join(above[:depth]))


def _transfer(call: Call, source: str, target: str, *, keep: bool) -> None:
    if call.name == "mv":
        call.files.move(source, target)
        return
    _copied(call, source, target, keep)


def _copied(call: Call, source: str, target: str, keep: bool) -> None:
    found = call.files.look(source)
    if found is not None and found.is_folder:
        if call.files.look(target) is None:
            call.files.copy(source, target)
            return
        for name in call.files.names(source):
            _copied(call, f"{source}/{name}", f"{target}/{name}", keep)
        return
    if found is not None and found.kind == "link":
        call.files.adorn(target, target=found.target)
        return
    end = call.files.look(target)
    if end is not None and end.kind == "link":
        target = call.resolved(target)
    call.files.copy(source, target)
    if found is not None:
        more = {"changed_ns": found.changed_ns, "owner": found.owner, "group": found.group} if keep else {}
        call.files.adorn(target, mode=found.mode, **more)


def remove(call: Call) -> Outcome:
    """rm."""
    given = parse(
        call.args,
        "rRfidvI",
        "",
        {
            "recursive": "r",
            "force": "f",
            "verbose": "v",
            "dir": "d",
            "interactive": "i",
            "no-preserve-root": "N",
            "one-file-system": "x",
            "preserve-root": "P",
        },
    )
    if given.problem:
        return call.wrong(given.problem)
    if not given.words and not given.has("f"):
        return _missing(call)
    out = []
    for name in given.words:
        path = call.path(name)
        found = call.look(name, follow=False) if name else None
        if path == "/" and given.has("r", "R") and not given.has("N"):
            call.complain("it is dangerous to operate recursively on '/'")
            call.complain("use --no-preserve-root to override this failsafe")
            continue
        if name.rstrip("/").rpartition("/")[2] in (".", "..") and given.has("r", "R"):
            call.complain(f"refusing to remove '.' or '..' directory: skipping '{name}'")
            continue
        if found is None:
            if not given.has("f"):
                why = "No such file or directory"
                call.complain(f"cannot remove '{name}': {why}" if call.gnu else f"can't remove '{name}': {why}")
            continue
        if found.is_folder and not given.has("r", "R") and not (given.has("d") and not call.files.names(path)):
            call.complain(f"cannot remove '{name}': Is a directory" if call.gnu else f"'{name}' is a directory")
            continue
        if given.has("i") and not given.has("f"):
            kind = "directory" if found.is_folder else "regular file" if found.size else "regular empty file"
            call.said.append(f"rm: remove {kind} '{name}'? " if call.gnu else f"rm: remove '{name}'? ")
            if not ((call.source.line() if call.source is not None else "") or "").lower().startswith("y"):
                continue
        try:
            call.files.remove(path)
        except FileError as problem:
            call.complain(f"cannot remove '{name}': {problem}" if call.gnu else f"can't remove '{name}': {problem}")
            continue
        if given.has("v"):
            out.append(f"removed {'directory ' if found.is_folder else ''}'{name}'\n")
    return call.done("".join(out))


def rmdir(call: Call) -> Outcome:
    """Remove empty folders."""
    given = parse(call.args, "pv", "", {"parents": "p", "ignore-fail-on-non-empty": "i"})
    for name in given.words:
        found = call.look(name, follow=False)
        why = "No such file or directory" if found is None else "Not a directory" if not found.is_folder else ""
        if not why and call.files.names(call.path(name)):
            why = "Directory not empty"
        if why:
            call.complain(f"failed to remove '{name}': {why}" if call.gnu else f"'{name}': {why}")
        else:
            _attempt(call, f"failed to remove '{name}'", partial(call.files.remove, call.path(name)))
    return call.done() if given.words else _missing(call)


def _attempt(call: Call, what: str, act: Callable[[], None]) -> None:
    try:
        act()
    except FileError as problem:
        call.complain(f"{what}: {problem}")


def mkdir(call: Call) -> Outcome:
    """Make folders."""
    given = parse(call.args, "pv", "m", {"parents": "p", "mode": "m", "verbose": "v"})
    if given.problem:
        return call.wrong(given.problem)
    if not given.words:
        return _missing(call)
    out = []
    for name in given.words:
        path = call.path(name)
        opened = f"cannot create directory ‘{name}’" if call.gnu else f"can't create directory '{name}'"
        if len(path) > PATH_MAX:
            call.complain(f"{opened}: File name too long")
            continue
        todo = [path]
        while given.has("p") and call.look(parent_of(todo[-1])) is None and todo[-1] != "/":
            todo.append(parent_of(todo[-1]))
        found = call.look(path)
        if found is not None:
            if not (given.has("p") and found.is_folder):
                call.complain(f"{opened}: File exists")
            continue
        try:
            for each in reversed(todo):
                call.files.make_folder(each)
                if given.has("v"):
                    said = f"mkdir: created directory '{name}'" if call.gnu else f"created directory: '{name}'"
                    out.append(said + "\n")
            if "m" in given.values:
                mode = changed(0o777, given.values["m"], folder=True)
                call.files.adorn(path, mode=0o755 if mode is None else mode)
        except FileError as problem:
            call.complain(f"{opened}: {problem}")
    return call.done("".join(out))


def touch(call: Call) -> Outcome:
    """Make files, or give them a time."""
    given = parse(call.args, "cahm", "drt", {"no-create": "c", "date": "d", "reference": "r"})
    if given.problem:
        return call.wrong(given.problem)
    if not given.words:
        return _missing(call, "file operand")
    at_ns = call.now_ns
    if "d" in given.values:
        found_at = read_date(given.values["d"], call.now_ns)
        if not call.gnu and re.search(r"[A-Za-z+]", given.values["d"].replace("T", "")):
            return call.wrong(f"invalid date '{given.values['d']}'")
        if found_at is None:
            return call.wrong(f"invalid date format ‘{given.values['d']}’", hint=False)
        start = read_date("now", 0)
        at_ns = (found_at[0] - (start[0] if start else 0)) * 1_000_000_000 + found_at[1]
    elif "t" in given.values:
        stamp = re.fullmatch(r"((?:\d\d)?\d\d)?(\d\d)(\d\d)(\d\d)(\d\d)(?:\.(\d\d))?", given.values["t"])
        if stamp is None:
            return call.wrong(f"invalid date format ‘{given.values['t']}’", hint=False)
        year = stamp[1] or formatted("%Y", call.now_ns)
        year = year if len(year) == 4 else f"{'19' if year >= '69' else '20'}{year}"
        text = f"{year}-{stamp[2]}-{stamp[3]} {stamp[4]}:{stamp[5]}:{stamp[6] or '00'}"
        found_at, start = read_date(text, call.now_ns), read_date("now", 0)
        if found_at is None:
            return call.wrong(f"invalid date format ‘{given.values['t']}’", hint=False)
        at_ns = (found_at[0] - (start[0] if start else 0)) * 1_000_000_000
    elif "r" in given.values:
        found = call.look(given.values["r"])
        at_ns = found.changed_ns if found is not None else at_ns
    for name in given.words:
        path = call.resolved(name)
        if call.files.look(path) is None:
            if given.has("c"):
                continue
            try:
                call.files.write(path, "")
                if call.umask != 0o022:
                    call.files.adorn(path, mode=0o666 & ~call.umask)
            except FileError as problem:
                call.complain(f"cannot touch '{name}': {problem}" if call.gnu else f"{name}: {problem}")
                continue
        call.files.adorn(path, changed_ns=at_ns)
    return call.done()


def link(call: Call) -> Outcome:
    """ln."""
    given = parse(
        call.args,
        "sfnvTrLPib",
        "tS",
        {"symbolic": "s", "force": "f", "no-dereference": "n", "verbose": "v", "relative": "r"},
    )
    if given.problem:
        return call.wrong(given.problem)
    if not given.words:
        return _missing(call, "file operand")
    source, target = given.words[0], given.words[1] if len(given.words) > 1 else given.words[0].rpartition("/")[2]
    found = call.look(target, follow=not given.has("n"))
    if found is not None and found.is_folder and not given.has("T"):
        target = f"{target.rstrip('/')}/{source.rstrip('/').rpartition('/')[2]}"
        found = call.look(target, follow=False)
    path = call.path(target)
    kind = "symbolic" if given.has("s") else "hard"
    if call.look(target, follow=False) is not None:
        if not given.has("f"):
            call.complain(
                f"failed to create {kind} link '{target}': File exists" if call.gnu else f"{target}: File exists"
            )
            return call.done()
        _attempt(call, f"cannot remove '{target}'", lambda: call.files.remove(path))
    if given.has("s"):
        _attempt(call, f"failed to create symbolic link '{target}'", lambda: call.files.adorn(path, target=source))
    elif call.look(source) is None:
        call.complain(
            f"failed to access '{source}': No such file or directory"
            if call.gnu
            else f"{target}: No such file or directory"
        )
    else:
        _attempt(call, f"failed to create hard link '{target}'", lambda: call.files.copy(call.resolved(source), path))
    return call.done()


def chmod(call: Call) -> Outcome:
    """Permission bits."""
    words = [
        word for word in call.args if not re.fullmatch(r"-[Rvcf]+|--(recursive|verbose|quiet|silent|changes)", word)
    ]
    letters = "".join(word[1:] for word in call.args if re.fullmatch(r"-[Rvcf]+", word)) + "R" * (
        "--recursive" in call.args
    )
    if len(words) < 2:
        return _missing(call) if not words else call.wrong(f"missing operand after ‘{words[0]}’")
    mode, names = words[0], words[1:]
    if changed(0, mode, folder=False) is None:
        return call.wrong(f"invalid mode: ‘{mode}’" if call.gnu else f"invalid mode '{mode}'")
    out: list[str] = []
    for name in names:
        _each(
            call,
            name,
            "R" in letters,
            lambda path, found, shown: _mode(call, path, mode, out if "v" in letters else []),
        )
    return call.done("".join(out))


def _mode(call: Call, path: str, mode: str, out: list[str]) -> None:
    found = call.files.look(path)
    if found is None:
        return
    bits = changed(found.mode, mode, folder=found.is_folder) or 0
    call.files.adorn(path, mode=bits)
    out.append(f"mode of '{path}' changed from {found.mode:04o} ({letters_of(found)[1:]}) to {bits:04o}\n")


def _each(call: Call, name: str, recursive: bool, act: Callable[[str, bool, str], None]) -> None:
    found = call.look(name)
    if found is None:
        call.complain(
            f"cannot access '{name}': No such file or directory" if call.gnu else f"{name}: No such file or directory"
        )
        return
    todo = [call.resolved(name)]
    while todo:
        path = todo.pop()
        try:
            act(path, found.is_folder, name)
            below = call.files.look(path)
            if recursive and below is not None and below.is_folder:
                todo += [f"{path.rstrip('/')}/{each}" for each in call.files.names(path)]
        except FileError as problem:
            call.complain(
                f"changing permissions of '{name}': {problem}"
                if call.name == "chmod"
                else f"changing ownership of '{name}': {problem}"
            )
            return


def chown(call: Call) -> Outcome:
    """Owners and groups."""
    given = parse(call.args, "Rvhcf", "", {"recursive": "R", "verbose": "v", "no-dereference": "h", "reference": "r"})
    if len(given.words) < 2:
        return _missing(call)
    owner, _, group = given.words[0].partition(":") if call.name == "chown" else ("", "", given.words[0])
    numbers = {"0": "root", "1000": "ubuntu", "65534": "nobody"}
    owner, group = numbers.get(owner, owner), numbers.get(group, group)
    known = (
        "root",
        "daemon",
        "nobody",
        "ubuntu",
        "www-data",
        "nogroup",
        "adm",
        "syslog",
        "systemd-network",
        "sys",
        "bin",
    )
    for what, value in (("user", owner), ("group", group)):
        if value and not value.isdigit() and value not in known:
            return Outcome(
                stderr=f"{call.name}: invalid {what}: ‘{given.words[0]}’\n"
                if call.gnu
                else f"{call.name}: unknown {what} {value}\n",
                code=1,
            )
    said = {name: value for name, value in (("owner", owner), ("group", group)) if value}
    for name in given.words[1:]:
        _each(call, name, given.has("R"), lambda path, found, shown: call.files.adorn(path, **said))
    return call.done()


def truncate(call: Call) -> Outcome:
    """Give a file a size."""
    given = parse(call.args, "co", "sr", {"size": "s", "no-create": "c"})
    text = given.values.get("s", "")
    size = size_of(text.lstrip("+-<>/%"))
    if size is None or not given.words:
        return call.wrong(
            "you must specify either ‘--size’ or ‘--reference’" if not text else f"Invalid number: ‘{text}’",
            hint=not text,
        )
    for name in given.words:
        path = call.resolved(name)
        try:
            held = call.files.read(path) if call.files.look(path) is not None else ""
            wanted = {"+": len(held) + size, "-": max(0, len(held) - size)}.get(text[:1], size)
            if wanted > 4_000_000:
                own = call.place.program(call)
                return (
                    own
                    if own is not None
                    else call.wrong(
                        f"failed to truncate '{name}' at {wanted} bytes: No space left on device", hint=False
                    )
                )
            call.files.write(path, held[:wanted].ljust(wanted, "\0"))
        except FileError as problem:
            call.complain(f"cannot open '{name}' for writing: {problem}")
    return call.done()


def mktemp(call: Call) -> Outcome:
    """A file or folder of a fresh name."""
    given = parse(call.args, "dqtu", "p", {"directory": "d", "tmpdir": "p", "dry-run": "u", "quiet": "q"})
    template = given.words[0] if given.words else "tmp.XXXXXXXXXX"
    match = re.search(r"X{3,}(?=[^X]*$)", template)
    if match is None:
        return call.wrong(f"too few X's in template ‘{template}’", hint=False)
    alphabet, drawn = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", call.place.draw()
    letters = ""
    for _ in match[0]:
        drawn, at = divmod(drawn * 6364136223846793005 % (1 << 64) + 1, len(alphabet))
        letters += alphabet[at]
    name = template[: match.start()] + letters[: len(match[0])] + template[match.end() :]
    if not given.words or given.has("t") or "p" in given.values:
        name = f"{given.values.get('p') or call.env.get('TMPDIR') or '/tmp'}/{name}"
    path = call.path(name)
    try:
        if given.has("d"):
            call.files.make_folder(path)
            call.files.adorn(path, mode=0o700)
        elif not given.has("u"):
            call.files.write(path, "")
            call.files.adorn(path, mode=0o600)
    except FileError as problem:
        return call.wrong(f"failed to create file via template ‘{template}’: {problem}", hint=False)
    return Outcome(name + "\n")


def install(call: Call) -> Outcome:
    """Copy with a mode, or make folders."""
    given = parse(call.args, "dDvpCs", "mogt", {"directory": "d", "mode": "m", "owner": "o", "group": "g"})
    if given.has("d"):
        return mkdir(Call(call.place, ["mkdir", "-p", *given.words], call.env, cwd=call.cwd, now_ns=call.now_ns))
    if given.has("D") and len(given.words) == 2:
        folder = given.words[1].rpartition("/")[0] or "."
        mkdir(Call(call.place, ["mkdir", "-p", folder], call.env, cwd=call.cwd, now_ns=call.now_ns))
    outcome = copy(Call(call.place, ["cp", *given.words], call.env, cwd=call.cwd, now_ns=call.now_ns))
    if not outcome.code and len(given.words) == 2:
        mode = changed(0, given.values.get("m", "755"), folder=False)
        target = call.resolved(given.words[1])
        found = call.files.look(target)
        if found is not None and found.is_folder:
            target = f"{target}/{given.words[0].rpartition('/')[2]}"
        call.files.adorn(target, mode=mode or 0o755)
    return outcome


TOOLS: dict[str, Tool] = {
    "chgrp": chown,
    "chmod": chmod,
    "chown": chown,
    "cp": copy,
    "install": install,
    "ln": link,
    "mkdir": mkdir,
    "mktemp": mktemp,
    "mv": copy,
    "rm": remove,
    "rmdir": rmdir,
    "touch": touch,
    "truncate": truncate,
    "unlink": remove,
}
