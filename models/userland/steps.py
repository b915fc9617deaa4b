"""The instructions of a compiled script, all but simple commands: what each does to its process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simcluster.models.userland import conditions, patterns
from simcluster.models.userland.expand import ExpansionError
from simcluster.models.userland.formats import timing
from simcluster.models.userland.grammar import Instruction
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.paths import FileError
from simcluster.models.userland.place import Call
from simcluster.models.userland.process import NOWHERE, Frame, Process, is_name
from simcluster.models.userland.runner import ShellRunner
from simcluster.models.userland.select import choose


def spawn(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """Start a process of its own for a block."""
    _, kind, length, need = instruction
    child = process.subshell(runner.next_pid(), process.counter + 1)
    child.traps = {name: "" for name, handler in process.traps.items() if handler == ""}
    if process.options.get("E") and "ERR" in process.traps:
        child.traps["ERR"] = process.traps["ERR"]
    if process.piped is not None:
        child.fds[0] = ("in", process.piped)
    if kind == "bg":
        child.written = str(need)
    if kind == "pipe":
        child.fds[1] = ("buffer", child.pid)
        runner.buffers[child.pid] = []
        if need is not None:
            runner.needs[child.pid] = need
    elif kind == "bg" and child.fds.get(0) is None:
        child.fds[0] = NOWHERE
    runner.spawn(process, child, kind, length)


def pipes(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """A pipeline begins."""
    process.pipe_status, process.piped = [], None
    process.counter += 1


def piped(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """A pipeline is over: its status is that of the last stage, or with `pipefail` of the last that failed."""
    process.pipe_status.append(process.status)
    process.piped = None
    if process.options.get("pipefail"):
        process.status = next((code for code in reversed(process.pipe_status) if code), 0)
    process.counter += 1
    runner.check_errexit(process)


def redirect(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """Open files for a compound command."""
    targets = [(fd, operator, process.text(word)) for fd, operator, word in instruction[1]]
    try:
        fds = runner.redirected(process, targets)
    except FileError as problem:
        runner.complain(process, str(problem))
        process.status = 1
        process.counter += instruction[2] + 1 if len(instruction) > 2 else 1
        runner.check_errexit(process)
        return
    process.fd_stack.append(process.fds)
    process.fds = fds
    process.counter += 1


def unredirect(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """The compound command is over."""
    process.fds = process.fd_stack.pop()
    process.counter += 1


def jump(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """Go on elsewhere, always or depending on the last status."""
    kind, length = instruction
    if length < 0 and process.frames:
        process.frames[-1].last = process.status
    taken = kind == "jmp" or (process.status == 0) == (kind == "jtrue")
    process.counter += length if taken else 1


def invert(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """`!`."""
    process.status = int(process.status == 0)
    process.counter += 1


def guard(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """A condition begins or ends."""
    process.guard += 1 if instruction[0] == "guard" else -1
    process.counter += 1


def set_status(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """A fixed exit status."""
    process.status = instruction[1]
    process.counter += 1


def loop(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """Enter a loop."""
    words = process.fields(instruction[1]) if instruction[0] == "for" else None
    end = instruction[2] if instruction[0] == "for" else instruction[1]
    start = 1 if instruction[0] == "for" else instruction[2]
    process.frames.append(Frame(process.counter + start, process.counter + end, process.guard, words))
    process.counter += 1
    process.status = 0


def next_word(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """The next word of a `for`, or its end."""
    _, name, length = instruction
    frame = process.frames[-1]
    if not is_name(name):
        face = runner.place.face
        said = f"`{name}': not a valid identifier" if face.bash else "bad for loop variable"
        raise ExpansionError(said, deadly=False)
    if frame.words is None or frame.at >= len(frame.words):
        process.counter += length
    else:
        process.assign(name, frame.words[frame.at])
        frame.at += 1
        process.counter += 1


def end_loop(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """Leave a loop."""
    frame = process.frames.pop()
    if frame.words is None:
        process.status = frame.last
    process.counter += 1


def end_process(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """The block of a process is over."""
    runner.end(process, process.status)


def case(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """The word of a `case`."""
    process.subject = process.text(instruction[1])
    process.counter += 1


def _fits(process: Process, pattern: str, text: str) -> bool:
    """Whether a text matches a shell pattern."""
    if process.options.get("nocasematch"):
        pattern, text = pattern.lower(), text.lower()
    return patterns.matches(pattern, text)


def match_clause(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """One clause of a `case`."""
    _, choices, length = instruction
    matched = any(_fits(process, process.pattern(word), process.subject) for word in choices)
    process.status = 0
    process.counter += 1 if matched else length


def define(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """Define a function."""
    _, name, length = instruction
    process.functions[name] = (process.code, process.counter + 1)
    process.status = 0
    process.counter += length


def return_from_call(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """A function's body is over."""
    runner.leave_call(process)
    runner.check_errexit(process)


def arith(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """`((...))`."""
    process.line = instruction[2]
    try:
        process.status = int(process.number(process.text(instruction[1])) == 0)
    except ExpansionError as problem:
        runner.complain(process, f"((: {problem}")
        process.status = 1
    process.counter += 1
    following = process.code[process.counter][0] if process.counter < len(process.code) else ""
    if following not in ("jfalse", "loop", "jmp"):
        runner.check_errexit(process)


def cond(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """`[[ ... ]]`."""
    process.line = instruction[2]
    try:
        process.status = int(not _holds(runner, process, instruction[1]))
    except conditions.WrongTest as problem:
        runner.complain(process, f"[[: {problem}")
        process.status = 2
    process.counter += 1
    runner.check_errexit(process)


def _holds(runner: ShellRunner, process: Process, tree: tuple[Any, ...]) -> bool:
    kind = tree[0]
    if kind == "and":
        return _holds(runner, process, tree[1]) and _holds(runner, process, tree[2])
    if kind == "or":
        return _holds(runner, process, tree[1]) or _holds(runner, process, tree[2])
    if kind == "not":
        return not _holds(runner, process, tree[1])
    if kind == "word":
        return process.text(tree[1]) != ""
    call = Call(runner.place, ["[["], process.environment(), cwd=process.cwd)
    if kind == "unary":
        value = process.text(tree[2])
        if tree[1] == "-v":
            name, bracket, subscript = value.partition("[")
            if not bracket:
                return process.variable(value) is not None
            held = process.elements(name) or {}
            return bool(held) if subscript[:-1] in ("@", "*") else process.key(name, subscript[:-1]) in held
        if tree[1] == "-o":
            return bool(process.options.get(conditions.OPTION_LETTERS.get(value, value)))
        return conditions.unary(call, tree[1], value)
    return _compares(process, call, tree)


def _compares(process: Process, call: Call, tree: tuple[Any, ...]) -> bool:
    operator: str
    _, operator, left, right = tree
    if operator in ("=", "==", "!="):
        return _fits(process, process.pattern(right), process.text(left)) == (operator != "!=")
    if operator == "=~":
        blind = bool(process.options.get("nocasematch"))
        found = conditions.found(process.text(left), _regex_of(process, right), ignore_case=blind)
        process.arrays["BASH_REMATCH"] = dict(enumerate(found or ()))
        return found is not None
    if operator.startswith("-") and operator[1:] in ("eq", "ne", "lt", "le", "gt", "ge"):
        return conditions.compared(operator, process.number(process.text(left)), process.number(process.text(right)))
    return conditions.binary(call, process.text(left), operator, process.text(right))


def _regex_of(process: Process, word: tuple[Any, ...]) -> str:
    """The pattern of `=~`: what was quoted matches itself."""
    out = ""
    for part in word:
        text = process.text((part,))
        quoted = part[0] == "lit" and part[2]
        out += "".join("\\" + char if char in r".[]*^$+?(){}|\\" else char for char in text) if quoted else text
    return out


def begin_timing(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """`time`: a pipeline begins."""
    process.timed.append(runner.now)
    process.counter += 1


def end_timing(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """`time`: a pipeline is over."""
    runner.write(process.fds.get(2, NOWHERE), timing(runner.now - process.timed.pop(), instruction[1]))
    process.counter += 1


def emit(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """Print a text that a tool has left in its code."""
    _, fd, text = instruction
    runner.write(process.fds.get(fd, NOWHERE), text)
    process.counter += 1


def tally(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """`xargs`: take the status of one of its commands; it stops at some."""
    status, process.status = process.status, 0
    if status in (126, 127):
        process.tally = status
    elif status and process.tally not in (126, 127):
        process.tally = 124 if status == 255 else 123
    process.counter = len(process.code) - 1 if status in (126, 127, 255) else process.counter + 1


def tallied(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """`xargs` is over."""
    process.status = process.tally
    process.counter += 1


def remember(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """`find -exec ... +`: a failure of one of its commands is its own."""
    process.tally = process.tally or int(process.status != 0)
    process.counter += 1


def limit(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """`timeout`: what follows ends after so long with a status."""
    _, limit_ns, code = instruction
    ends_ns = runner.now + limit_ns
    process.until_ns = ends_ns if process.until_ns < 0 else min(process.until_ns, ends_ns)
    runner.alarm_after(process.pid, limit_ns, code)
    process.counter += 1


def pause(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """Wait."""
    runner.block(process, Outcome(delay_ns=instruction[1]), {})


STEPS: dict[str, Callable[[ShellRunner, Process, Instruction], None]] = {
    "jmp": jump,
    "jtrue": jump,
    "jfalse": jump,
    "not": invert,
    "guard": guard,
    "unguard": guard,
    "status": set_status,
    "loop": loop,
    "for": loop,
    "next": next_word,
    "choose": choose,
    "endloop": end_loop,
    "spawn": spawn,
    "pipes": pipes,
    "piped": piped,
    "end": end_process,
    "redir": redirect,
    "unredir": unredirect,
    "case": case,
    "match": match_clause,
    "def": define,
    "ret": return_from_call,
    "arith": arith,
    "cond": cond,
    "time": begin_timing,
    "timed": end_timing,
    "emit": emit,
    "tally": tally,
    "tallied": tallied,
    "remember": remember,
    "limit": limit,
    "pause": pause,
}
