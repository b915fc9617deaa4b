"""Lines beside each other: column, comm, join, paste. Source: coreutils 9.1, util-linux 2.38."""

from __future__ import annotations

import json
import re
from functools import partial

from simcluster.models.userland.options import Options, parse
from simcluster.models.userland.outcome import ROOM, Exhausted, Outcome
from simcluster.models.userland.place import Call, Tool
from simcluster.models.userland.tools.lines import split_lines

_COLUMN = {"table": "t", "separator": "s", "output-separator": "o", "table-columns": "N", "json": "J",
           "table-right": "R", "output-width": "c", "fillrows": "x", "table-name": "n", "table-hide": "H"}  # fmt: skip


class _Order:
    """Whether lines come in order: asked only once some line has had no partner, and warned once a file."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.alone = False
        self.warned: dict[int, bool] = {}

    def check(self, side: int, lines: list[str], at: int, said: str) -> None:
        """The line at a place against the one before it."""
        if self.alone and side not in self.warned and 0 < at < len(lines) and lines[at] < lines[at - 1]:
            self.warned[side] = True
            self.call.complain(said)

    def over(self) -> None:
        """The last word."""
        if self.warned:
            self.call.complain("input is not in sorted order")


def comm(call: Call) -> Outcome:
    """Lines of the first file, of the second, and of both."""
    long = {"output-delimiter": "output-delimiter", "nocheck-order": "n", "check-order": "c", "total": "total"}
    given = parse(call.args, "123iz", " output-delimiter", long)
    if given.problem:
        return call.wrong(given.problem)
    between = given.values.get("output-delimiter", "\t")
    texts = call.inputs(given.words[:2])
    if len(given.words) < 2 or len(texts) < 2:
        return call.done() if call.said else call.wrong("missing operand")
    sides = [split_lines(text) for _, text in texts]
    at, out, counts, order = [0, 0], [], [0, 0, 0], _Order(call)
    shift = [0, 0 if given.has("1") else 1, (not given.has("1")) + (not given.has("2"))]

    def step(side: int) -> None:
        at[side] += 1
        if call.gnu and not given.has("n"):
            said = f"file {side + 1} is not in sorted order"
            order.check(side, sides[side], min(at[side], len(sides[side]) - 1), said)

    while at[0] < len(sides[0]) or at[1] < len(sides[1]):
        heads = [lines[place] if place < len(lines) else None for lines, place in zip(sides, at, strict=True)]
        column = 2
        if heads[0] != heads[1]:
            column = 1 if heads[0] is None or (heads[1] is not None and heads[1] < heads[0]) else 0
        line = heads[column] if column < 2 else heads[0]
        counts[column] += 1
        if not given.has(str(column + 1)):
            out.append(between * int(shift[column]) + f"{line}\n")
        order.alone = order.alone or column < 2
        for side in (0, 1):
            if column in (side, 2):
                step(side)
    if given.has("total"):
        out.append(between.join([*map(str, counts), "total"]) + "\n")
    order.over()
    return call.done("".join(out))


def join(call: Call) -> Outcome:
    """Lines of two sorted files with the same field."""
    given = parse(call.args, "i", "t12ojaev", {"ignore-case": "i", "header": "header", "nocheck-order": "nocheck"})
    if given.problem:
        return call.wrong(given.problem)
    texts = call.inputs(given.words[:2])
    if len(texts) < 2:
        return call.done() if call.said else call.wrong("missing operand")
    sign = given.values.get("t")
    places = [int(given.values.get(str(n), given.values.get("j", "1"))[:4] or 1) - 1 for n in (1, 2)]
    tables = [[line.split(sign) if sign else line.split() for line in split_lines(text)] for _, text in texts]
    kept = [[_field(row, place, given) for row in table] for table, place in zip(tables, places, strict=True)]
    marks = re.findall(r"-([av]) ?([12])", " ".join(call.args))
    alone, matched = [side for _, side in marks], not any(letter == "v" for letter, _ in marks)
    row = partial(_row, given, places, sign or " ")
    out: list[str] = []
    at, size, order = [0, 0], 0, _Order(call)

    def step(side: int, by: int = 1) -> None:
        for _ in range(by):
            at[side] += 1
            name, place = texts[side][0], at[side]
            if call.gnu and not given.has("nocheck") and place < len(tables[side]):
                shown = (sign or " ").join(tables[side][place])
                order.check(side, kept[side], place, f"{name}:{place + 1}: is not sorted: {shown}")

    if given.has("header") and all(tables):
        out.append(row(tables[0][0][places[0]], tables[0][0], tables[1][0]))
        at = [1, 1]
    while at[0] < len(kept[0]) or at[1] < len(kept[1]):
        keys = [side[place] if place < len(side) else None for side, place in zip(kept, at, strict=True)]
        if keys[0] == keys[1]:
            many = [_run(side, place) for side, place in zip(kept, at, strict=True)]
            for left in tables[0][at[0] : at[0] + many[0]] if matched else ():
                for right in tables[1][at[1] : at[1] + many[1]]:
                    out.append(row(left[places[0]], left, right))
                    size += len(out[-1]) + 50
                    if size > ROOM:
                        raise Exhausted
            step(0, many[0])
            step(1, many[1])
            continue
        side = 1 if keys[0] is None or (keys[1] is not None and keys[1] < keys[0]) else 0
        order.alone = order.alone or None not in keys
        if str(side + 1) in alone:
            fields = tables[side][at[side]]
            shown = fields[places[side]] if places[side] < len(fields) else ""
            out.append(row(shown, fields if side == 0 else None, fields if side else None))
        step(side)
    order.over()
    return call.done("".join(line + "\n" for line in out))


def _field(fields: list[str], place: int, given: Options) -> str:
    found = fields[place] if place < len(fields) else ""
    return found.lower() if given.has("i") else found


def _run(keys: list[str], at: int) -> int:
    """How many lines from here on have the same field."""
    end = at
    while end < len(keys) and keys[end] == keys[at]:
        end += 1
    return end - at


def _row(
    given: Options, places: list[int], between: str, key: str, left: list[str] | None, right: list[str] | None
) -> str:
    sides, empty = [left, right], given.values.get("e", "")
    if "o" in given.values and given.values["o"] != "auto":
        chosen = []
        for spec in re.split(r"[ ,]+", given.values["o"]):
            side, _, at = spec.partition(".")
            fields = sides[int(side) - 1] if side in ("1", "2") else None
            known = fields is not None and at.isdigit() and 0 < int(at[:4]) <= len(fields)
            chosen.append(key if spec == "0" else fields[int(at[:4]) - 1] if fields is not None and known else empty)
        return between.join(chosen)
    rest = [field for n, fields in enumerate(sides) if fields is not None
            for at, field in enumerate(fields) if at != places[n]]  # fmt: skip
    return between.join([key, *rest])


def column(call: Call) -> Outcome:
    """Lines as a table (`-t`), as JSON (`-J`), or filled into columns."""
    given = parse(call.args, "tnxeJL", "soclNRHdn", _COLUMN)
    if given.problem:
        return call.wrong(given.problem)
    lines = [line for _, text in call.inputs(given.words) for line in split_lines(text) if line.strip()]
    if not given.has("t", "J", "N"):
        return call.done(_filled(lines, given))
    signs = given.values.get("s")
    table = [
        re.split(f"[{re.escape(signs)}]" if signs else r"\s+", line.strip() if not signs else line) for line in lines
    ]
    names = given.values["N"].split(",") if "N" in given.values else []
    if given.has("J"):
        return call.done(_as_json(table, names, given.values.get("n", "table")))
    table = [names, *table] if names else table
    widths: list[int] = []
    for row in table:
        widths += [0] * (len(row) - len(widths))
        widths = [max(width, len(row[at])) if at < len(row) else width for at, width in enumerate(widths)]
    between = given.values.get("o", "  ")
    right = [word for word in given.values.get("R", "").split(",") if word]
    out = []
    for row in table:
        full = row + [""] * (len(widths) - len(row))
        cells = []
        for at, cell in enumerate(full):
            if "0" in right or str(at + 1) in right or (at < len(names) and names[at] in right):
                cells.append(cell.rjust(widths[at]))
            else:
                cells.append(cell.ljust(widths[at]) if at < len(widths) - 1 else cell)
        out.append(between.join(cells).rstrip() if "o" not in given.values else between.join(cells))
    return call.done("".join(line + "\n" for line in out))


def _filled(lines: list[str], given: Options) -> str:
    """Columns of a terminal's width, one below the other or (`-x`) one beside the other."""
    wide = (max(map(len, lines), default=0) // 8 + 1) * 8
    room = int(given.values["c"][:5]) if given.values.get("c", "").isdigit() else 80
    across = max(1, room // wide)
    rows = -(-len(lines) // across)
    out = []
    for at in range(rows):
        row = lines[at * across : (at + 1) * across] if given.has("x") else lines[at::rows]
        out.append("".join(cell + "\t" * (-(-(wide - len(cell)) // 8)) for cell in row[:-1]) + row[-1] + "\n")
    return "".join(out)


def _as_json(table: list[list[str]], names: list[str], title: str) -> str:
    rows = []
    for row in table:
        cells = [json.dumps(cell, ensure_ascii=False) for cell in row] + ["null"] * (len(names) - len(row))
        pairs = [f"         {json.dumps(name.lower())}: {cell}" for name, cell in zip(names, cells, strict=False)]
        rows.append("{\n" + ",\n".join(pairs) + "\n      }")
    return f"{{\n   {json.dumps(title)}: [\n      {','.join(rows)}\n   ]\n}}\n"


def paste(call: Call) -> Outcome:
    """Lines of files side by side, or with `-s` of one after the other."""
    given = parse(call.args, "sz", "d", {"serial": "s", "delimiters": "d"})
    if given.problem:
        return call.wrong(given.problem)
    signs = (
        re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t", "0": ""}.get(m[1], m[1]), given.values.get("d", "\t")) or "\0"
    )
    signs = "" if given.values.get("d") in ("", "\\0") else signs
    names = given.words or ["-"]
    if names.count("-") > 1:
        lines = split_lines(call.stdin())
        columns = [lines[at :: names.count("-")] for at in range(names.count("-"))]
    else:
        columns = [split_lines(text) for _, text in call.inputs(given.words, "{name}: {problem}")]
    if given.has("s"):
        return call.done("".join(_pasted(column, signs) + "\n" for column in columns))
    if call.said:  # all files are opened before anything is printed
        return call.done()
    rows = max(map(len, columns), default=0)
    out = [_pasted([column[at] if at < len(column) else "" for column in columns], signs) + "\n" for at in range(rows)]
    return call.done("".join(out))


def _pasted(items: list[str], signs: str) -> str:
    return "".join(
        item + (signs[at % len(signs)] if at < len(items) - 1 and signs else "") for at, item in enumerate(items)
    )


TOOLS: dict[str, Tool] = {"column": column, "comm": comm, "join": join, "paste": paste}
