"""What a model is told before its work: instructions, an example, runbooks and courses of other incidents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from simcluster.eval.chat.context import Message
from simcluster.eval.chat.options import ModelOptions
from simcluster.eval.chat.tools import in_words

#: Texts of each kind that are shown with the page, and characters of a runbook.
SHOWN, RUNBOOK_MAX = 2, 6_000


def prompt(name: str) -> str:
    """A file of instructions."""
    return files("simcluster.eval.chat").joinpath("prompts", f"{name}.txt").read_text(encoding="utf-8").strip()


def head(page: str, options: ModelOptions, past: Sequence[Sequence[str]], *, tools: bool) -> list[Message]:
    """The messages that every request begins with.

    Args:
        past: page and course of earlier runs, of which the nearest are shown.
        tools: whether tools are called as such; else they are told of in words.
    """
    undo = options.strategy == "undo"
    parts = [prompt("system")]
    if not tools:
        parts.append(f"{prompt('plain')}\n{in_words(undo=undo)}")
    if options.strategy != "bare":
        parts.append(prompt(options.strategy))
    if options.runbooks:
        parts += nearest(Path(options.runbooks), page)
    known = {f"{number}": one[0] for number, one in enumerate(past)}
    for name in ranked(known, page):
        parts.append(f"This is how somebody mended another incident, in another cluster:\n{past[int(name)][1]}")
    return [{"role": "system", "content": "\n\n".join(parts)}, {"role": "user", "content": page}]


def nearest(folder: Path, page: str) -> list[str]:
    """Runbooks of a folder that are nearest to a page."""
    texts = {path.name: path.read_text(errors="replace") for path in sorted(folder.iterdir()) if _is_text(path)}
    return [f"From the runbook {name}:\n{texts[name][:RUNBOOK_MAX]}" for name in ranked(texts, page)]


def ranked(texts: Mapping[str, str], page: str) -> list[str]:
    """Names of those that share most words with a page, weighted by how few have the word (sum of 1/n)."""
    words = {name: _words(text) for name, text in texts.items()}
    shared = {word: sum(word in own for own in words.values()) for word in sorted(_words(page))}
    points = {name: sum(1 / shared[word] for word in shared if word in own) for name, own in words.items()}
    return sorted((name for name in texts if points[name] > 0), key=lambda name: (-points[name], name))[:SHOWN]


def _is_text(path: Path) -> bool:
    return path.suffix in (".md", ".txt") and path.is_file()


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]{3,}", text.lower()))
