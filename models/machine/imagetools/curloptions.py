"""The command line of curl 8: its options, those that take a value, and what it says of those that it has not.

Source: curl 8.9, src/tool_getparam.c. Left out: forms with files, proxies, protocols but HTTP.
"""

from __future__ import annotations

from typing import NamedTuple

#: Long options with a value by name, with their letters; the flags likewise.
VALUED = {
    "user-agent": "A", "cookie": "b", "cookie-jar": "c", "continue-at": "C", "data": "d", "dump-header": "D",
    "referer": "e", "cert": "E", "form": "F", "header": "H", "config": "K", "max-time": "m", "output": "o",
    "quote": "Q", "range": "r", "telnet-option": "t", "upload-file": "T", "user": "u", "proxy-user": "U",
    "write-out": "w", "proxy": "x", "request": "X", "speed-time": "y", "speed-limit": "Y", "time-cond": "z",
    "connect-timeout": "", "data-ascii": "", "data-binary": "", "data-raw": "", "data-urlencode": "", "json": "",
    "cacert": "", "capath": "", "key": "", "resolve": "", "connect-to": "", "interface": "", "retry": "",
    "retry-delay": "", "retry-max-time": "", "max-redirs": "", "url": "", "url-query": "", "oauth2-bearer": "",
    "unix-socket": "", "limit-rate": "", "ciphers": "", "tls-max": "", "dns-servers": "", "noproxy": "",
    "cert-type": "", "key-type": "", "max-filesize": "", "keepalive-time": "", "output-dir": "", "stderr": "",
    "trace": "", "trace-ascii": "", "request-target": "", "happy-eyeballs-timeout-ms": "", "expect100-timeout": "",
    "parallel-max": "", "aws-sigv4": "", "local-port": "", "form-string": "", "ip-tos": "", "variable": "",
    "rate": "", "tls13-ciphers": "",
}  # fmt: skip
FLAGS = {
    "progress-bar": "#", "fail": "f", "globoff": "g", "get": "G", "help": "h", "include": "i", "head": "I",
    "junk-session-cookies": "j", "remote-header-name": "J", "insecure": "k", "list-only": "l", "location": "L",
    "manual": "M", "netrc": "n", "no-buffer": "N", "remote-name": "O", "proxytunnel": "p", "disable": "q",
    "remote-time": "R", "silent": "s", "show-error": "S", "verbose": "v", "version": "V", "parallel": "Z",
    "http1.0": "0", "tlsv1": "1", "ipv4": "4", "ipv6": "6", "next": ":", "use-ascii": "B", "append": "a",
    "anyauth": "", "basic": "", "digest": "", "compressed": "", "http1.1": "", "http2": "",
    "http2-prior-knowledge": "", "http3": "", "tlsv1.2": "", "tlsv1.3": "", "fail-with-body": "", "fail-early": "",
    "location-trusted": "", "no-keepalive": "", "no-progress-meter": "", "path-as-is": "", "post301": "",
    "post302": "", "post303": "", "raw": "", "remote-name-all": "", "retry-all-errors": "",
    "retry-connrefused": "", "styled-output": "", "create-dirs": "", "haproxy-protocol": "", "tcp-nodelay": "",
    "tcp-fastopen": "", "trace-time": "", "no-alpn": "", "ssl": "", "ssl-reqd": "", "cert-status": "",
    "ca-native": "", "no-sessionid": "", "tr-encoding": "", "keepalive": "", "negotiate": "", "ntlm": "",
    "http0.9": "", "suppress-connect-headers": "", "disallow-username-in-url": "",
}  # fmt: skip
_BY_LETTER = {letter: name for name, letter in VALUED.items() if letter}
_FLAG_OF = {letter: name for name, letter in FLAGS.items() if letter}
_MORE = "curl: try 'curl --help' or 'curl --manual' for more information\n"


class Options(NamedTuple):
    """A command line.

    Attributes:
        flags: names of those that are on; values: name and value in their order; urls: in their order.
        problem: what curl says of a wrong one, with its line ends.
    """

    flags: frozenset[str]
    values: tuple[tuple[str, str], ...]
    urls: tuple[str, ...]
    problem: str = ""

    def last(self, *names: str) -> str | None:
        """The last value of some options."""
        return next((value for name, value in reversed(self.values) if name in names), None)

    def every(self, *names: str) -> list[tuple[str, str]]:
        """All values of some options."""
        return [(name, value) for name, value in self.values if name in names]


def parse(argv: list[str]) -> Options:
    """Read a command line without its first word.

    >>> parse(["-sG", "--data-urlencode", "query=up", "http://x"]).urls
    ('http://x',)
    >>> parse(["--nope", "x"]).problem.splitlines()[0]
    'curl: option --nope: is unknown'
    """
    flags: dict[str, bool] = {}
    values: list[tuple[str, str]] = []
    urls: list[str] = []
    words = list(argv)
    while words:
        word = words.pop(0)
        problem = ""
        if word.startswith("--") and len(word) > 2:
            problem = _long(word, words, flags, values)
        elif word.startswith("-") and len(word) > 1:
            problem = _short(word, words, flags, values)
        else:
            urls.append(word)
        if problem:
            return Options(frozenset(), (), (), problem + _MORE)
    urls += [value for name, value in values if name == "url"]
    return Options(frozenset(name for name, on in flags.items() if on), tuple(values), tuple(urls))


def _long(word: str, words: list[str], flags: dict[str, bool], values: list[tuple[str, str]]) -> str:
    name = word[2:]
    if name.startswith("no-") and name not in FLAGS and name[3:] in FLAGS:
        flags[name[3:]] = False
        return ""
    known = [each for each in (*VALUED, *FLAGS) if each == name] or [e for e in (*VALUED, *FLAGS) if e.startswith(name)]
    if not known:
        return f"curl: option {word}: is unknown\n"
    if len(known) > 1:
        return f"curl: option {word}: is ambiguous\n"
    if known[0] in FLAGS:
        flags[known[0]] = True
        return ""
    if not words:
        return f"curl: option {word}: requires parameter\n"
    values.append((known[0], words.pop(0)))
    return ""


def _short(word: str, words: list[str], flags: dict[str, bool], values: list[tuple[str, str]]) -> str:
    for at, letter in enumerate(word[1:], 1):
        if letter in _BY_LETTER:
            if not word[at + 1 :] and not words:
                return f"curl: option -{letter}: requires parameter\n"
            values.append((_BY_LETTER[letter], word[at + 1 :] or words.pop(0)))
            return ""
        if letter not in _FLAG_OF:
            return f"curl: option {word}: is unknown\n"
        flags[_FLAG_OF[letter]] = True
    return ""
