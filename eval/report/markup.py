"""HTML and SVG from pieces: every text is escaped, unless it is markup already."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

#: What no document may hold, and what escape sequences of terminals begin with.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
#: Signs that turn the direction of what follows.
_TURNING = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_EMPTY = ("br", "circle", "line", "meta", "path", "polygon", "polyline", "rect")
_STYLE = """
:root { color-scheme: light; --ink: #1f2328; --faint: #d0d7de; --good: #1a7f37; --bad: #cf222e; --link: #0969da; }
body { font: 15px/1.45 ui-sans-serif, system-ui, Helvetica, Arial, sans-serif; color: var(--ink);
  max-width: 1080px; margin: 2rem auto; padding: 0 1rem; background: white; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; border-bottom: 1px solid var(--faint); }
table { border-collapse: collapse; margin: .6rem 0; } th, td { padding: .25rem .7rem; text-align: left;
  vertical-align: top; border-bottom: 1px solid var(--faint); overflow-wrap: anywhere; }
th { font-weight: 600; } td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f6f8fa; padding: .6rem; margin: .3rem 0;
  max-height: 30rem; overflow-y: auto; font: 12px/1.4 ui-monospace, Menlo, Consolas, monospace; }
code { font: 12.5px ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
details > summary { cursor: pointer; } .good { color: var(--good); } .bad { color: var(--bad); }
.note { color: #57606a; } tr.write { background: #fff8c5; } tr.world { background: #f6f8fa; } svg { max-width: 100%; }
"""


class Markup(str):
    """Text that is markup and stays as it is."""

    __slots__ = ()


Piece = str | int | float | None


def clean(text: str) -> str:
    """A text without signs that a document may not hold or that change how others are shown."""
    return _TURNING.sub("\ufffd", _FORBIDDEN.sub("\ufffd", text))


def safe(piece: Piece) -> Markup:
    """A piece as markup."""
    if isinstance(piece, Markup):
        return piece
    return Markup(escape(clean("" if piece is None else str(piece))))


def tag(name: str, /, *inside: Piece, **attributes: Piece) -> Markup:
    """An element; `class_` and `stroke_width` are written `class` and `stroke-width`.

    >>> tag("td", "<b>", 3, class_="number")
    '<td class="number">&lt;b&gt;3</td>'
    """
    given = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value is not None}
    written = "".join(f' {key}="{safe(value)}"' for key, value in given.items())
    if name in _EMPTY:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{joined(inside)}</{name}>")


def joined(pieces: Iterable[Piece]) -> Markup:
    """Pieces one after the other."""
    return Markup("".join(safe(piece) for piece in pieces))


def table(head: Iterable[Piece], rows: Iterable[Iterable[Piece]]) -> Markup:
    """A table; numbers stand on the right."""
    top = tag("tr", *(tag("th", one) for one in head))
    return tag("table", top, *(tag("tr", *(_cell(one) for one in row)) for row in rows))


def _cell(piece: Piece) -> Markup:
    number = isinstance(piece, (int, float)) and not isinstance(piece, bool)
    return tag("td", verdict(piece) if isinstance(piece, bool) else piece, class_="number" if number else None)


def verdict(passed: bool) -> Markup:
    """`passed` or `failed` in its colour."""
    return tag("span", "passed" if passed else "failed", class_="good" if passed else "bad")


def section(title: str, *inside: Piece) -> Markup:
    """A part of a page."""
    return tag("section", tag("h2", title), *inside)


def folded(title: Piece, *inside: Piece) -> Markup:
    """A part that opens when it is asked for."""
    return tag("details", tag("summary", title), *inside)


def page(title: str, *inside: Piece) -> str:
    """A whole document that needs nothing else: no script, no font, no picture from elsewhere."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width"),
        tag("title", title),
        tag("style", Markup(_STYLE)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', tag('h1', title), *inside), lang='en')}\n"


def shown(value: object) -> Markup:
    """Any plain JSON: tables of lists of objects, lists of names and values, and texts."""
    if isinstance(value, dict):
        return table((), ((key, shown(one)) for key, one in value.items())) if value else safe("-")
    if isinstance(value, list):
        keys = list(dict.fromkeys(key for one in value if isinstance(one, dict) for key in one))
        if keys and all(isinstance(one, dict) for one in value):
            return table(keys, ([shown(one.get(key)) for key in keys] for one in value))
        return joined(tag("div", shown(one)) for one in value) if value else safe("-")
    if isinstance(value, bool):
        return tag("span", "yes" if value else "no", class_="good" if value else "bad")
    return safe(value if isinstance(value, (int, float)) else None if value is None else str(value))
