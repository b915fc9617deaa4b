r"""Results as the client `mysql` prints them: between tabulators, as a table (`-t`), or a line for each value (`\G`).

Source: client/mysql.cc (print_tab_data, print_table_data, print_table_data_vertically) of MySQL 8.0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from simcluster.models.apps.stores.sql.tables import Row

Value = Any  # None, bool, int, float or str
_ESCAPED = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\0": "\\0"}


class Answer(NamedTuple):
    """What a statement gives: nothing, or heads and rows.

    Attributes:
        seconds: how long it took.
    """

    heads: Sequence[str] = ()
    rows: Sequence[Sequence[Value]] = ()
    seconds: float = 0.0


class Form(NamedTuple):
    """How results are printed: `-t`, `-E`, `-N`, `-r`."""

    table: bool = False
    vertical: bool = False
    bare: bool = False
    raw: bool = False


def printed(answer: Answer, form: Form) -> str:
    r"""The text of a result; nothing at all if there are no rows.

    >>> printed(Answer(("a", "b"), [(1, None), (2, "x")]), Form())
    'a\tb\n1\tNULL\n2\tx\n'
    """
    cells = [[shown(value) for value in row] for row in answer.rows]
    if not cells:
        return ""
    if form.vertical:
        return _vertical(answer.heads, cells, bare=form.bare)
    if form.table:
        return _table(answer, cells, bare=form.bare)
    lines = [[cell if form.raw else _escaped(cell) for cell in row] for row in cells]
    return "".join("\t".join(line) + "\n" for line in ([] if form.bare else [list(answer.heads)]) + lines)


def shown(value: Value) -> str:
    """A value as the client prints it."""
    return "NULL" if value is None else str(int(value)) if isinstance(value, bool) else str(value)


def _escaped(cell: str) -> str:
    return "".join(_ESCAPED.get(each, each) for each in cell)


def _vertical(heads: Sequence[str], cells: Sequence[Sequence[str]], *, bare: bool) -> str:
    wide = max(map(len, heads))
    out = []
    for number, row in enumerate(cells, 1):
        out.append(f"*************************** {number}. row ***************************")
        out += [cell if bare else f"{head.rjust(wide)}: {cell}" for head, cell in zip(heads, row, strict=True)]
    return "\n".join(out) + "\n"


def _table(answer: Answer, cells: Sequence[Sequence[str]], *, bare: bool) -> str:
    heads = ["" if bare else head for head in answer.heads]
    widths = [max([len(head), *(len(row[at]) for row in cells)]) for at, head in enumerate(heads)]
    right = [_is_number([row[at] for row in answer.rows]) for at in range(len(heads))]
    rule = "+" + "".join("-" * (width + 2) + "+" for width in widths)
    lines = [
        "|" + "".join(f" {cell.rjust(width) if number else cell.ljust(width)} |"
                      for cell, width, number in zip(row, widths, right, strict=True))
        for row in cells
    ]  # fmt: skip
    head = "|" + "".join(f" {name.ljust(width)} |" for name, width in zip(heads, widths, strict=True))
    return "\n".join([rule, *([] if bare else [head, rule]), *lines, rule]) + "\n"


def _is_number(values: Sequence[Value]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(value, int | float) for value in known)


def matches(pattern: str | None, name: str) -> bool:
    r"""Whether a name is LIKE a pattern, in any case of its letters.

    >>> matches("%read\\_only%", "super_read_only"), matches("Threads_", "threads"), matches(None, "x")
    (True, False, True)
    """
    if pattern is None:
        return True
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    kinds = {"%": ".*", "_": "."}
    wanted = "".join(kinds.get(each) or re.escape(each[-1]) for each in parts)
    return re.fullmatch(wanted, name, re.IGNORECASE | re.DOTALL) is not None


def listed(heads: Sequence[str], rows: Sequence[Row]) -> Answer:
    """Rows by the names of columns."""
    return Answer(heads, [[row.get(head) for head in heads] for row in rows])
