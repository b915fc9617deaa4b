"""Programs that look at files: ls, stat, du, file, readlink, realpath."""

from __future__ import annotations

from simcluster.models.userland.datetimes import formatted
from simcluster.models.userland.options import Options, parse
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.paths import FileError, Stat
from simcluster.models.userland.patterns import matches
from simcluster.models.userland.place import Call, Tool
from simcluster.models.userland.tools.lines import human
from simcluster.models.userland.tools.modes import letters_of

_LONG = {
    "all": "a",
    "almost-all": "A",
    "directory": "d",
    "human-readable": "h",
    "recursive": "R",
    "reverse": "r",
    "size": "s",
    "inode": "i",
    "classify": "F",
    "numeric-uid-gid": "n",
    "sort": "sort",
    "color": "color",
    "time-style": "time-style",
    "full-time": "e",
    "no-group": "G",
    "group-directories-first": "K",
    "time": "time",
    "format": "format",
    "hide": "hide",
    "ignore": "I",
    "quote-name": "Q",
    "width": "w",
}
#: Half a year, after which ls shows the year instead of the time.
_RECENT_NS = 31_556_952 // 2 * 1_000_000_000


def ls(call: Call) -> Outcome:
    """List folders."""
    args = [
        word if word not in ("--color", "--full-time") else {"--color": "--color=auto"}.get(word, "-le")
        for word in call.args
    ]
    given = parse(args, "1aAlhdrtRSiFsngopCxXUkLHemcuGQNqbBvfZK", "IwT sort color time-style time format hide", _LONG)
    if given.problem:
        return call.wrong(given.problem, 2 if call.gnu else 1)
    lister = _Lister(call, given)
    for name in given.words or ["."]:
        lister.take(name)
    return lister.outcome()


class _Lister:
    def __init__(self, call: Call, given: Options) -> None:
        self.call = call
        self.given = given
        self.long = given.has("l", "n", "g", "o", "e")
        self.wide = 1
        self.single: list[tuple[str, Stat]] = []
        self.folders: list[str] = []

    def take(self, name: str) -> None:
        """One operand."""
        found = self.call.look(name, follow=not self.long or name.endswith("/")) if name else None
        found = found or (self.call.look(name, follow=False) if name else None)  # a link that leads nowhere
        if found is None:
            why = "No such file or directory"
            self.call.complain(f"cannot access '{name}': {why}" if self.call.gnu else f"{name}: {why}")
        elif found.is_folder and not self.given.has("d"):
            self.folders.append(name)
        else:
            self.single.append((name, found))

    def outcome(self) -> Outcome:
        """All that was asked for: single files first, then folders."""
        blocks = []
        if self.single:
            blocks.append(self._rows(self._sorted(self.single)))
        many = len(self.given.words) > 1 or self.given.has("R")
        for name in sorted(self.folders):
            self._folder(name, blocks, many)
        failed = 2 if self.call.gnu else 1
        return self.call.done("\n".join(blocks), failed=failed)

    def _folder(self, name: str, blocks: list[str], headed: bool) -> None:
        path = self.call.resolved(name)
        try:
            names = self.call.files.names(path)
        except FileError as problem:
            self.call.complain(
                f"cannot open directory '{name}': {problem}" if self.call.gnu else f"can't open '{name}': {problem}"
            )
            return
        entries: list[tuple[str, Stat]] = []
        if self.given.has("a", "f"):
            here = self.call.files.look(path) or Stat("folder")
            above = self.call.files.look(path.rpartition("/")[0] or "/") or here
            entries += [(".", here), ("..", above)]
        for each in names:
            if each.startswith(".") and not self.given.has("a", "A", "f"):
                continue
            if self._left_out(each):
                continue
            found = self.call.files.look(f"{path.rstrip('/')}/{each}")
            if found is not None:
                entries.append((each, found))
        entries = self._sorted(entries)
        total = sum(_blocks(stat) for _, stat in entries)  # integers
        shown = human(total * 1024) if self.given.has("h") else str(total)
        text = (f"{name}:\n" if headed else "") + (f"total {shown}\n" if self.long or self.given.has("s") else "")
        blocks.append(text + self._rows(entries))
        if self.given.has("R"):
            for each, stat in entries:
                if stat.is_folder and each not in (".", ".."):
                    self._folder(f"{name.rstrip('/')}/{each}", blocks, True)

    def _left_out(self, name: str) -> bool:
        hidden = self.given.values.get("hide", "") if not self.given.has("a", "A", "f") else ""
        return any(pattern and matches(pattern, name) for pattern in (self.given.values.get("I", ""), hidden)) or (
            self.given.has("B") and name.endswith("~"))  # fmt: skip

    def _named(self, name: str) -> str:
        if self.given.has("Q"):
            return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
        return name

    def _sorted(self, entries: list[tuple[str, Stat]]) -> list[tuple[str, Stat]]:
        if self.given.has("U", "f"):
            return entries
        entries = sorted(entries, key=lambda entry: entry[0])
        if self.given.has("S") or self.given.values.get("sort") == "size":
            entries.sort(key=lambda entry: -entry[1].size)
        elif self.given.has("t") or self.given.values.get("sort") == "time":
            entries.sort(key=lambda entry: -entry[1].changed_ns)
        elif self.given.has("X"):
            entries.sort(key=lambda entry: entry[0].rpartition(".")[2] if "." in entry[0] else "")
        if self.given.has("K"):
            entries.sort(key=lambda entry: not entry[1].is_folder)
        return entries[::-1] if self.given.has("r") else entries

    def _rows(self, entries: list[tuple[str, Stat]]) -> str:
        blocks = [len(str(_blocks(stat))) for _, stat in entries]
        self.wide = max(blocks, default=1) if self.call.gnu else 6
        if not self.long:
            between = ", " if self.given.has("m") else "\n"
            rows = [self._lead(stat) + self._named(name) + self._sign(stat) for name, stat in entries]
            return between.join(rows) + ("\n" if rows else "")
        numeric = self.given.has("n")
        owners = [("0" if stat.owner == "root" else stat.owner) if numeric else stat.owner for _, stat in entries]
        groups = [("0" if stat.group == "root" else stat.group) if numeric else stat.group for _, stat in entries]
        sizes = [self._size(stat) for _, stat in entries]
        links = [str(stat.links) for _, stat in entries]
        wide = [max(map(len, column), default=0) for column in (links, owners, groups, sizes)]
        if not self.call.gnu:
            wide = [max(wide[0], 4), 8, 8, 9]
        out = []
        for at, (name, stat) in enumerate(entries):
            target = f" -> {stat.target}" if stat.kind == "link" else ""
            row = f"{self._lead(stat)}{letters_of(stat)} {links[at]:>{wide[0]}} "
            row += "" if self.given.has("g") else f"{owners[at]:<{wide[1]}} "
            row += "" if self.given.has("o", "G") else f"{groups[at]:<{wide[2]}} "
            out.append(
                f"{row}{sizes[at]:>{wide[3]}} {self._time(stat)} {self._named(name)}{target or self._sign(stat)}\n"
            )
        return "".join(out)

    def _lead(self, stat: Stat) -> str:
        lead = f"{stat.inode:7d} " if self.given.has("i") else ""
        return lead + (f"{_blocks(stat):>{self.wide}} " if self.given.has("s") else "")

    def _sign(self, stat: Stat) -> str:
        if self.given.has("F", "p"):
            if stat.is_folder:
                return "/"
            if self.given.has("F"):
                return "@" if stat.kind == "link" else "*" if stat.kind == "file" and stat.mode & 0o111 else ""
        return ""

    def _size(self, stat: Stat) -> str:
        if stat.kind in ("block", "char"):
            return f"{stat.device[0]}, {stat.device[1]:3d}"
        return human(stat.size) if self.given.has("h") else str(stat.size)

    def _time(self, stat: Stat) -> str:
        style = self.given.values.get("time-style", "")
        if self.given.has("e") or style == "full-iso":
            return formatted("%F %T.%N +0000" if self.call.gnu else "%a %b %e %T %Y", stat.changed_ns)
        if style.startswith("+"):
            return formatted(style[1:], stat.changed_ns)
        if style == "long-iso":
            return formatted("%F %R", stat.changed_ns)
        age_ns = self.call.now_ns - stat.changed_ns
        return formatted("%b %e %H:%M" if -3600 * 10**9 < age_ns < _RECENT_NS else "%b %e  %Y", stat.changed_ns)


def _blocks(stat: Stat) -> int:
    """Kibibytes on disk."""
    return 4 if stat.is_folder else -(-stat.size // 4096) * 4 if stat.kind == "file" else 0


_KINDS = {
    "folder": "directory",
    "link": "symbolic link",
    "block": "block special file",
    "char": "character special file",
}


def stat(call: Call) -> Outcome:
    """What is known of files."""
    given = parse(
        call.args,
        "Lftl",
        "c printf",
        {"format": "c", "printf": "printf", "dereference": "L", "file-system": "f", "terse": "t"},
    )
    if given.problem:
        return call.wrong(given.problem)
    if not given.words:
        return call.wrong("missing operand")
    form = given.values.get("c", given.values.get("printf"))
    out = []
    for name in given.words:
        found = call.look(name, follow=given.has("L"))
        if found is None:
            why = "No such file or directory"
            call.complain(f"cannot statx '{name}': {why}" if call.gnu else f"can't stat '{name}': {why}")
        elif form is not None:
            text = _described(form, name, found)
            out.append(text.replace("\\n", "\n").replace("\\t", "\t") if "printf" in given.values else text + "\n")
        else:
            out.append(_status(name, found))
    return call.done("".join(out))


def _kind(found: Stat) -> str:
    return _KINDS.get(found.kind) or ("regular file" if found.size else "regular empty file")


def _status(name: str, found: Stat) -> str:
    device = f"     Device type: {found.device[0]},{found.device[1]}" if found.kind in ("block", "char") else ""
    when = [formatted("%F %T.%N +0000", found.changed_ns)] * 3
    target = f" -> {found.target}" if found.kind == "link" else ""
    uid = 0 if found.owner == "root" else 1000
    return (
        f"  File: {name}{target}\n"
        f"  Size: {found.size:<10}\tBlocks: {_blocks(found) * 2:<10} IO Block: 4096   {_kind(found)}\n"
        f"Device: 8,1\tInode: {found.inode:<11} Links: {found.links}{device}\n"
        f"Access: ({found.mode:04o}/{letters_of(found)})  Uid: ({uid:5d}/{found.owner:>8})   "
        f"Gid: ({uid:5d}/{found.group:>8})\n"
        f"Access: {when[0]}\nModify: {when[1]}\nChange: {when[2]}\n Birth: {when[2]}\n"
    )


def _described(form: str, name: str, found: Stat) -> str:
    seconds = formatted("%s", found.changed_ns)
    values = {
        "n": name,
        "N": f"'{name}'" + (f" -> '{found.target}'" if found.kind == "link" else ""),
        "s": str(found.size),
        "a": f"{found.mode:o}",
        "A": letters_of(found),
        "U": found.owner,
        "G": found.group,
        "F": _kind(found),
        "u": "0" if found.owner == "root" else "1000",
        "g": "0" if found.group == "root" else "1000",
        "h": str(found.links),
        "i": str(found.inode),
        "Y": seconds,
        "X": seconds,
        "Z": seconds,
        "W": seconds,
        "b": str(_blocks(found) * 2),
        "B": "512",
        "o": "4096",
        "y": formatted("%F %T.%N +0000", found.changed_ns),
        "d": "2049",
        "f": "81a4",
        "%": "%",
        "x": formatted("%F %T.%N +0000", found.changed_ns),
        "z": formatted("%F %T.%N +0000", found.changed_ns),
        "m": "/",
        "t": "0",
        "T": "0",
    }
    out, at = "", 0
    while at < len(form):
        if form[at] == "%" and at + 1 < len(form):
            at += 1
            out += values.get(form[at], "?")
        else:
            out += form[at]
        at += 1
    return out


def du(call: Call) -> Outcome:
    """What folders use."""
    given = parse(
        call.args,
        "shackmxbLHSl0A",
        "dtB max-depth exclude threshold block-size",
        {
            "summarize": "s",
            "human-readable": "h",
            "all": "a",
            "total": "c",
            "max-depth": "d",
            "bytes": "b",
            "apparent-size": "A",
            "one-file-system": "x",
            "exclude": "exclude",
            "block-size": "B",
            "threshold": "t",
        },
    )
    if given.problem or (given.has("A") and not call.gnu):
        return call.wrong(given.problem or "unrecognized option '--apparent-size'")
    depth = given.values.get("d", "0" if given.has("s") else "99")
    if not depth.isdigit():
        return call.wrong(f"invalid maximum depth ‘{depth}’")
    walker = _Usage(call, given, int(depth[:3]))
    total = 0
    for name in given.words or ["."]:
        found = call.look(name, follow=False)
        if found is None:
            why = "No such file or directory"
            call.complain(f"cannot access '{name}': {why}" if call.gnu else f"{name}: {why}")
            continue
        total += walker.add(name, found, 0)
    if given.has("c"):
        walker.out.append(f"{walker.shown(total)}\ttotal\n")
    return call.done("".join(walker.out))


#: File systems whose files take nothing.
_PSEUDO = ("/proc", "/sys", "/dev")


class _Usage:
    def __init__(self, call: Call, given: Options, depth: int) -> None:
        self.call, self.given, self.depth = call, given, depth
        self.out: list[str] = []
        held: dict[str, int] = getattr(call.files, "beyond", dict)()
        self.beyond = held

    def shown(self, size: int) -> str:
        """A size in bytes as the options want it."""
        if self.given.has("h"):
            return human(size)
        if self.given.has("b"):
            return str(size)
        return str(-(-size // (1 << 20)) if self.given.has("m") else -(-size // 1024))

    def _counts(self, path: str, at: str) -> bool:
        """Whether what lies unlisted in a folder is to be added at another: there, or above where no list leads."""
        if at == path:
            return True
        head = path.rstrip("/") + "/"
        if not at.startswith(head):
            return False
        return self.call.files.look(head + at[len(head) :].partition("/")[0]) is None

    def add(self, name: str, found: Stat, level: int) -> int:
        """The bytes of one operand and all below it."""
        size = found.size if self.given.has("b", "A") else _blocks(found) * 1024
        path = self.call.path(name)
        if path.startswith(_PSEUDO):
            size = 0
        elif found.is_folder:
            inside = (bytes_ for at, bytes_ in self.beyond.items() if self._counts(path, at))
            size += sum(inside)  # integers
            for inner in self.call.files.names(path):
                below = self.call.files.look(f"{path.rstrip('/')}/{inner}")
                if below is not None and level < 40:
                    size += self.add(f"{name.rstrip('/')}/{inner}", below, level + 1)
        if level <= self.depth and (found.is_folder or self.given.has("a") or level == 0):
            self.out.append(f"{self.shown(size)}\t{name}\n")
        return size


def file(call: Call) -> Outcome:
    """What kind of file it is."""
    given = parse(call.args, "biLks", "", {"brief": "b", "mime-type": "i", "mime": "i"})
    out = []
    for name in given.words:
        found = call.look(name, follow=given.has("L"))
        head = "" if given.has("b") else f"{name}: "
        if found is None:
            out.append(f"{head}cannot open `{name}' (No such file or directory)\n")
            continue
        out.append(head + _content(call, name, found) + "\n")
    return call.done("".join(out)) if given.words else call.wrong("missing operand")


def _content(call: Call, name: str, found: Stat) -> str:
    if found.kind != "file":
        return f"symbolic link to {found.target}" if found.kind == "link" else f"{_kind(found)}"
    try:
        text = call.read(name)
    except FileError as problem:
        return f"regular file, no read permission ({problem})"
    if not text:
        return "empty"
    if text.startswith("\x7fELF"):
        return "ELF 64-bit LSB pie executable, x86-64, version 1 (SYSV), dynamically linked"
    if text.startswith("-----BEGIN CERTIFICATE"):
        return "PEM certificate"
    if text.startswith("#!"):
        shell = text[2:].split("\n")[0].strip().rpartition("/")[2]
        return f"{'Bourne-Again' if shell == 'bash' else 'POSIX'} shell script, ASCII text executable"
    if text.lstrip()[:1] in "{[" and text.rstrip()[-1:] in "}]":
        return "JSON text data"
    if any("\udc80" <= char <= "\udcff" or char == "\0" for char in text[:4096]):
        return "data"
    return ("ASCII" if text.isascii() else "Unicode text, UTF-8") + " text"


def readlink(call: Call) -> Outcome:
    """Where a link leads."""
    long = {"canonicalize": "f", "no-newline": "n", "canonicalize-existing": "e", "canonicalize-missing": "m"}
    if call.gnu and call.name == "realpath":
        long |= {"relative-to": "relative-to", "relative-base": "relative-to", "no-symlinks": "s", "strip": "s"}
    given = parse(call.args, "fnemvqsz", " relative-to", long)
    if given.problem:
        return call.wrong(given.problem)
    if not given.words:
        return call.wrong("missing operand")
    out, failed = [], False
    for name in given.words:
        found = call.look(name, follow=False)
        if call.name == "realpath" or given.has("f", "e", "m"):
            path = call.resolved(name)
            parent = call.files.look(path.rpartition("/")[0] or "/")
            if (call.look(name) is None and (given.has("e") or not call.gnu)) or (
                parent is None and not given.has("m")
            ):
                failed = True
                if call.name == "realpath" and not given.has("q"):
                    call.complain(f"{name}: No such file or directory")
                continue
            base = given.values.get("relative-to")
            out.append(path if base is None else _relative(path, call.resolved(base)))
        elif found is not None and found.kind == "link":
            out.append(found.target)
        else:
            failed = True
    end = "" if given.has("n") and len(given.words) == 1 else "\n"
    return Outcome("".join(line + end for line in out), "".join(call.said), int(failed))


def _relative(path: str, base: str) -> str:
    """A path as it is seen from a folder."""
    there, here = ([part for part in each.split("/") if part] for each in (path, base))
    same = next((at for at, (a, b) in enumerate(zip(there, here, strict=False)) if a != b), min(len(there), len(here)))
    return "/".join([".."] * (len(here) - same) + there[same:]) or "."


TOOLS: dict[str, Tool] = {"du": du, "file": file, "ls": ls, "readlink": readlink, "realpath": readlink, "stat": stat}
