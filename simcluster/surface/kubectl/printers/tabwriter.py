"""Elastic tab stops: text with tab-ended cells becomes aligned columns.

The layout rule is that of Go's text/tabwriter, which kubectl uses everywhere: a column is
a run of adjacent lines that have a tab-ended cell at that position; it is as wide as its
widest cell plus the padding, and at least `min_width`. The last cell of a line belongs to
no column. Left out: escapes, tabs as padding, right alignment.
"""

from __future__ import annotations


def align(text: str, *, min_width: int = 0, padding: int = 2) -> str:
    """The text with its tabs replaced by padding.

    The defaults are those of `kubectl describe` (tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)).

    >>> align("Name:\\tgeo\\nNamespace:\\thotel\\n")
    'Name:       geo\\nNamespace:  hotel\\n'
    """
    lines = [line.split("\t") for line in text.split("\n")]
    output: list[str] = []
    _format(lines, 0, len(lines), [], output, min_width, padding)
    return "\n".join(output)


def _format(
    lines: list[list[str]], start: int, end: int, widths: list[int], output: list[str], min_width: int, padding: int
) -> None:
    column = len(widths)
    this = start
    while this < end:
        if column >= len(lines[this]) - 1:
            this += 1
            continue
        _emit(lines, start, this, widths, output)
        start = this
        width = min_width
        while this < end and column < len(lines[this]) - 1:
            width = max(width, len(lines[this][column]) + padding)
            this += 1
        _format(lines, start, this, [*widths, width], output, min_width, padding)
        start = this
    _emit(lines, start, end, widths, output)


def _emit(lines: list[list[str]], start: int, end: int, widths: list[int], output: list[str]) -> None:
    for cells in lines[start:end]:
        output.append("".join(cell.ljust(widths[i]) if i < len(widths) else cell for i, cell in enumerate(cells)))


class ColumnWriter:
    """Rows of equal length in columns, as `kubectl get` and `kubectl top` print them.

    Padding 3 and at least 6 wide (printers.GetNewTabWriter); widths are remembered between
    flushes, so that the rows of a watch stay under their headings.
    """

    MIN_WIDTH = 6
    PADDING = 3

    def __init__(self) -> None:
        self._widths: list[int] = []
        self._rows: list[list[str]] = []

    def row(self, cells: list[str]) -> None:
        """Add a row."""
        self._rows.append(cells)

    def forget(self) -> None:
        """Start a table with other columns."""
        self._widths = []

    def flush(self) -> str:
        """The rows added since the last flush."""
        for cells in self._rows:
            for i, cell in enumerate(cells[:-1]):
                wanted = max(self.MIN_WIDTH, len(cell) + self.PADDING)
                if i == len(self._widths):
                    self._widths.append(wanted)
                elif self._widths[i] < wanted:
                    self._widths[i] = wanted
        lines = []
        for cells in self._rows:
            padded = [cell.ljust(self._widths[i]) for i, cell in enumerate(cells[:-1])]
            lines.append("".join(padded) + (cells[-1] if cells else "") + "\n")
        self._rows = []
        return "".join(lines)
