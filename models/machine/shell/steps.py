"""The instructions of a compiled script, all but simple commands: what each does to its process."""

from __future__ import annotations

from collections.abc import Callable

from simcluster.models.machine.shell.expand import ExpansionError
from simcluster.models.machine.shell.grammar import Instruction
from simcluster.models.machine.shell.process import Frame, Process, is_name
from simcluster.models.machine.shell.runner import ShellRunner


def spawn(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """Start a process of its own for a block."""
    _, kind, length = instruction
    child = process.subshell(runner.next_pid(), process.counter + 1)
    if kind == "pipe":
        child.sinks[1] = ("buffer", child.pid)
        runner.buffers[child.pid] = []
    runner.spawn(process, child, kind, length)


def redirect(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """Open files for a compound command."""
    targets = [(fd, operator, process.text(word)) for fd, operator, word in instruction[1]]
    sinks, stdin = runner.redirected(process, targets)
    process.sink_stack.append((process.sinks, process.stdin if stdin is not None else None))
    process.sinks = sinks
    process.stdin = process.stdin if stdin is None else stdin
    process.counter += 1


def unredirect(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """The compound command is over."""
    process.sinks, stdin = process.sink_stack.pop()
    process.stdin = process.stdin if stdin is None else stdin
    process.counter += 1


def jump(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """Go on elsewhere, always or depending on the last status."""
    kind, length = instruction
    taken = kind == "jmp" or (process.status == 0) == (kind == "jtrue")
    process.counter += length if taken else 1


def invert(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """`!`."""
    process.status = int(process.status == 0)
    process.counter += 1


def set_status(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """A fixed exit status."""
    process.status = instruction[1]
    process.counter += 1


def loop(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """Enter a loop."""
    words = process.fields(instruction[1]) if instruction[0] == "for" else None
    process.frames.append(Frame(process.counter + 1, process.counter + instruction[-1], words))
    process.counter += 1


def next_word(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """The next word of a `for`, or its end."""
    _, name, length = instruction
    words = process.frames[-1].words
    if not words:
        process.counter += length
    elif is_name(name):
        process.assign(name, words.pop(0))
        process.counter += 1
    else:
        raise ExpansionError(f"{name}: bad variable name")


def end_loop(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """Leave a loop."""
    process.frames.pop()
    process.status = 0
    process.counter += 1


def end_process(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """The block of a process is over."""
    runner.end(process, process.status)


def case(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """The word of a `case`."""
    process.subject = process.text(instruction[1])
    process.counter += 1


def match_clause(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """One clause of a `case`."""
    _, patterns, length = instruction
    matched = any(process.pattern(word).fullmatch(process.subject) for word in patterns)
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


STEPS: dict[str, Callable[[ShellRunner, Process, Instruction], None]] = {
    "jmp": jump,
    "jtrue": jump,
    "jfalse": jump,
    "not": invert,
    "status": set_status,
    "loop": loop,
    "for": loop,
    "next": next_word,
    "endloop": end_loop,
    "spawn": spawn,
    "end": end_process,
    "redir": redirect,
    "unredir": unredirect,
    "case": case,
    "match": match_clause,
    "def": define,
    "ret": return_from_call,
}
