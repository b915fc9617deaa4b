"""What the options of busybox's `wget` say about a request, and what clients of HTTP tell of theirs.

Left out: redirects.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.models.machine.imagetools.call import ToolCall
from simcluster.models.machine.process import ANY_SERVER, Call

#: Long options of wget with a value.
LONG_WITH_VALUE = (
    "--header",
    "--post-data",
    "--user-agent",
    "--timeout",
    "--tries",
    "--output-document",
    "--post-file",
)


class Sent(NamedTuple):
    """A request as its client tells of it: its URL and method, and the bytes of its head and its body."""

    url: str
    scheme: str
    method: str
    head: int
    body: int


def http_call(call: ToolCall, scheme: str, host: str, port: int, path: str) -> Call:
    """The request that a call of wget sends."""
    found = [("user-agent", next(reversed(_values(call, "-U", "--user-agent")), "Wget")), ("accept", "*/*")]
    for text in _values(call, "--header"):
        name, colon, value = text.partition(":")
        if colon:
            found = [entry for entry in found if entry[0] != name.strip().lower()]
            found.append((name.strip().lower(), value.strip()))
    named = dict(found)
    body = "&".join(_values(call, "--post-data"))
    if body and "content-type" not in named:
        found.append(("content-type", "application/x-www-form-urlencoded"))
    secure = scheme == "https"
    trust = ANY_SERVER if secure else ""  # busybox' wget validates nothing
    method = "POST" if body else "GET"
    return Call("http", port, path, named.get("host") or host, method, secure, tuple(found), body, trust)


def _values(call: ToolCall, *names: str) -> list[str]:
    """Every value of an option, given as `-U V`, `-UV`, `--header V` or `--header=V`."""
    found: list[str] = []
    words = call.argv
    for at, word in enumerate(words):
        for name in names:
            if word == name:
                found.append(words[at + 1] if at + 1 < len(words) else "")
            elif name.startswith("--") and word.startswith(name + "="):
                found.append(word[len(name) + 1 :])
            elif not name.startswith("--") and word.startswith(name) and not word.startswith("--"):
                found.append(word[2:])
    return found
