"""Unified differences of two texts, as `diff -u` of GNU diffutils prints them.

An O(ND) comparison after Myers, with groups of changes moved down as far as they go, as
GNU diff's shift_boundaries does. Left out: its heuristics for large files.
"""

from __future__ import annotations

from collections.abc import Sequence

_CONTEXT = 3
_NO_NEWLINE = "\\ No newline at end of file\n"


def unified(before: str, after: str) -> str:
    """The hunks without the two header lines; empty if the texts are equal.

    >>> unified("a\\nb\\n", "a\\nc\\n")
    '@@ -1,2 +1,2 @@\\n a\\n-b\\n+c\\n'
    """
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    gone, come = _changes(old, new)
    _move_down(old, gone, come)
    _move_down(new, come, gone)
    return "".join(_hunk(old, new, group) for group in _groups(_edits(gone, come)))


def _changes(old: Sequence[str], new: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """Which lines of `old` are gone and which of `new` are added."""
    gone, come = [False] * len(old), [False] * len(new)
    for x, y, kind in _path(old, new):
        if kind == "-":
            gone[x] = True
        else:
            come[y] = True
    return gone, come


def _path(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, str]]:
    """A shortest list of deletions and insertions."""
    furthest = {1: 0}
    trace: list[dict[int, int]] = []
    for d in range(len(old) + len(new) + 1):
        trace.append(dict(furthest))
        for k in range(-d, d + 1, 2):
            down = k == -d or (k != d and furthest.get(k - 1, -1) < furthest.get(k + 1, -1))
            x = furthest[k + 1] if down else furthest[k - 1] + 1
            y = x - k
            while x < len(old) and y < len(new) and old[x] == new[y]:
                x, y = x + 1, y + 1
            furthest[k] = x
            if x >= len(old) and y >= len(new):
                return _walk_back(trace, len(old), len(new))
    return []


def _walk_back(trace: Sequence[dict[int, int]], x: int, y: int) -> list[tuple[int, int, str]]:
    steps: list[tuple[int, int, str]] = []
    for d in range(len(trace) - 1, 0, -1):
        furthest, k = trace[d], x - y
        down = k == -d or (k != d and furthest.get(k - 1, -1) < furthest.get(k + 1, -1))
        before = k + 1 if down else k - 1
        x = furthest[before]
        y = x - before
        steps.append((x, y, "+" if down else "-"))
    return steps[::-1]


def _move_down(lines: Sequence[str], changed: list[bool], other: Sequence[bool]) -> None:
    """Move each group of changed lines to its last possible place.

    A group that, somewhere on its way, stands opposite to a group of the other side stays there.
    """
    start = 0
    while start < len(lines):
        if not changed[start]:
            start += 1
            continue
        end = start
        while end < len(lines) and changed[end]:
            end += 1
        if _opposite(changed, other, start):
            start = end
            continue
        first, last = start, end
        while last < len(lines) and not changed[last] and lines[first] == lines[last]:
            changed[first], changed[last] = False, True
            first, last = first + 1, last + 1
            while last < len(lines) and changed[last]:
                last += 1
            if _opposite(changed, other, first):
                break
        start = last


def _opposite(changed: Sequence[bool], other: Sequence[bool], start: int) -> bool:
    """Whether lines of the other side are changed where this group stands."""
    unchanged = changed[:start].count(False)
    position = 0
    for flag in other:
        if position == unchanged:
            return flag
        position += not flag
    return False


def _edits(gone: Sequence[bool], come: Sequence[bool]) -> list[tuple[str, int, int]]:
    """` `, `-` and `+` with the positions in both texts."""
    edits: list[tuple[str, int, int]] = []
    x = y = 0
    while x < len(gone) or y < len(come):
        if x < len(gone) and gone[x]:
            edits.append(("-", x, y))
            x += 1
        elif y < len(come) and come[y]:
            edits.append(("+", x, y))
            y += 1
        else:
            edits.append((" ", x, y))
            x, y = x + 1, y + 1
    return edits


def _groups(edits: Sequence[tuple[str, int, int]]) -> list[list[tuple[str, int, int]]]:
    """Hunks: changes with three lines around, joined where these meet."""
    ranges: list[list[int]] = []
    for i, (sign, _, _) in enumerate(edits):
        if sign == " ":
            continue
        low, high = max(0, i - _CONTEXT), min(len(edits), i + _CONTEXT + 1)
        if ranges and low <= ranges[-1][1]:
            ranges[-1][1] = high
        else:
            ranges.append([low, high])
    return [list(edits[low:high]) for low, high in ranges]


def _hunk(old: Sequence[str], new: Sequence[str], group: Sequence[tuple[str, int, int]]) -> str:
    removed = sum(sign != "+" for sign, _, _ in group)
    added = sum(sign != "-" for sign, _, _ in group)
    _, x, y = group[0]
    pieces = [f"@@ -{_range(x, removed)} +{_range(y, added)} @@\n"]
    for sign, i, j in group:
        line = new[j] if sign == "+" else old[i]
        pieces.append(sign + line if line.endswith("\n") else f"{sign}{line}\n{_NO_NEWLINE}")
    return "".join(pieces)


def _range(start: int, count: int) -> str:
    if count == 1:
        return str(start + 1)
    return f"{start if count == 0 else start + 1},{count}"
