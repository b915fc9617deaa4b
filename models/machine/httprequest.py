"""What the options of `curl` and of busybox's `wget` say about a request: method, headers, body, trust.

Left out: forms, compression, client certificates, redirects.
"""

from __future__ import annotations

from simcluster.models.machine.imagetools.call import ToolCall
from simcluster.models.machine.process import ANY_SERVER, Call
from simcluster.models.machine.shell.files import FileError

#: Options of curl with a value, by their long names; wget's `--header` and `--post-data` among them.
LONG_WITH_VALUE = (
    *("--max-time", "--connect-timeout", "--header", "--data", "--retry", "--request", "--cacert", "--output"),
    *("--write-out", "--user-agent", "--user", "--data-raw", "--data-binary", "--post-data", "--url", "--retry-delay"),
)
_DATA = ("-d", "--data", "--data-raw", "--data-binary", "--post-data")


def http_call(call: ToolCall, scheme: str, host: str, port: int, path: str) -> Call:
    """The request that a call of curl or wget sends."""
    headers = tuple(_headers(call))
    named = {name.lower(): value for name, value in headers}
    body = "&".join(_text(call, value) for value in _values(call, *_DATA))
    method = next(reversed(_values(call, "-X", "--request")), "")
    if not method:
        method = "POST" if body else "HEAD" if call.name == "curl" and call.has("I") else "GET"
    if body and "content-type" not in named:
        headers += (("content-type", "application/x-www-form-urlencoded"),)
    secure = scheme == "https"
    trust = _trust(call) if secure else ""
    return Call("http", port, path, named.get("host") or host, method, secure, headers, body, trust)


def _headers(call: ToolCall) -> list[tuple[str, str]]:
    agent = "curl/8.9.1" if call.name == "curl" else "Wget"
    found = [("user-agent", agent), ("accept", "*/*")]
    for text in _values(call, "-H", "--header"):
        name, colon, value = text.partition(":")
        if colon:
            found = [entry for entry in found if entry[0] != name.strip().lower()]
            found.append((name.strip().lower(), value.strip()))
    return found


def _trust(call: ToolCall) -> str:
    """Whom the client believes: anybody, or the authorities of a file."""
    if call.name == "wget" or call.has("k") or "--insecure" in call.argv:
        return ANY_SERVER  # busybox' wget validates nothing
    name = next(reversed(_values(call, "--cacert")), call.env.get("CURL_CA_BUNDLE", ""))
    try:
        return call.files.read(call.path(name)) if name else ""
    except FileError:
        return ""


def _text(call: ToolCall, value: str) -> str:
    """What `-d TEXT` or `-d @FILE` sends."""
    if not value.startswith("@"):
        return value
    try:
        return call.stdin if value == "@-" else call.files.read(call.path(value[1:]))
    except FileError:
        return ""


def _values(call: ToolCall, *names: str) -> list[str]:
    """Every value of an option, given as `-H V`, `-HV`, `-skH V`, `--header V` or `--header=V`."""
    found: list[str] = []
    words = call.argv
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else ""
        for name in names:
            if word == name:
                found.append(following)
            elif name.startswith("--"):
                if word.startswith(name + "="):
                    found.append(word[len(name) + 1 :])
            elif word.startswith(name):
                found.append(word[2:])
            elif word.startswith("-") and not word.startswith("--") and word.endswith(name[1]) and word[1:].isalpha():
                found.append(following)  # the last letter of a cluster takes the value
    return found
