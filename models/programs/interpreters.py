"""Interpreters of public images: what a call of Python, Node, Perl or Ruby does, as a script of the shell."""

from __future__ import annotations

import re
import shlex

from simcluster.models.machine.container import Container
from simcluster.models.machine.imagefacts import facts_of
from simcluster.models.machine.imagetools import execute
from simcluster.models.machine.shell.files import FileError, normalize
from simcluster.models.machine.shell.tree import FileTree
from simcluster.models.programs import python
from simcluster.models.userland.outcome import Outcome

PYTHON = ("python", "python3")
#: Interpreters whose one-liners are understood as far as they only print and end.
INTERPRETERS = (*PYTHON, "node", "perl", "ruby")
_PRINTS = re.compile(r"""(?:console\.log|print|puts|say)\s*\(?\s*(['"`])((?:(?!\1)[^$\\#@]|\\n)*)\1\s*\)?\s*;?\s*""")
_EXITS = re.compile(r"(?:process\.exit|exit)\s*\(?\s*(\d{0,3})\s*\)?\s*;?\s*")


def executed(container: Container, argv: tuple[str, ...], stdin: str) -> Outcome | None:
    """A call of an interpreter inside of a running container; None if it is none, or the image has none."""
    words = [word for word in argv[1:] if "=" not in word] if argv[:1] == ("env",) else list(argv)
    facts = facts_of(container.spec.image)
    name = words[0].rpartition("/")[2] if words else ""
    if facts is None or name not in INTERPRETERS or name not in facts.programs:
        return None
    script = shell_of(container, tuple(words), container.spec.workdir or facts.workdir, stdin)
    return execute.run(container, ("sh", "-c", script))


def source_of(container: Container, argv: tuple[str, ...], workdir: str) -> str | None:
    """The script that an interpreter is told to run; None if there is none."""
    words = [word for word in argv[1:] if word not in ("-u", "-B", "-O", "-E", "-s", "-I")]
    if words[:1] == ["-c"]:
        return words[1] if len(words) > 1 else ""
    if not words or words[0].startswith("-"):
        return None
    try:
        return FileTree(container).read(normalize(words[0], workdir))
    except FileError:
        return None


def shell_of(container: Container, argv: tuple[str, ...], workdir: str = "/", stdin: str = "") -> str:
    """A script of the shell that does what a call of an interpreter does, or says what is wrong with it."""
    name = argv[0].rpartition("/")[2]
    if name not in PYTHON:
        return _one_liner(name, argv)
    words = [word for word in argv[1:] if word not in ("-u", "-B", "-O", "-E", "-s", "-I")]
    if not words and stdin:
        return python.to_shell(stdin, "<stdin>")
    if not words:
        return "exit 0"  # its standard input is empty
    if words[0] in ("-V", "--version"):
        return f"echo Python {_version(container)}"
    if words[0] == "-c":
        return (
            python.to_shell(words[1], "<string>") if len(words) > 1 else _said("Argument expected for the -c option", 2)
        )
    if words[0] == "-m":
        module = words[1] if len(words) > 1 else ""
        if module.partition(".")[0] in python.MODULES or module in ("pip", "venv", "unittest"):
            return _said(f"{name}: the module {module} cannot be run here", 1)
        return _said(f"/usr/local/bin/{name}: No module named {module}", 1)
    text = source_of(container, argv, workdir)
    path = normalize(words[0], workdir)
    if text is None:
        return _said(f"{name}: can't open file '{path}': [Errno 2] No such file or directory", 2)
    return python.to_shell(text, path)


def _version(container: Container) -> str:
    tag = container.spec.image.partition("@")[0].rpartition(":")[2].partition("-")[0]
    return (
        tag
        if tag.count(".") == 2
        else f"{tag}.8"
        if tag.count(".") == 1 and tag.replace(".", "").isdigit()
        else "3.12.8"
    )


def _said(text: str, code: int) -> str:
    return f"printf '%s\\n' {shlex.quote(text)} >&2\nexit {code}"


def _one_liner(name: str, argv: tuple[str, ...]) -> str:
    """A script of Node, Perl or Ruby that prints texts and ends."""
    if len(argv) == 1:
        return "exit 0"
    if argv[1] in ("-v", "--version"):
        return f"echo {'v20.18.1' if name == 'node' else name}"
    if argv[1] not in ("-e", "--eval", "-E"):
        if argv[1].startswith("-"):
            return _said(f"{name}: bad option: {argv[1]}", 9)
        missing = {
            "node": f"Error: Cannot find module '{normalize(argv[1])}'\n  code: 'MODULE_NOT_FOUND'",
            "perl": f'Can\'t open perl script "{argv[1]}": No such file or directory',
            "ruby": f"ruby: No such file or directory -- {argv[1]} (LoadError)",
        }
        return _said(missing[name], 2 if name == "perl" else 1)
    rest, lines = argv[2].strip() if len(argv) > 2 else "", []
    while rest:
        printed, ended = _PRINTS.match(rest), _EXITS.match(rest)
        if printed is not None and printed.end():
            end = "" if name in ("perl", "ruby") and rest.startswith("print") else "\n"
            lines.append(f"printf '%s' {shlex.quote(printed[2].replace(chr(92) + 'n', chr(10)) + end)}")
            rest = rest[printed.end() :]
        elif ended is not None:
            lines.append(f"exit {ended[1] or 0}")
            rest = rest[ended.end() :]
        else:
            return _said(f"{name}: cannot be run here: {rest[:60]}", 1)
    return "\n".join(lines) or ":"
