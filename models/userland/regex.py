"""POSIX regular expressions, basic (`G`), extended (`E`), fixed (`F`) or Perl's (`P`), in linear time.

Patterns are parsed here, which gives the errors of the real tools, and matched by RE2, leftmost-longest as POSIX wants.
Those with back references, which RE2 has not, are matched by backtracking with a bounded number of steps. Left out:
collating elements, equivalence classes; look-around inside of Perl's patterns is refused like a pattern that is too
hard (a `\\K`, a look-behind at the beginning and a look-ahead at the end are matched).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import re2

from simcluster.models.userland.backtrack import Backtracker
from simcluster.models.userland.escapes import byte
from simcluster.models.userland.patterns import searchable

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": " \\t\\n\\r\\f\\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
#: Characters that sed writes so, and those that it gives by number.
_CONTROLS = {"r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_CODED = re.compile(r"x[0-9A-Fa-f]{1,2}|o[0-7]{1,3}|d[0-9]{1,3}")
_SHORT = {"w": "[0-9A-Za-z_]", "W": "[^0-9A-Za-z_]", "s": "[ \\t\\n\\r\\f\\v]", "S": "[^ \\t\\n\\r\\f\\v]"}
_WORDS = {"<": "\\b", ">": "\\b", "b": "\\b", "B": "\\B"}
_SPECIAL = frozenset(".+*?()|[]{}^$\\")
_DUP_MAX = 32_767
_DEEP = 120

Node = tuple[Any, ...]


class RegexError(Exception):
    """The pattern is malformed; the text is the C library's."""


class Match:
    """One match.

    Attributes:
        start, end: where it lies in the text.
        groups: the whole and each group; None for one that took no part.
        spans: where they lie.
    """

    __slots__ = ("end", "groups", "spans", "start")

    def __init__(self, text: str, spans: list[tuple[int, int]]) -> None:
        self.start, self.end = spans[0]
        self.spans = spans
        self.groups: list[str | None] = [None if a < 0 else text[a:b] for a, b in spans]


class Pattern:
    """A compiled pattern."""

    def __init__(self, program: Any, count: int, plain: str | None, word: bool = False, *, kept: bool = False) -> None:
        """`kept`: the first group is all that a match is said to be."""
        self._kept = kept
        self.count = count
        self._program = program
        self._plain = plain
        self._word = word

    def search(self, text: str, at: int = 0) -> Match | None:
        """The first match from a place on, or None."""
        if not self._word:
            return self._search(text, at)
        while at <= len(text):
            found = self._search(text, at)
            if found is None:
                return None
            stop = self._whole_word(text, found)
            if stop >= 0:
                return found if stop == found.end else Match(text, [(found.start, stop)])
            at = found.start + 1
        return None

    def iterate(self, text: str) -> Iterator[Match]:
        """All matches from left to right; an empty one never stands right behind another."""
        last = -1
        for found in self._all(text):
            if not found.start == found.end == last:
                yield found
            last = found.end

    def _all(self, text: str) -> Iterator[Match]:
        if self._plain is None and not self._word and not isinstance(self._program, Backtracker):
            for found in self._program.finditer(searchable(text)):
                yield Match(text, [found.span(n) for n in range(self._kept, self.count + 1)])
            return
        at = 0
        while at <= len(text):
            match = self.search(text, at)
            if match is None:
                return
            yield match
            at = match.end if match.end > match.start else match.end + 1

    def matches(self, text: str) -> bool:
        """Whether there is a match anywhere."""
        if self._plain is not None and not self._word:
            return self._plain in text
        return self.search(text) is not None

    def _search(self, text: str, at: int) -> Match | None:
        if self._plain is not None:
            start = text.find(self._plain, at)
            return None if start < 0 else Match(text, [(start, start + len(self._plain))])
        if isinstance(self._program, Backtracker):
            spans = self._program.search(text, at)
            return None if spans is None else Match(text, spans)
        found = self._program.search(searchable(text), at)
        return None if found is None else Match(text, [found.span(n) for n in range(self._kept, self.count + 1)])

    def _whole_word(self, text: str, found: Match) -> int:
        """Where a match ends that is a word of its own (grep -w tries shorter ones, too); -1 if none does."""
        if found.start and _is_word(text[found.start - 1]):
            return -1
        for stop in range(found.end, found.start, -1):
            if (stop == len(text) or not _is_word(text[stop])) and (
                stop == found.end or self._fits(text, found.start, stop)
            ):
                return stop
        return found.end if found.end == found.start else -1

    def _fits(self, text: str, start: int, stop: int) -> bool:
        inner = self._search(text[:stop], start)
        return inner is not None and (inner.start, inner.end) == (start, stop)


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


@lru_cache(maxsize=512)
def compile_pattern(
    pattern: str,
    kind: str,
    *,
    ignore_case: bool = False,
    whole_word: bool = False,
    whole_line: bool = False,
    multiline: bool = False,
    escapes: bool = False,
) -> Pattern:
    """A compiled pattern. Several lines of pattern are alternatives.

    Args:
        escapes: whether `\\n` and `\\t` are characters inside of brackets, too, and `\\r` and `\\x41` as sed has them.

    Raises:
        RegexError: the pattern is malformed.

    >>> compile_pattern(r"\\(a\\)b\\1", "G").search("xaba").groups
    ['aba', 'a']
    >>> compile_pattern("a|ab", "E").search("xab").groups
    ['ab']
    """
    if kind == "F" and "\n" not in pattern and not ignore_case and not whole_line:
        return Pattern(None, 0, pattern, whole_word)
    options = re2.Options()
    options.log_errors = False
    options.longest_match = kind != "P"
    options.case_sensitive = not ignore_case
    options.max_mem = 4 << 20
    flags = "(?sm)" if multiline else "(?s)"
    if kind == "P":
        source, kept = _kept(pattern)
        return Pattern(*_perl(source, options, whole_line), None, whole_word, kept=kept)
    sources, count = [], 0
    for line in pattern.split("\n"):
        if kind == "F":
            sources.append("".join("\\" + c if c in _SPECIAL else c for c in line))
            continue
        parser = _Parser(line, kind == "E", count, escapes=escapes)
        tree = parser.tree()
        count = parser.groups
        if parser.back and "\n" not in pattern:
            tree = ("seq", [("bol",), tree, ("eol",)]) if whole_line else tree
            return Pattern(Backtracker(tree, count, ignore_case=ignore_case), count, None, whole_word)
        if parser.back:
            raise RegexError("Invalid back reference")
        sources.append(_source(tree))
    text = "|".join(f"(?:{source})" for source in sources) if len(sources) > 1 else sources[0]
    text = f"^(?:{text})$" if whole_line else text
    try:
        return Pattern(re2.compile(searchable(flags + text), options), count, None, whole_word)
    except re2.error:
        raise RegexError("Regular expression too big") from None


def _kept(pattern: str) -> tuple[str, bool]:
    r"""A pattern whose first group is what is kept of a match: of `\K`, of a look-behind that begins it, of a
    look-ahead that ends it. Where it has none of these, the pattern itself, and False.

    >>> _kept(r"id=\K[0-9]+"), _kept(r"(?<=a)b"), _kept(r"[0-9]+(?=%)")
    (('(?:id=)([0-9]+)', True), ('(?:a)(b)', True), ('([0-9]+)(?:%)', True))
    """
    head, tail = "", ""
    place = re.search(r"(?<!\\)(?:\\\\)*\\K", pattern)
    if place is not None:
        head, pattern = pattern[: place.end() - 2], pattern[place.end() :]
        if (behind := re.match(r"\(\?<=([^()]*)\)", head)) is not None:
            head = f"(?:{behind[1]}){head[behind.end() :]}"
    elif (behind := re.match(r"\(\?<=([^()]*)\)", pattern)) is not None:
        head, pattern = behind[1], pattern[behind.end() :]
    if (ahead := re.search(r"\(\?=([^()]*)\)$", pattern)) is not None:
        tail, pattern = ahead[1], pattern[: ahead.start()]
    if not head and not tail:
        return pattern, False
    return (f"(?:{head})" if head else "") + f"({pattern})" + (f"(?:{tail})" if tail else ""), True


def _perl(pattern: str, options: Any, whole_line: bool) -> tuple[Any, int]:
    text = f"^(?:{pattern})$" if whole_line else pattern
    # Other look-arounds, possessive forms and back references have no counterpart in an automaton.
    try:
        program = re2.compile(searchable(text), options)
    except re2.error:
        hard = any(mark in pattern for mark in ("(?=", "(?!", "(?<", "\\1", "\\2", "\\K", "(?>"))
        raise RegexError("exceeded PCRE's backtracking limit" if hard else "invalid pattern") from None
    return program, program.groups


class _Parser:
    def __init__(self, text: str, extended: bool, groups: int, *, escapes: bool = False) -> None:
        self.escapes = escapes
        self.text = text
        self.at = 0
        self.extended = extended
        self.groups = groups
        self.first_group = groups
        self.back = False
        self.depth = 0
        self.closed: list[int] = []

    def tree(self) -> Node:
        node = self._alternatives()
        if self.at < len(self.text):
            raise RegexError("Unmatched ) or \\)")
        return node

    def _sees(self, mark: str) -> bool:
        """Whether an operator stands here: `(` in an extended pattern, `\\(` in a basic one."""
        return self.text.startswith(mark if self.extended else "\\" + mark, self.at)

    def _skip(self) -> None:
        self.at += 1 if self.extended else 2

    def _alternatives(self) -> Node:
        self.depth += 1
        if self.depth > _DEEP:
            raise RegexError("Regular expression too big")
        branches = [self._branch()]
        while self._sees("|"):
            self._skip()
            branches.append(self._branch())
        self.depth -= 1
        return branches[0] if len(branches) == 1 else ("alt", branches)

    def _branch(self) -> Node:
        nodes: list[Node] = []
        while self.at < len(self.text) and not self._sees("|"):
            if self._sees(")") and (self.depth > 1 or not self.extended):
                break
            node = self._atom(first=not nodes)
            nodes.append(self._repeated(node))
        return ("seq", nodes)

    def _atom(self, *, first: bool) -> Node:
        char = self.text[self.at]
        if self._sees("("):
            self._skip()
            self.groups += 1
            number = self.groups
            inner = self._alternatives()
            if not self._sees(")"):
                raise RegexError("Unmatched ( or \\(")
            self._skip()
            self.closed.append(number)
            return ("group", number, inner)
        self.at += 1
        if char == "\\":
            return self._escaped()
        if char == "[":
            return self._bracket()
        if char == ".":
            return ("any",)
        if char == "^" and (self.extended or first):
            return ("bol",)
        if char == "$" and (self.extended or self.at == len(self.text) or self._sees(")") or self._sees("|")):
            return ("eol",)
        if char in "*+?{" and self.extended and first and char != "{":
            if char == "*":
                return ("char", "*")
            return ("char", char)
        return ("char", char)

    def _escaped(self) -> Node:
        if self.at >= len(self.text):
            raise RegexError("Trailing backslash")
        char = self.text[self.at]
        self.at += 1
        if char.isdigit() and char != "0":
            number = self.first_group + int(char)
            if number not in self.closed:
                raise RegexError("Invalid back reference")
            self.back = True
            return ("back", number)
        if char in _SHORT:
            return ("set", _SHORT[char])
        if char in _WORDS:
            return ("word", char)
        if char in "`'":
            return ("bol",) if char == "`" else ("eol",)
        if self.escapes and char in _CONTROLS:
            return ("char", _CONTROLS[char])
        coded = _CODED.match(self.text, self.at - 1) if self.escapes else None
        if coded is not None:
            self.at = coded.end()
            return ("char", byte(int(coded[0][1:], {"x": 16, "o": 8, "d": 10}[char]) & 255))
        return ("char", {"n": "\n", "t": "\t"}.get(char, char))

    def _repeated(self, node: Node) -> Node:
        while self.at < len(self.text):
            char = self.text[self.at]
            anchor = node[0] == "bol" and not self.extended
            if char == "*" and not anchor:
                self.at += 1
                node = ("rep", node, 0, None)
            elif self._sees("+") or self._sees("?"):
                node = ("rep", node, 1, None) if self._sees("+") else ("rep", node, 0, 1)
                self._skip()
            elif self._sees("{"):
                bounds = self._bounds()
                if bounds is None:
                    return node
                node = ("rep", node, *bounds)
            else:
                return node
        return node

    def _bounds(self) -> tuple[int, int | None] | None:
        start = self.at + (1 if self.extended else 2)
        stop = self.text.find("}" if self.extended else "\\}", start)
        body = self.text[start:stop] if stop >= 0 else ""
        low, comma, high = body.partition(",")
        if stop < 0 or not all(part.isdigit() or not part for part in (low, high)) or (not low and not high):
            if self.extended and (stop < 0 or not body[:1].isdigit()):
                return None  # a brace that begins no interval stands for itself
            raise RegexError("Unmatched \\{" if stop < 0 else "Invalid content of \\{\\}")
        self.at = stop + (1 if self.extended else 2)
        least = int(low[:9] or 0)
        most = int(high[:9]) if high else None if comma else least
        if max(least, most or 0) > _DUP_MAX:
            raise RegexError("Regular expression too big")
        if most is not None and most < least:
            raise RegexError("Invalid content of \\{\\}")
        return least, most

    def _bracket(self) -> Node:
        text, at = self.text, self.at
        negated = text.startswith("^", at)
        at += negated
        first, body = at, ""
        while at < len(text):
            char = text[at]
            if char == "]" and at > first:
                self.at = at + 1
                return ("set", f"[{'^' if negated else ''}{body}]")
            if self.escapes and char == "\\" and text[at + 1 : at + 2] in ("n", "t", "r", "f", "v"):
                body += text[at : at + 2]
                at += 2
                continue
            if text.startswith("[:", at) and ":]" in text[at:]:
                name = text[at + 2 : text.index(":]", at)]
                if name not in _CLASSES:
                    raise RegexError("Invalid character class name")
                body += _CLASSES[name]
                at += len(name) + 4
                continue
            if text.startswith(("[.", "[="), at) and text[at + 1] + "]" in text[at + 2 :]:
                stop = text.index(text[at + 1] + "]", at + 2)
                char, at = text[at + 2 : stop], stop + 1
            elif text.startswith("-", at + 1) and text[at + 2 : at + 3] not in ("]", ""):
                last = text[at + 2]
                if last == "[" and text.startswith("[.", at + 2):
                    last = text[at + 4]
                    at += 4
                if last < char:
                    raise RegexError("Invalid range end")
                body += f"{_in_set(char)}-{_in_set(last)}"
                at += 3
                continue
            body += "".join(_in_set(each) for each in char)
            at += 1
        raise RegexError("Unmatched [, [^, [:, [., or [=")


def _in_set(char: str) -> str:
    return char if char.isalnum() or char in " _" else {"\n": "\\n", "\t": "\\t"}.get(char, "\\" + char)


def _source(node: Node) -> str:
    """A parsed pattern as RE2 writes it."""
    kind = node[0]
    if kind == "char":
        return "\\" + str(node[1]) if node[1] in _SPECIAL else str(node[1])
    if kind == "seq":
        return "".join(_source(each) for each in node[1])
    if kind == "alt":
        return "(?:" + "|".join(_source(each) for each in node[1]) + ")"
    if kind == "group":
        return f"({_source(node[2])})"
    if kind == "rep":
        _, inner, least, most = node
        times = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((least, most))
        times = times or (f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}")
        return f"(?:{_source(inner)}){times}"
    if kind == "set":
        return str(node[1])
    if kind == "word":
        return _WORDS[node[1]]
    return {"any": ".", "bol": "^", "eol": "$"}[kind]
