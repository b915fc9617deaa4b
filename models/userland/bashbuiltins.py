"""Builtins that bash alone has: mapfile, shopt, compgen, caller, times, help, and the list of `set -o`.

Left out: completion itself, which the terminal does; `coproc`, whose two ends would run at once.
"""

from __future__ import annotations

from simcluster.models.userland import options as getopts
from simcluster.models.userland.grammar import compile_script
from simcluster.models.userland.lexer import ShellSyntaxError
from simcluster.models.userland.paths import FileError
from simcluster.models.userland.process import NOWHERE, Process
from simcluster.models.userland.runner import ShellRunner
from simcluster.models.userland.stream import Stream

Fds = dict[int, tuple[str, object]]

#: Options of `set -o` in their order, by the letter or name under which a process keeps them, and of `shopt`
#: (bash 5.2, builtins/set.def and shopt.def); those that are on in a shell that is not interactive.
SET_OPTIONS = {
    "allexport": "a", "braceexpand": "braceexpand", "emacs": "emacs", "errexit": "e", "errtrace": "errtrace",
    "functrace": "functrace", "hashall": "hashall", "histexpand": "histexpand", "history": "history",
    "ignoreeof": "ignoreeof", "interactive-comments": "interactive-comments", "keyword": "k", "monitor": "m",
    "noclobber": "C", "noexec": "n", "noglob": "f", "nolog": "nolog", "notify": "b", "nounset": "u", "onecmd": "t",
    "physical": "P", "pipefail": "pipefail", "posix": "posix", "privileged": "p", "verbose": "v", "vi": "vi",
    "xtrace": "x",
}  # fmt: skip
SHOPT_OPTIONS = [
    "assoc_expand_once", "autocd", "bash_source_fullpath", "cdable_vars", "cdspell", "checkhash", "checkjobs",
    "checkwinsize", "cmdhist", "compat31", "compat32", "compat40", "compat41", "compat42", "compat43", "compat44",
    "complete_fullquote", "direxpand", "dirspell", "dotglob", "execfail", "expand_aliases", "extdebug", "extglob",
    "extquote", "failglob", "force_fignore", "globasciiranges", "globskipdots", "globstar", "gnu_errfmt",
    "histappend", "histreedit", "histverify", "hostcomplete", "huponexit", "inherit_errexit", "interactive_comments",
    "lastpipe", "lithist", "localvar_inherit", "localvar_unset", "login_shell", "mailwarn", "no_empty_cmd_completion",
    "nocaseglob", "nocasematch", "noexpand_translation", "nullglob", "patsub_replacement", "progcomp",
    "progcomp_alias", "promptvars", "restricted_shell", "shift_verbose", "sourcepath", "varredir_close", "xpg_echo",
]  # fmt: skip
_ON = [
    "braceexpand", "hashall", "interactive-comments", "checkwinsize", "cmdhist", "complete_fullquote", "extquote",
    "force_fignore", "globasciiranges", "globskipdots", "hostcomplete", "interactive_comments", "patsub_replacement",
    "progcomp", "promptvars", "sourcepath",
]  # fmt: skip


def out(runner: ShellRunner, fds: Fds, text: str) -> None:
    """Print."""
    runner.write(fds.get(1, NOWHERE), text)


def is_on(process: Process, kept: str) -> bool:
    """Whether an option of `set` or `shopt` is on."""
    return process.options.get(kept, kept in _ON)


def set_options(process: Process, *, again: bool) -> str:
    """What `set -o` prints, or with `again` what `set +o` does: commands that set them again."""
    if again:
        return "".join(f"set {'-' if is_on(process, kept) else '+'}o {name}\n" for name, kept in SET_OPTIONS.items())
    return "".join(f"{name:<15}\t{'on' if is_on(process, kept) else 'off'}\n" for name, kept in SET_OPTIONS.items())


def shopt(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    """`shopt [-pqsuo] [NAME ...]`."""
    given = getopts.parse(argv[1:], "pqsuo")
    listed = list(SET_OPTIONS) if given.has("o") else SHOPT_OPTIONS
    wrong = next((name for name in given.words if name not in listed), "")
    if wrong or given.problem:
        runner.complain(process, f"{wrong}: invalid shell option name" if wrong else given.problem, "shopt")
        runner.completed(process, 1 if wrong else 2)
        return
    kept = {name: SET_OPTIONS.get(name, name) if given.has("o") else name for name in given.words or listed}
    if given.words and given.has("s", "u"):
        process.options.update(dict.fromkeys(kept.values(), given.has("s")))
        runner.completed(process, 0)
        return
    for name, each in kept.items():
        on = is_on(process, each)
        if given.has("q") or (not given.words and ((given.has("s") and not on) or (given.has("u") and on))):
            continue
        verb = "shopt -s" if on else "shopt -u"
        shown = f"{verb} {name}\n" if given.has("p") else f"{name:<15}\t{'on' if on else 'off'}\n"
        out(runner, fds, shown)
    runner.completed(process, int(bool(given.words) and not all(is_on(process, each) for each in kept.values())))


def mapfile(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    """`mapfile [-t] [-d C] [-n COUNT] [-O ORIGIN] [-s COUNT] [-u FD] [-C CALLBACK] [-c QUANTUM] [ARRAY]`."""
    given = getopts.parse(argv[1:], "t", "cCdnOsu")
    if given.problem:
        runner.complain(process, f"{given.problem[-2:-1]}: invalid option", argv[0])
        runner.completed(process, 2)
        return
    number = {}
    for letter, meant in (("c", "5000"), ("n", "0"), ("O", "0"), ("s", "0"), ("u", "0")):
        text = given.values.get(letter, meant)
        if not text.isdigit():
            what = {"u": "file descriptor specification", "O": "array origin", "c": "callback quantum"}
            runner.complain(process, f"{text}: invalid {what.get(letter, 'line count')}", argv[0])
            runner.completed(process, 1)
            return
        number[letter] = int(text[:9])
    sink = fds.get(number["u"], NOWHERE)
    stream = sink[1] if isinstance(sink[1], Stream) else Stream("")
    end = given.values.get("d", "\n")[:1] or "\0"
    lines: list[str] = []
    for at in range(number["s"] + number["n"] if number["n"] else 1 << 30):
        line = stream.line(end)
        if line is None:
            break
        if at >= number["s"]:
            lines.append(line.removesuffix(end) if given.has("t") else line)
    name = given.words[0] if given.words else "MAPFILE"
    name = process.references.get(name, name)
    process.variables.pop(name, None)
    kept = process.arrays.get(name, {}) if "O" in given.values else {}
    process.arrays[name] = dict(sorted({**kept, **dict(enumerate(lines, number["O"]))}.items()))
    every = max(1, number["c"])
    called = [
        f"{given.values['C']} {number['O'] + at} {_quoted(line)}"
        for at, line in enumerate(lines)
        if "C" in given.values and at % every == every - 1
    ]
    if called:
        runner.builtins["eval"](runner, process, ["eval", "\n".join(called)], fds)
    else:
        runner.completed(process, 0)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def compgen(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    """`compgen -W WORDS`, `-A KIND` and its letters, with what the words begin with."""
    given = getopts.parse(argv[1:], "abcdefgjksuv", "AGWFCPSXo")
    prefix = given.words[0] if given.words else ""
    kinds = {"f": "file", "d": "directory", "v": "variable", "b": "builtin", "a": "alias", "k": "keyword",
             "e": "export", "c": "command"}  # fmt: skip
    wanted = [kinds[letter] for letter in given.letters if letter in kinds] + [given.values.get("A", "")]
    found: list[str] = []
    if "W" in given.values:
        text = given.values["W"]
        plain = not any(sign in text for sign in "$`\\'\"*?[{~")  # nothing in it is expanded
        found += text.split() if plain else process.fields(_words(text))
    for kind in wanted:
        found += _known(runner, process, kind, prefix)
    matching = [word for word in found if word.startswith(prefix)]
    head, tail = given.values.get("P", ""), given.values.get("S", "")
    out(runner, fds, "".join(f"{head}{word}{tail}\n" for word in matching))
    runner.completed(process, int(not matching))


def _words(text: str) -> tuple[tuple[tuple[object, ...], ...], ...]:
    try:
        return tuple(compile_script(f"x {text}", "bash")[0][2][1:])
    except (ShellSyntaxError, IndexError):
        return ()


def _known(runner: ShellRunner, process: Process, kind: str, prefix: str) -> list[str]:
    if kind in ("file", "directory"):
        folder, slash, _ = prefix.rpartition("/")
        try:
            names = runner.place.files.names(process.path(folder or ("/" if slash else ".")))
        except FileError:
            return []
        paths = [f"{folder}{slash}{name}" for name in names]
        stats = {path: runner.place.files.look(process.path(path)) for path in paths}
        return [path for path, stat in stats.items() if kind == "file" or (stat is not None and stat.is_folder)]
    listed = {
        "function": sorted(process.functions), "builtin": sorted(runner.builtins), "alias": sorted(process.aliases),
        "variable": process.names_with(""), "arrayvar": sorted(process.arrays), "export": sorted(process.exported),
        "keyword": ["if", "then", "else", "elif", "fi", "case", "esac", "for", "select", "while", "until", "do", "done",
                    "in", "function", "time", "{", "}", "!", "[[", "]]", "coproc"],
        "setopt": list(SET_OPTIONS), "shopt": SHOPT_OPTIONS,
    }  # fmt: skip
    if kind == "command":
        return [*listed["keyword"], *listed["function"], *listed["builtin"]]
    return list(listed.get(kind, []))


def caller(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    """`caller [N]`: the line and the function that called."""
    calls = [entry for entry in reversed(process.calls) if entry.kind in ("function", "source")]
    depth = int(argv[1][:4]) if len(argv) > 1 and argv[1].isdigit() else 0
    if depth >= len(calls):
        runner.completed(process, 1)
        return
    above = calls[depth + 1].name if depth + 1 < len(calls) else "main"
    shown = f"{calls[depth].line} {process.script_name}" if len(argv) == 1 else (
        f"{calls[depth].line} {above} {process.script_name}"
    )  # fmt: skip
    out(runner, fds, shown + "\n")
    runner.completed(process, 0)


def times(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    """`times`: what the shell and its children have used is less than it shows."""
    out(runner, fds, "0m0.001s 0m0.000s\n0m0.000s 0m0.000s\n")
    runner.completed(process, 0)


def help_(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    """`help`: the names; the pages are bash's own text and are not here."""
    if len(argv) == 1:
        out(runner, fds, "GNU bash, version 5.2.21(1)-release (x86_64-pc-linux-gnu)\n" + "".join(
            f" {name}\n" for name in sorted(runner.builtins)))  # fmt: skip
        runner.completed(process, 0)
        return
    name = argv[-1]
    if name in runner.builtins:
        out(runner, fds, f"{name}: {name}\n")
        runner.completed(process, 0)
        return
    runner.complain(
        process, f"no help topics match `{name}'.  Try `help help' or `man -k {name}' or `info {name}'.", "help"
    )
    runner.completed(process, 1)


def coproc(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    """`coproc` is refused as where the system has no pipes left: its two ends would have to run at once."""
    runner.complain(process, "cannot make pipe for process substitution: Function not implemented", "coproc")
    runner.completed(process, 1)


BASH_BUILTINS = {
    "caller": caller, "compgen": compgen, "coproc": coproc, "help": help_, "mapfile": mapfile, "readarray": mapfile,
    "shopt": shopt, "times": times,
}  # fmt: skip
