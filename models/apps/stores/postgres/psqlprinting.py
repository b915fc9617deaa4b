r"""Tables as psql prints them: aligned, unaligned (`-A`), expanded (`-x`), as CSV, without heads (`-t`).

Numbers stand right, all else left. Source: fe_utils/print.c of PostgreSQL 16. Left out: borders, wrapping, HTML.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

Value = Any  # None, bool, int, float or str


class Printer:
    """How a session prints.

    Attributes:
        plain, bare, expanded, csv, quiet: `-A`, `-t`, `-x`, `--csv`, `-q`; separator: `-F`.
    """

    def __init__(self) -> None:
        self.plain = self.bare = self.expanded = self.csv = self.quiet = False
        self.separator = "|"

    def take(self, switch: str) -> None:
        """A switch of one letter."""
        self.plain = self.plain or switch == "A"
        self.bare = self.bare or switch == "t"
        self.expanded = self.expanded or switch == "x"
        self.quiet = self.quiet or switch == "q"

    def table(
        self, heads: Sequence[str], rows: Sequence[Sequence[Value]], title: str = "", footer: str | None = None
    ) -> str:
        """A table.

        Args:
            footer: what stands below it; by default the number of its rows.
        """
        cells = [[shown(value) for value in row] for row in rows]
        if footer is None:
            footer = f"({len(rows)} row{'' if len(rows) == 1 else 's'})\n"
        if self.csv:
            lines = [",".join(_quoted(cell) for cell in row) for row in ([] if self.bare else [heads]) + cells]
            return "".join(f"{line}\n" for line in lines)
        if self.expanded and not title:
            return expanded(heads, cells)
        if self.plain:
            lines = [self.separator.join(row) for row in cells]
            if not self.bare:
                lines = [*([title] if title else []), self.separator.join(heads), *lines, footer.removesuffix("\n")]
            return "".join(f"{line}\n" for line in lines if line or lines == [""])
        return self._aligned(heads, rows, cells, title, footer)

    def _aligned(self, heads: Sequence[str], rows: Sequence[Sequence[Value]], cells: list[list[str]], title: str,
                 footer: str) -> str:  # fmt: skip
        widths = [max([len(head), *(len(row[i]) for row in cells)]) for i, head in enumerate(heads)]
        right = [_is_number([row[i] for row in rows]) for i in range(len(heads))]
        ends = [*widths[:-1], 0]  # what stands left in the last column ends with its text
        lines = [
            " " + " | ".join(c.rjust(w) if r else c.ljust(end)
                             for c, w, end, r in zip(row, widths, ends, right, strict=True))
            for row in cells
        ]  # fmt: skip
        if self.bare:
            return "".join(f"{line}\n" for line in lines) + "\n"
        head = " " + " | ".join(_centered(h, w) for h, w in zip(heads, widths, strict=True))
        rule = "-" + "-+-".join("-" * w for w in widths) + "-"
        top = [title.center(len(rule)).rstrip()] if title else []
        return "\n".join([*top, f"{head} ", rule, *lines, footer, ""])


def shown(value: Value) -> str:
    """A value as psql prints it."""
    return "" if value is None else ("t" if value else "f") if isinstance(value, bool) else str(value)


def _is_number(values: Sequence[Value]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known)


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if re.search(r'[",\n\r]', cell) or cell == "\\." else cell


def _centered(text: str, width: int) -> str:
    """A head over its column: the odd blank stands behind it."""
    return (" " * ((width - len(text)) // 2) + text).ljust(width)


def expanded(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""A table as psql expands it: a line for each value.

    >>> expanded(("a", "bc"), [("1", "x")])
    '-[ RECORD 1 ]\na  | 1\nbc | x\n\n'
    """
    wide = max(map(len, heads), default=0)
    most = max((len(cell) for row in rows for cell in row), default=0)
    out = []
    for number, row in enumerate(rows, 1):
        rule = "-" * (wide + 1) + "+" + "-" * (most + 1)
        title = f"-[ RECORD {number} ]"
        out.append(title + rule[len(title) :] if len(rule) > len(title) else title)
        out += [f"{head.ljust(wide)} | {cell}".rstrip() if not cell else f"{head.ljust(wide)} | {cell}"
                for head, cell in zip(heads, row, strict=True)]  # fmt: skip
    return "\n".join([*(out or ["(0 rows)"]), "", ""])
