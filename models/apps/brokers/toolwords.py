"""Words of Kafka's tools: their options, their errors, and their tables."""

from __future__ import annotations

from collections.abc import Sequence

#: Options without a value; those of the second row may have one.
FLAGS = (
    *("--list", "--describe", "--create", "--delete", "--alter", "--reset-offsets", "--execute", "--dry-run", "--all"),
    *(
        "--all-topics",
        "--all-groups",
        "--from-beginning",
        "--if-not-exists",
        "--if-exists",
        "--to-earliest",
        "--topics",
    ),
    *("--to-latest", "--to-current", "--members", "--offsets", "--verbose", "--version", "--help", "--entity-default"),
    *("--exclude-internal", "--exclude-internal-topics", "--include-internal", "--skip-message-on-error"),
    *("--unavailable-partitions", "--under-replicated-partitions", "--at-min-isr-partitions", "--status"),
    *("--under-min-isr-partitions", "--topics-with-overrides", "--enable-systest-events", "--export"),
)
OPTIONAL = ("--state", "--type")
_SHORT = {"-t": "--topic"}
#: Options that may be given more than once: their values are put together with a comma.
_REPEATED = ("--config", "--property", "--add-config", "--delete-config", "--topic-partitions")


class ToolError(Exception):
    """A tool ends with an error, which it prints."""


def options_of(words: tuple[str, ...]) -> dict[str, str]:
    """Options and their values; a flag's is empty.

    >>> options_of(("--topic", "t", "--list", "--time=-1"))
    {'--topic': 't', '--list': '', '--time': '-1'}
    """
    found: dict[str, str] = {}
    index = 0
    while index < len(words):
        word, equals, value = words[index].partition("=")
        word = _SHORT.get(word, word)
        following = words[index + 1] if index + 1 < len(words) else ""
        alone = word in FLAGS or not following or (word in OPTIONAL and following.startswith("--"))
        index += 1
        if not equals and not alone:
            value, index = following, index + 1
        found[word] = f"{found[word]},{value}" if word in _REPEATED and found.get(word) else value
    return found


def padded(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]], least: Sequence[int]) -> str:
    """Columns as wide as their widest value, and no narrower than they are at least (0: not padded)."""
    text = ""
    widths = [
        max(width, *(len(row[at]) for row in (heads, *rows))) if width else 0
        for at, width in zip(range(len(heads)), least, strict=False)
    ]
    for row in (heads, *rows):
        text += " ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + "\n"
    return text


def pairs_of(text: str) -> dict[str, str]:
    """`name=value,name=[a,b]` as a mapping.

    >>> pairs_of("retention.ms=1,cleanup.policy=[compact,delete]")
    {'retention.ms': '1', 'cleanup.policy': 'compact,delete'}
    """
    found: dict[str, str] = {}
    rest = text
    while rest:
        name, _, rest = rest.partition("=")
        if rest.startswith("["):
            value, _, rest = rest[1:].partition("]")
            rest = rest.removeprefix(",")
        else:
            value, _, rest = rest.partition(",")
        if name.strip():
            found[name.strip()] = value.strip()
    return found
