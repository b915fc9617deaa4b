"""`select` of bash: a numbered menu on standard error, and a choice by number.

Source: bash 5.2, execute_cmd.c (`select_query`, `print_select_list`).
"""

from __future__ import annotations

from simcluster.models.userland.grammar import Instruction
from simcluster.models.userland.process import NOWHERE, Process
from simcluster.models.userland.runner import ShellRunner

#: Columns of a terminal that does not say how wide it is, and blanks after a number.
_COLUMNS, _GAP = 80, ") "


def choose(runner: ShellRunner, process: Process, instruction: Instruction) -> None:
    """`select`: show the menu, ask, and read a line; the end of the input ends the loop with status 1."""
    _, name, length = instruction
    frame, errors = process.frames[-1], process.fds.get(2, NOWHERE)
    words = frame.words or []
    if not words:
        process.counter += length
        return
    sink = process.fds.get(0, NOWHERE)
    shown = frame.at > 0
    while True:
        if not shown:
            width = process.variable("COLUMNS") or ""
            runner.write(errors, menu(words, int(width[:4]) if width.isdigit() else _COLUMNS))
        prompt = process.variable("PS3")
        runner.write(errors, "#? " if prompt is None else prompt)
        line = sink[1].line() if sink[0] == "in" else None
        if line is None:
            runner.write(process.fds.get(1, NOWHERE), "\n")
            process.status = 1
            process.counter += length
            return
        reply = line.removesuffix("\n")
        if reply.strip():
            break
        shown = False
    frame.at = 1
    process.assign("REPLY", reply)
    picked = reply.strip()
    number = int(picked[:9]) if picked.isdigit() else 0
    process.assign(name, words[number - 1] if 0 < number <= len(words) else "")
    process.counter += 1


def menu(words: list[str], columns: int) -> str:
    r"""The words with their numbers, in as many columns as fit.

    >>> menu(["red", "green"], 80)
    '1) red\n2) green\n'
    """
    wide = len(str(len(words)))
    most = max(map(len, words)) + wide + len(_GAP) + 2
    across = max(1, columns // most)
    rows = -(-len(words) // across)
    across = -(-len(words) // rows)
    rows = across if rows == 1 else rows
    out = []
    for row in range(min(rows, len(words))):
        at, place = row, 0
        while True:
            number = str(at + 1).rjust(wide if place else len(str(rows)))
            out.append(f"{number}{_GAP}{words[at]}")
            end = place + len(number) + len(_GAP) + len(words[at])
            at += rows
            if at >= len(words):
                break
            place += most
            while end < place:  # tabs as far as they go
                stop = (end // 8 + 1) * 8
                out.append("\t" if stop <= place else " ")
                end = stop if stop <= place else end + 1
        out.append("\n")
    return "".join(out)
