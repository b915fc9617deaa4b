"""How a shell is started: `sh -c TEXT`, `sh FILE`, and files that are scripts."""

from __future__ import annotations

from simcluster.models.userland.outcome import NOT_FOUND, Outcome
from simcluster.models.userland.paths import FileError
from simcluster.models.userland.place import Call

_LONG = {"--norc": "", "--noprofile": "", "--login": "", "--posix": "", "--restricted": ""}
_SHELLS = ("sh", "bash", "ash", "dash", "env")


def shell_arguments(call: Call) -> tuple[str, str, list[str]] | Outcome:
    """Script text, `$0` and parameters of `sh [-eux] -c TEXT [NAME ARG...]` or `sh FILE ARG...`; or what it says."""
    words, prelude = list(call.argv[1:]), ""
    given = piped = False
    while words and words[0][:1] in ("-", "+") and len(words[0]) > 1:
        word = words.pop(0)
        if word == "--":
            break
        if word in ("--version", "--help"):
            shown = "GNU bash, version 5.2.21(1)-release (x86_64-pc-linux-gnu)\n" if call.gnu else "BusyBox v1.36.1\n"
            return Outcome(shown)
        if word in _LONG:
            continue
        if word.startswith("--"):
            return Outcome(stderr=f"{call.argv[0]}: {word}: invalid option\n", code=2)
        if word[1:].endswith("o") and words:
            prelude += f"set {word[0]}o {words.pop(0)}; "
            word = word[:-1]
        given, piped = given or "c" in word[1:], piped or "s" in word[1:]
        prelude += "".join(f"set {word[0]}{letter}; " for letter in word[1:] if letter in "eufxnav")
    if given:
        if not words:
            said = f"{call.argv[0]}: -c: option requires an argument\n"
            return Outcome(stderr=said, code=2)
        return prelude + words[0], (words[1] if len(words) > 1 else call.argv[0]), words[2:]
    if piped or not words:
        return prelude + call.stdin(), call.argv[0], words
    try:
        return prelude + call.read(words[0]), words[0], words[1:]
    except FileError as problem:
        name = call.argv[0]
        if call.place.face.shell == "ash":
            return Outcome(stderr=f"{name}: can't open '{words[0]}': {problem}\n", code=2)
        if name.rpartition("/")[2] in ("sh", "dash"):
            return Outcome(stderr=f"{name}: 0: cannot open {words[0]}: No such file\n", code=2)
        return Outcome(stderr=f"{name}: {words[0]}: {problem}\n", code=NOT_FOUND)


def shebang(call: Call) -> str | None:
    """The text of a script that a path names; None if it is none."""
    path = call.resolved(call.argv[0])
    found = call.files.look(path)
    if found is None or found.kind != "file" or not found.mode & 0o111 or found.size > 1_000_000:
        return None
    try:
        text = call.files.read(path)
    except FileError:
        return None
    first = text.partition("\n")[0]
    if first.startswith("#!"):
        interpreter = [word.rpartition("/")[2] for word in first[2:].split()]
        return text if interpreter and interpreter[0] in _SHELLS and interpreter[-1] in (*_SHELLS, "-e", "-x") else None
    return text if text and "\0" not in text and not text.startswith("\x7fELF") else None
