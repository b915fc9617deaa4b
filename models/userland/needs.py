"""How much of its input a stage of a pipeline reads: what stands before it may print without end."""

from __future__ import annotations

from typing import Any


def need_of(stage: list[tuple[Any, ...]]) -> tuple[str, int] | None:
    """How much of its input a stage of a pipeline reads at most: ("lines" or "characters", count), or None."""
    if len(stage) != 1 or stage[0][0] != "cmd" or stage[0][1]:
        return None
    words = [word[0][1] if len(word) == 1 and word[0][0] == "lit" else None for word in stage[0][2]]
    if not words or words[0] is None or any(word is None for word in words):
        return None
    plain = [str(word) for word in words]
    name, rest = plain[0].rpartition("/")[2], plain[1:]
    if name == "head":
        return _head_need(rest)
    if name in ("sed",) and rest and rest[-1].endswith("q") and rest[-1][:-1].isdigit():
        return "lines", int(rest[-1][:-1][:9])
    if name in ("true", "false", ":", "echo", "date"):
        return "lines", 0
    if name == "read":
        return "lines", 1
    if name in ("grep", "egrep", "fgrep") and any(w.startswith("-") and w[1:2] != "-" and "q" in w for w in rest):
        return "found", 1
    if name in ("grep", "egrep", "fgrep") and any(w.startswith(("-m", "--max-count")) for w in rest):
        return "found", 1
    return None


def _head_need(rest: list[str]) -> tuple[str, int] | None:
    count, unit = "10", "lines"
    for at, word in enumerate(rest):
        if word[:2] in ("-n", "-c"):
            count = word[2:] or (rest[at + 1] if at + 1 < len(rest) else "")
            unit = "lines" if word[1] == "n" else "characters"
        elif word[:1] == "-" and word[1:].isdigit():
            count = word[1:]
        elif word.startswith(("--lines=", "--bytes=")):
            count = word.partition("=")[2]
            unit = "lines" if word[2] == "l" else "characters"
    return (unit, int(count[:9])) if count.isdigit() else None
