"""diff and cmp. Source: diffutils 3.8."""

from __future__ import annotations

from difflib import SequenceMatcher

from simcluster.models.userland.datetimes import formatted
from simcluster.models.userland.escapes import raw
from simcluster.models.userland.options import Options, parse
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.place import Call, Tool
from simcluster.models.userland.tools.lines import kept_lines

_LONG = {
    "unified": "u",
    "context": "C",
    "ed": "e",
    "brief": "q",
    "recursive": "r",
    "ignore-case": "i",
    "ignore-all-space": "w",
    "ignore-space-change": "b",
    "ignore-blank-lines": "B",
    "side-by-side": "y",
    "suppress-common-lines": "suppress",
    "width": "W",
    "report-identical-files": "s",
    "new-file": "N",
    "text": "a",
    "color": "color",
    "label": "L",
    "strip-trailing-cr": "Z",
}
_Op = tuple[str, int, int, int, int]


def diff(call: Call) -> Outcome:
    """How two files or folders differ."""
    args = [f"-U{word[2:]}" if word.startswith("-u") and word[2:].isdigit() else word for word in call.args]
    letters, valued = ("uqriwbBysNaZced", "UWLxIC color") if call.gnu else ("abBdiNqrTstwu", "LSU")
    given = parse(args, letters, valued, _LONG)
    if given.problem:
        return call.wrong(given.problem, 2)
    if len(given.words) < 2:
        return call.wrong(
            "missing operand after ‘diff’" if not given.words else f"missing operand after ‘{given.words[0]}’", 2
        )
    left, right = given.words[:2]
    out: list[str] = []
    code = _compared(call, given, left, right, out)
    return Outcome("".join(out), "".join(call.said), 2 if call.said else code)


def _compared(call: Call, given: Options, left: str, right: str, out: list[str]) -> int:
    a, b = (call.look(name) if name != "-" else None for name in (left, right))
    if a is not None and b is not None and a.is_folder and b.is_folder:
        return _folders(call, given, left, right, out)
    if a is not None and a.is_folder and right != "-":
        left = f"{left.rstrip('/')}/{right.rpartition('/')[2]}"
    elif b is not None and b.is_folder and left != "-":
        right = f"{right.rstrip('/')}/{left.rpartition('/')[2]}"
    texts = [call.inputs([name]) for name in (left, right)]
    if call.said:
        return 2
    lines = [kept_lines(text[0][1]) for text in texts]
    keys = [[_key(line, given) for line in each] for each in lines]
    if keys[0] == keys[1]:
        out += [f"Files {left} and {right} are identical\n"] if given.has("s") else []
        return 0
    if given.has("q"):
        out.append(f"Files {left} and {right} differ\n")
        return 1
    operations = _operations(*keys)
    if given.has("B"):
        operations = [each for each in operations if not _blank(each, lines)]
        if not operations:
            return 0
    if given.has("u") or "U" in given.values or not call.gnu:
        context = int(given.values.get("U", "3")[:6] or 3)
        out += [
            f"{sign} {name}\t{_when(call, name)}\n" if call.gnu else f"{sign} {name}\n"
            for sign, name in (("---", left), ("+++", right))
        ]
        out += _unified(operations, lines[0], lines[1], context)
    elif given.has("y"):
        wide = given.values.get("W", "130")
        width = int(wide[:4]) if wide.isdigit() else 130
        out += _side_by_side(operations, lines[0], lines[1], width, common=not given.has("suppress"))
    elif given.has("e"):
        out += _script(operations, lines[1])
    elif given.has("c") or "C" in given.values:
        out += [f"{sign} {name}\t{_when(call, name)}\n" for sign, name in (("***", left), ("---", right))]
        out += _in_context(operations, lines[0], lines[1], int(given.values.get("C", "3")[:6] or 3))
    else:
        out += _normal(operations, *lines)
    return 1


def _when(call: Call, name: str) -> str:
    found = call.look(name) if name != "-" else None
    return formatted("%F %T.%N +0000", found.changed_ns if found is not None else call.now_ns)


def _key(line: str, given: Options) -> str:
    if given.has("w"):
        line = "".join(line.split())
    elif given.has("b"):
        line = " ".join(line.rstrip().split()) if line.strip() else ""
    return line.lower() if given.has("i") else line


def _operations(a: list[str], b: list[str]) -> list[_Op]:
    """What differs; of long texts only what common ends leave."""
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    stop = 0
    while stop < min(len(a), len(b)) - start and a[-1 - stop] == b[-1 - stop]:
        stop += 1
    x, y = a[start : len(a) - stop], b[start : len(b) - stop]
    if len(x) * len(y) > 4_000_000:
        return [("replace" if x and y else "delete" if x else "insert", start, len(a) - stop, start, len(b) - stop)]
    matcher = SequenceMatcher(None, x, y, autojunk=False)
    return [
        (tag, i1 + start, i2 + start, j1 + start, j2 + start)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def _marked(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"


def _span(first: int, last: int) -> str:
    return str(first + 1) if last - first == 1 else f"{first + 1},{last}" if last > first else str(first)


def _normal(operations: list[_Op], a: list[str], b: list[str]) -> list[str]:
    out = []
    for tag, i1, i2, j1, j2 in operations:
        out.append(f"{_span(i1, i2)}{ {'replace': 'c', 'delete': 'd', 'insert': 'a'}[tag] }{_span(j1, j2)}\n")
        out += [_marked("< ", line) for line in a[i1:i2]]
        out += ["---\n"] if tag == "replace" else []
        out += [_marked("> ", line) for line in b[j1:j2]]
    return out


def _blank(operation: _Op, lines: list[list[str]]) -> bool:
    """Whether only empty lines differ."""
    _, i1, i2, j1, j2 = operation
    return not any(line.strip() for line in (*lines[0][i1:i2], *lines[1][j1:j2]))


def _script(operations: list[_Op], b: list[str]) -> list[str]:
    """What ed(1) would be told: from the end to the beginning."""
    out = []
    for tag, i1, i2, j1, j2 in reversed(operations):
        out.append(f"{_span(i1, i2)}{ {'replace': 'c', 'delete': 'd', 'insert': 'a'}[tag] }\n")
        out += [] if tag == "delete" else [*b[j1:j2], ".\n"]
    return out


def _in_context(operations: list[_Op], a: list[str], b: list[str], context: int) -> list[str]:
    """Both sides of each place, one after the other."""
    out = []
    for group in _grouped(operations, context):
        out.append("***************\n")
        for side, sign, begins, ends, spans in (
            (a, "-", "***", "****", [(one[1], one[2], one[0]) for one in group]),
            (b, "+", "---", "----", [(one[3], one[4], one[0]) for one in group]),
        ):
            first, last = max(0, spans[0][0] - context), min(len(side), spans[-1][1] + context)
            shown = f"{first + 1},{last}" if last - first > 1 else str(last)
            out.append(f"{begins} {shown} {ends}\n")
            if any(start < stop for start, stop, _ in spans):
                at = first
                for start, stop, tag in spans:
                    mark = "! " if tag == "replace" else f"{sign} "
                    out += [_marked("  ", line) for line in side[at:start]]
                    out += [_marked(mark, line) for line in side[start:stop]]
                    at = stop
                out += [_marked("  ", line) for line in side[at:last]]
    return out


def _grouped(operations: list[_Op], context: int) -> list[list[_Op]]:
    """Differences that are so near that they are shown together."""
    groups: list[list[_Op]] = []
    for operation in operations:
        if groups and operation[1] - groups[-1][-1][2] <= 2 * context:
            groups[-1].append(operation)
        else:
            groups.append([operation])
    return groups


def _unified(operations: list[_Op], a: list[str], b: list[str], context: int) -> list[str]:
    out = []
    for group in _grouped(operations, context):
        first, last = group[0], group[-1]
        i1, i2 = max(0, first[1] - context), min(len(a), last[2] + context)
        j1, j2 = max(0, first[3] - context), min(len(b), last[4] + context)
        out.append(f"@@ -{_range(i1, i2)} +{_range(j1, j2)} @@\n")
        at = i1
        for _, a1, a2, b1, b2 in group:
            out += [_marked(" ", line) for line in a[at:a1]]
            out += [_marked("-", line) for line in a[a1:a2]] + [_marked("+", line) for line in b[b1:b2]]
            at = a2
        out += [_marked(" ", line) for line in a[at:i2]]
    return out


def _range(first: int, last: int) -> str:
    size = last - first
    return str(first + 1) if size == 1 else f"{first + 1 if size else first},{size}"


def _side_by_side(operations: list[_Op], a: list[str], b: list[str], width: int, *, common: bool) -> list[str]:
    """Two columns as GNU diff sets them: the right one begins at a multiple of the tabulator's 8."""
    out, at = [], 0
    offset = (width + 8 + 3) // 16 * 8
    half = max(0, min(offset - 3, width - offset))
    offset = offset if half else width

    def padded(text: str, begin: int, end: int) -> str:
        while begin // 8 < end // 8:
            text, begin = text + "\t", begin // 8 * 8 + 8
        return text + " " * (end - begin)

    def row(left: str, sign: str, right: str) -> str:
        left, right = left.rstrip("\n")[:half], right.rstrip("\n")[:half]
        if sign == " ":
            return (padded(left, len(left), offset) + right if right else left) + "\n"
        middle = (half + offset - 1) // 2
        text = padded(left, len(left), middle) + sign
        return (padded(text, middle + 1, offset) + right if right else text) + "\n"

    for _, i1, i2, j1, j2 in [*operations, ("end", len(a), len(a), len(b), len(b))]:
        out += [row(line, " ", line) for line in a[at:i1]] if common else []
        for n in range(max(i2 - i1, j2 - j1)):
            left, right = a[i1 + n] if i1 + n < i2 else "", b[j1 + n] if j1 + n < j2 else ""
            out.append(row(left, "|" if left and right else "<" if left else ">", right))
        at = i2
    return out


def _folders(call: Call, given: Options, left: str, right: str, out: list[str]) -> int:
    a, b = (call.files.names(call.resolved(name)) for name in (left, right))
    code = 0
    for name in sorted({*a, *b}):
        if name not in a or name not in b:
            out.append(f"Only in {left if name in a else right}: {name}\n")
            code = 1
            continue
        inner = [f"{folder.rstrip('/')}/{name}" for folder in (left, right)]
        kinds = [call.look(path) for path in inner]
        if all(each is not None and each.is_folder for each in kinds):
            if given.has("r"):
                code = max(code, _folders(call, given, inner[0], inner[1], out))
            else:
                out.append(f"Common subdirectories: {inner[0]} and {inner[1]}\n")
            continue
        lines: list[str] = []
        found = _compared(call, given, inner[0], inner[1], lines)
        if found and not given.has("q"):
            out.append(
                f"diff {' '.join(word for word in call.args if word.startswith('-'))} {inner[0]} {inner[1]}\n".replace(
                    "diff  ", "diff "
                )
            )
        out += lines
        code = max(code, found)
    return code


def compare(call: Call) -> Outcome:
    """cmp."""
    given = parse(call.args, "sbl", "ni", {"silent": "s", "quiet": "s"})
    if len(given.words) < 2:
        return call.wrong("missing operand after ‘cmp’", 2)
    texts = call.inputs(given.words[:2])
    if call.said:
        return call.done(code=2)
    a, b = (raw(text) for _, text in texts)
    if a == b:
        return Outcome()
    at = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    if given.has("s"):
        return Outcome(code=1)
    line = a[:at].count(b"\n") + 1
    short_of = min(len(a), len(b))
    if given.has("l"):
        wide = len(str(max(len(a), len(b)))) if call.gnu else 0
        rows = [f"{n + 1:>{wide}} {x:3o} {y:3o}\n" for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y]
        short = given.words[0 if len(a) < len(b) else 1]
        said = f"cmp: EOF on {short} after byte {short_of}\n" if call.gnu else f"cmp: EOF on {short}\n"
        return Outcome("".join(rows), said if len(a) != len(b) else "", 1)
    if at == min(len(a), len(b)):
        short = given.words[0 if len(a) < len(b) else 1]
        inside = a[:at][-1:] != b"\n"
        where = f"after byte {at}, {'in line' if inside else 'line'} {line if inside else line - 1}"
        return Outcome(stderr=f"cmp: EOF on {short} {where if at else 'which is empty'}\n", code=1)
    return Outcome(
        f"{given.words[0]} {given.words[1]} differ: {'byte' if call.gnu else 'char'} {at + 1}, line {line}\n", code=1
    )


TOOLS: dict[str, Tool] = {"cmp": compare, "diff": diff}
