"""Programs that start others: xargs, env, timeout, nohup, nice, sudo, watch, time, which, and who one is."""

from __future__ import annotations

import re
from typing import Any

from simcluster.models.userland.grammar import compile_script
from simcluster.models.userland.lexer import ShellSyntaxError
from simcluster.models.userland.options import parse
from simcluster.models.userland.outcome import FOREVER_NS, KILLED, NOT_FOUND, Outcome
from simcluster.models.userland.paths import FileError
from simcluster.models.userland.place import Call, Tool, Who
from simcluster.models.userland.signals import NUMBERS, signal_named

Instruction = tuple[Any, ...]
_SECOND = 1_000_000_000


def _command(words: list[str], env: dict[str, str] | None = None) -> Instruction:
    assigns = tuple((name, None, False, (("lit", value, True),)) for name, value in (env or {}).items())
    return ("cmd", assigns, tuple((("lit", word, True),) for word in words), (), 1)


def _prefix(call: Call, words: list[str], env: dict[str, str] | None = None) -> Outcome:
    """Run the words as they are: a program, never a function or a builtin of the shell alone."""
    if "/" not in words[0] and not call.place.located(words[0]):
        quoted = (
            f"‘{words[0]}’"
            if call.gnu and call.name in ("env", "timeout", "nohup", "nice", "xargs", "stdbuf")
            else words[0]
        )
        if call.name == "sudo":
            return Outcome(stderr=f"sudo: {words[0]}: command not found\n", code=1)
        said = (
            f"failed to run command {quoted}: "
            if call.gnu and call.name in ("timeout", "nohup")
            else f"{quoted}: "
            if call.gnu
            else f"can't execute '{words[0]}': "
        )
        return Outcome(stderr=f"{call.name}: {said}No such file or directory\n", code=NOT_FOUND)
    return Outcome(code=0, runs=(_command(words, env),))


def env(call: Call) -> Outcome:
    """Run with other variables, or print them."""
    words, given, dropped = list(call.args), dict(call.env), False
    added: dict[str, str] = {}
    while words and (words[0].startswith("-") or "=" in words[0]):
        word = words.pop(0)
        if word in ("-i", "-", "--ignore-environment"):
            given, dropped = {}, True
        elif word in ("-u", "--unset") and words:
            given.pop(words.pop(0), None)
        elif word.startswith("--unset="):
            given.pop(word.partition("=")[2], None)
        elif word in ("-S",) and words:
            words = words.pop(0).split() + words
        elif word in ("-0", "--"):
            continue
        elif "=" in word and not word.startswith("-"):
            name, _, value = word.partition("=")
            added[name] = given[name] = value
        else:
            return call.wrong(f"invalid option -- '{word[1:2]}'", 125)
    if not words:
        return Outcome("".join(f"{name}={value}\n" for name, value in given.items()))
    gone = [name for name in call.env if name not in given] if not dropped else list(call.env)
    if gone:
        unset = _command(["unset", *gone])
        started = _prefix(call, words)
        return (
            started._replace(runs=(unset, *(_command(["export", f"{n}={v}"]) for n, v in added.items()), *started.runs))
            if started.runs
            else started
        )
    return _prefix(call, words, added)


def timeout(call: Call) -> Outcome:
    """Run, and end it after a while."""
    words, signal, code, keep = list(call.args), "TERM", 124 if call.gnu else 143, False
    while words and words[0].startswith("-") and words[0] != "--":
        word = words.pop(0)
        if word in ("-s", "--signal", "-k", "--kill-after") and words:
            value = words.pop(0)
            signal = value if word in ("-s", "--signal") else signal
        elif word.startswith(("--signal=", "-s")):
            signal = word.removeprefix("-s").partition("=")[2] or word[2:]
        elif word in ("-t",) and words and not call.gnu:
            words.insert(0, words.pop(0))
        elif word == "--preserve-status":
            keep = True
        elif word not in ("--foreground", "-v", "--verbose") and not word.startswith(("--kill-after=", "-k")):
            return call.wrong(
                f"unrecognized option '{word}'" if word[:2] == "--" else f"invalid option -- '{word[1:2]}'", 125
            )
    words = words[1:] if words[:1] == ["--"] else words
    if len(words) < 2:
        return call.wrong("missing operand" if not words else f"missing operand after ‘{words[0]}’", 125)
    match = re.fullmatch(r"(\d{1,12})?(?:\.(\d+))?([smhd]?)", words[0])
    if match is None or not (match[1] or match[2]):
        said = f"invalid time interval ‘{words[0]}’" if call.gnu else f"invalid number '{words[0]}'"
        return call.wrong(said, 125 if call.gnu else 1)
    unit = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}[match[3]] * _SECOND
    limit_ns = int(match[1] or 0) * unit + int((match[2] or "0")[:9].ljust(9, "0")) * (unit // _SECOND)
    name = signal_named(signal)
    if not name:
        return call.wrong(f"{signal}: invalid signal", 125)
    if name == "KILL":
        code = KILLED
    elif keep:
        code = 128 + NUMBERS.get(name, 15)
    started = _prefix(call, words[1:])
    if not started.runs or not limit_ns:
        return started
    return started._replace(runs=(("limit", min(limit_ns, FOREVER_NS), code), *started.runs))


def nohup(call: Call) -> Outcome:
    """nohup, nice, setsid, stdbuf, ionice, chrt: the program is what matters."""
    words = list(call.args)
    taking = {
        "nice": ("-n",),
        "stdbuf": ("-i", "-o", "-e"),
        "ionice": ("-c", "-n"),
        "chrt": ("-p",),
        "taskset": (),
        "strace": ("-e", "-o", "-s"),
        "sudo": ("-u", "-g", "-h", "-p", "-C", "-r", "-t"),
        "doas": ("-u",),
    }.get(call.name, ())
    shell = False
    while words and words[0].startswith("-") and len(words[0]) > 1:
        word = words.pop(0)
        if word == "--":
            break
        shell = shell or (call.name == "sudo" and word in ("-i", "-s", "--login", "--shell"))
        if word in taking and words:
            words.pop(0)
    if call.name in ("taskset", "chrt") and words:
        words.pop(0)
    added: dict[str, str] = {}
    while call.name == "sudo" and words and re.match(r"[A-Za-z_]\w*=", words[0]):
        name, _, value = words.pop(0).partition("=")
        added[name] = value
    if shell:
        return Outcome(runs=(_command(["bash", "-c", " ".join(words)]),)) if words else Outcome()
    if not words:
        if call.name == "nice":
            return Outcome("0\n")
        return (
            call.wrong("missing operand", 125)
            if call.name != "sudo"
            else Outcome(stderr="usage: sudo -h | -K | -k | -V\nusage: sudo [-u user] [command [arg ...]]\n", code=1)
        )
    return _prefix(call, words, added)


def busybox(call: Call) -> Outcome:
    """`busybox APPLET`."""
    if not call.args or call.args[0] in ("--list", "--help"):
        return Outcome("BusyBox v1.36.1 (2024-06-10 07:11:47 UTC) multi-call binary.\n")
    return _prefix(call, call.args)


def time(call: Call) -> Outcome:
    """Run, and say how long it took (BusyBox; bash has it built in)."""
    words = call.args[1:] if call.args[:1] == ["-p"] else call.args
    if not words:
        return call.wrong("missing operand", 125)
    started = _prefix(call, words)
    if not started.runs:
        return started
    form = "posix" if call.args[0] == "-p" else "busybox"
    return started._replace(runs=(("time",), *started.runs, ("timed", form)))


def xargs(call: Call) -> Outcome:
    """Build and run commands from what is read."""
    plan = _Batches(call)
    if plan.problem:
        return Outcome(stderr=plan.problem, code=1)
    code: list[Instruction] = []
    for command in plan.commands:
        if plan.traced:
            code.append(("emit", 2, " ".join(command) + "\n"))
        if "/" not in command[0] and not call.place.located(command[0]):
            missing = f"xargs: {command[0]}: No such file or directory\n"
            return Outcome(stderr=missing, code=NOT_FOUND)
        code += [_command(command), ("tally",)]
    return Outcome(runs=(*code, ("tallied",))) if code else Outcome()


class _Batches:
    """What `xargs` starts."""

    def __init__(self, call: Call) -> None:
        self.problem = ""
        self.commands: list[list[str]] = []
        self.traced = False
        rest, most, place, lines, skip, sign = list(call.args), 0, "", 0, False, None
        source = "-"
        while rest and rest[0].startswith("-") and len(rest[0]) > 1:
            word = rest.pop(0)
            if word == "--":
                break
            name, _, joined = word.partition("=")
            letter = {
                "--max-args": "n",
                "--max-lines": "L",
                "--replace": "I",
                "--no-run-if-empty": "r",
                "--null": "0",
                "--verbose": "t",
                "--delimiter": "d",
                "--max-procs": "P",
                "--arg-file": "a",
                "--max-chars": "s",
                "--exit": "x",
            }.get(name, word[1:2])
            value = joined if name in word and word.startswith("--") else word[2:]
            if letter == "d" and not call.gnu:
                self.problem = "xargs: invalid option -- 'd'\n"
                return
            if letter in "nLIPdEas" and not value:
                if not rest:
                    self.problem = f"xargs: option requires an argument -- '{letter}'\n"
                    return
                value = rest.pop(0)
            if letter in "nLPs" and not value.isdigit():
                self.problem = f'xargs: invalid number "{value}" for -{letter} option\n'
                return
            if letter == "n":
                most = int(value[:9])
            elif letter == "L":
                lines = int(value[:9])
            elif letter in "Ii":
                place = value or "{}"
            elif letter == "d":
                sign = {"\\n": "\n", "\\0": "\0", "\\t": "\t"}.get(value, value[:1])
            elif letter == "a":
                source = value
            elif letter == "0":
                sign = "\0"
            elif letter == "r" or letter == "t":
                skip, self.traced = skip or letter == "r", self.traced or letter == "t"
                for more in word[2:]:
                    if more == "0":
                        sign = "\0"
            elif letter not in "PEspx":
                self.problem = f"xargs: invalid option -- '{letter}'\nTry 'xargs --help' for more information.\n"
                return
        try:
            text = call.read(source)
        except FileError as problem:
            self.problem = f"xargs: Cannot open input file ‘{source}’: {problem}\n"
            return
        self._build(text, rest or ["echo"], (most, place, lines, skip, sign))

    def _build(self, text: str, command: list[str], how: tuple[int, str, int, bool, str | None]) -> None:
        most, place, lines, skip, sign = how
        if sign is not None:
            items = text.split(sign)
            items = items[:-1] if items[-1] == "" else items
        elif place:
            items = [_unquoted(line.lstrip()) for line in text.split("\n") if line.strip()]
        else:
            if _unbalanced(text):
                said = "unmatched single quote; by default quotes are special to xargs unless you use the -0 option"
                self.problem = f"xargs: {said}\n"
                return
            items = [
                _unquoted(match[0])
                for match in re.finditer(r"""(?:\\.|"[^"\n]*"|'[^'\n]*'|[^\s"'\\])+""", text, re.DOTALL)
            ]
        if place:
            self.commands = [[word.replace(place, item) for word in command] for item in items]
            return
        if lines:
            rows = [row.split() for row in text.split("\n") if row.strip()]
            self.commands = [
                [*command, *(word for row in rows[at : at + lines] for word in row)]
                for at in range(0, len(rows), lines)
            ]
            return
        if not items:
            self.commands = [] if skip else [command]
            return
        size = most or min(len(items), 5000)
        self.commands = [[*command, *items[at : at + size]] for at in range(0, len(items), size)]


def _unbalanced(text: str) -> bool:
    stripped = re.sub(r"""\\.|"[^"\n]*"|'[^'\n]*'""", "", text, flags=re.DOTALL)
    return "'" in stripped or '"' in stripped


def _unquoted(text: str) -> str:
    return re.sub(
        r"""\\(.)|"([^"\n]*)"|'([^'\n]*)'""",
        lambda match: match[1] or match[2] or match[3] or "",
        text,
        flags=re.DOTALL,
    )


def watch(call: Call) -> Outcome:
    """Run again and again, until somebody presses Ctrl-C."""
    given = _leading(call)
    if isinstance(given, Outcome):
        return given
    interval_ns, words, title, exact = given
    text = " ".join(words)
    try:
        inner = (_command(words),) if exact else compile_script(text, call.place.face.shell)
    except ShellSyntaxError:
        return Outcome(stderr=f"sh: 1: Syntax error in {text}\n", code=2)
    seconds = f"{interval_ns / _SECOND:.1f}"
    head: list[Instruction] = []
    if title:
        head = [
            (
                "cmd",
                (),
                (
                    (("lit", "printf", True),),
                    (("lit", "%s\\n\\n", True),),
                    (
                        ("lit", f"Every {seconds}s: {text}    {call.place.host}: ", True),
                        ("sub", (_command(["date", "+%a %b %e %H:%M:%S %Y"]),), True),
                    ),
                ),
                (),
                1,
            )
        ]
    body = [*head, *inner, ("pause", interval_ns)]
    return Outcome(runs=(*body, ("jmp", -len(body))))


def _leading(call: Call) -> tuple[int, list[str], bool, bool] | Outcome:
    words, interval, title, exact = list(call.args), "2", True, False
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word in ("-n", "--interval") and words:
            interval = words.pop(0)
        elif word.startswith(("-n", "--interval=")):
            interval = word.partition("=")[2] or word[2:]
        elif word in ("-t", "--no-title"):
            title = False
        elif word in ("-x", "--exec"):
            exact = True
        elif word not in ("-d", "--differences", "-c", "--color", "-b", "-e", "-g", "-p", "-w", "-td", "-dt"):
            return Outcome(stderr=f"watch: invalid option -- '{word.strip('-')[:1]}'\n", code=1)
    if not words:
        return Outcome(stderr="\nUsage:\n watch [options] command\n", code=1)
    if re.fullmatch(r"\d+(\.\d+)?", interval) is None:
        return Outcome(stderr=f"watch: failed to parse argument: '{interval}': Invalid argument\n", code=1)
    return max(_SECOND // 10, int(float(interval[:9]) * _SECOND)), words, title, exact


def which(call: Call) -> Outcome:
    """Where programs lie."""
    names = [word for word in call.args if not word.startswith("-")]
    found = [
        (name if "/" in name and call.look(name) else call.place.located(name) if "/" not in name else "")
        for name in names
    ]
    return Outcome("".join(path + "\n" for path in found if path), code=int(not all(found) or not names))


def whereis(call: Call) -> Outcome:
    """Where programs lie, in one line each."""
    return Outcome(
        "".join(f"{name}:{' ' + path if (path := call.place.located(name)) else ''}\n" for name in call.args)
    )


def identity(call: Call) -> Outcome:
    """whoami, id, groups, logname, users."""
    who = call.place.who
    given = parse(call.args, "ugnGrz", "", {"user": "u", "group": "g", "name": "n", "groups": "G"})
    if given.problem:
        return call.wrong(given.problem)
    if call.name in ("whoami", "logname", "users"):
        if who.user.isdigit():
            said = f"cannot find name for user ID {who.uid}" if call.gnu else f"unknown uid {who.uid}"
            return call.wrong(said, hint=False)
        return Outcome(who.user + "\n")
    if call.name == "groups":
        return Outcome(" ".join(_named(number, who).partition("(")[2].rstrip(")") or str(number)
                                for number in _groups(who, gnu=call.gnu)) + "\n")  # fmt: skip
    if given.words and given.words[0] not in (who.user, "root", "nobody"):
        return Outcome(stderr=f"id: ‘{given.words[0]}’: no such user\n", code=1)
    if given.words and given.words[0] != who.user:
        number, name, group = (0, "root", "root") if given.words[0] == "root" else (65534, "nobody", "nogroup")
        who = who._replace(user=name, uid=number, group=group, gid=number)
    if given.has("u"):
        return Outcome(f"{who.user if given.has('n') else who.uid}\n")
    if given.has("g"):
        return Outcome(f"{who.group if given.has('n') else who.gid}\n")
    listed = _groups(who, gnu=call.gnu)
    if given.has("G"):
        return Outcome(" ".join(map(str, listed)) + "\n")
    user = f"{who.uid}" if who.user.isdigit() else f"{who.uid}({who.user})"
    groups = ",".join(_named(number, who) for number in listed)
    return Outcome(f"uid={user} gid={_named(who.gid, who)} groups={groups}\n")


def _groups(who: Who, *, gnu: bool) -> list[int]:
    """Groups as the kernel has them, in their order; coreutils names the own one first."""
    found = sorted({who.gid, *who.groups})
    return [who.gid, *(number for number in found if number != who.gid)] if gnu else found


def _named(gid: int, who: Who) -> str:
    name = who.group if gid == who.gid else "root" if not gid else ""
    return f"{gid}({name})" if name and not name.isdigit() else str(gid)


def tty(call: Call) -> Outcome:
    """No terminal."""
    return Outcome("not a tty\n", code=1)


def no_terminal(call: Call) -> Outcome:
    """Programs that need one."""
    return Outcome(
        stderr=f"{call.name}: Error opening terminal: unknown.\n"
        if call.name not in ("vi", "vim", "nano", "emacs", "ed")
        else f"{call.name}: standard input is not a terminal\n",
        code=1,
    )


def hostname(call: Call) -> Outcome:
    """The name of the place."""
    return Outcome(call.place.host + "\n")


def uname(call: Call) -> Outcome:
    """What kind of system it is."""
    given = parse(
        call.args,
        "asnrvmpio",
        "",
        {"all": "a", "kernel-release": "r", "machine": "m", "kernel-name": "s", "nodename": "n"},
    )
    if given.problem:
        return call.wrong(given.problem)
    values = {
        "s": "Linux",
        "n": call.place.host,
        "r": "6.8.0-52-generic",
        "v": "#53-Ubuntu SMP PREEMPT_DYNAMIC",
        "m": "x86_64",
        "p": "x86_64",
        "i": "x86_64",
        "o": "GNU/Linux",
    }
    wanted = "snrvmpio" if given.has("a") else "".join(letter for letter in "snrvmpio" if given.has(letter)) or "s"
    return Outcome(" ".join(values[letter] for letter in wanted) + "\n")


def arch(call: Call) -> Outcome:
    """The processor's kind."""
    return Outcome("x86_64\n")


def sync(call: Call) -> Outcome:
    """Nothing is left to write."""
    return Outcome()


TOOLS: dict[str, Tool] = {
    "arch": arch,
    "busybox": busybox,
    "chrt": nohup,
    "env": env,
    "groups": identity,
    "hostname": hostname,
    "htop": no_terminal,
    "id": identity,
    "ionice": nohup,
    "iotop": no_terminal,
    "logname": identity,
    "mc": no_terminal,
    "nano": no_terminal,
    "nice": nohup,
    "nmon": no_terminal,
    "nohup": nohup,
    "setsid": nohup,
    "stdbuf": nohup,
    "sudo": nohup,
    "sync": sync,
    "taskset": nohup,
    "time": time,
    "timeout": timeout,
    "tmux": no_terminal,
    "tty": tty,
    "uname": uname,
    "users": identity,
    "vi": no_terminal,
    "vim": no_terminal,
    "watch": watch,
    "whereis": whereis,
    "which": which,
    "whoami": identity,
    "xargs": xargs,
}
