"""Which kubectl commands the tool takes, and what of its answers is shown.

Names, limits and refusals are those that agents written for SREGym's MCP server know.
"""

from __future__ import annotations

import shlex

#: Characters of an answer at most.
MOST_CHARACTERS = 10_000
_INTERACTIVE = ("debug", "edit", "wait", "proxy", "port-forward", "cp")
_STREAMS = ("-i", "-t", "-it", "-ti", "--stdin", "--tty")
_SHELL = (";", "&&", "||", "|", ">", ">>", "<", "&")


def words_of(command: str) -> tuple[list[str], str]:
    """The words after `kubectl`, and what a here-document gives to standard input.

    Raises:
        ValueError: the command is refused; the message says why.
    """
    line, stdin = _here_document(command.strip())
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        marked = list(lexer)
        words = shlex.split(line)
    except ValueError as problem:
        raise ValueError(f"Command rejected: {problem}") from None
    if words[:1] != ["kubectl"]:
        raise ValueError("Command rejected: it must start with 'kubectl'.")
    found = next((word for word in marked if word in _SHELL), None)
    if found is not None:
        raise ValueError(f"Command rejected: shell operators are not supported: {found!r}.")
    words = words[1:]
    _refuse(words)
    return words, stdin


def _here_document(command: str) -> tuple[str, str]:
    """A command without its here-document, and the document's text."""
    first, newline, rest = command.partition("\n")
    head, mark, word = first.partition("<<")
    if not mark:
        return command, ""
    end = word.strip().lstrip("-").strip("'\" ")
    lines = rest.splitlines()
    if not newline or not end or end not in lines:
        raise ValueError(f"Command rejected: the here-document does not end with {end or 'its word'!r}.")
    return head, "\n".join(lines[: lines.index(end)]) + "\n"


def _refuse(words: list[str]) -> None:
    before = words[: words.index("--")] if "--" in words else words
    verbs = [word for word in before if not word.startswith("-")]
    verb = verbs[0] if verbs else ""
    if verb in _INTERACTIVE:
        raise ValueError(f"Command rejected: 'kubectl {verb}' is interactive or blocks.")
    stream = next((word for word in before if word in _STREAMS or word.startswith(("--stdin=", "--tty="))), None)
    if verb in ("exec", "run", "attach") and stream is not None:
        raise ValueError(f"Command rejected: interactive flag {stream!r} is not supported.")
    if verb == "logs" and any(word in ("-f", "--follow", "--follow=true") for word in before):
        raise ValueError("Command rejected: 'kubectl logs -f' never ends; leave out -f.")
    if verb == "delete" and any(word.split("/")[0] in ("ns", "namespace", "namespaces") for word in verbs[1:2]):
        raise ValueError("Command rejected: namespaces must not be deleted.")


def unattended(words: list[str]) -> list[str]:
    """The words as the tool runs them: a deletion does not wait."""
    if "delete" in words[:3] and not any(word.startswith("--wait") for word in words):
        return [*words, "--wait=false"]
    return words


def shown(text: str) -> str:
    """An answer, cut where it grows too long."""
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}\n... [truncated: {len(text)} characters, the first {MOST_CHARACTERS} are shown]"
