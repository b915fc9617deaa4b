"""ssh: a command on a node, in all the forms in which people type it. Source: OpenSSH 9.6's ssh(1)."""

from __future__ import annotations

from collections.abc import Callable

from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.place import Call

_TAKING = "BbcDEeFIiJLlmOopQRSWw"
_USAGE = "usage: ssh [-46AaCfGgKkMNnqsTtVvXxYy] [-l login_name]\n           destination [command [argument ...]]\n"


def run(call: Call, login: Callable[[str, str, str, Call], Outcome]) -> Outcome:
    """Run `ssh [OPTIONS] [USER@]NODE [COMMAND]`; without a command, what is on standard input."""
    words, user, silent = list(call.args), "", False
    while words and words[0].startswith("-") and len(words[0]) > 1:
        word = words.pop(0)
        if word == "--":
            break
        if word == "-V":
            return Outcome(stderr="OpenSSH_9.6p1 Ubuntu-3ubuntu13.5, OpenSSL 3.0.13 30 Jan 2024\n")
        letter = word[-1] if word[1] not in _TAKING else word[1]
        silent = silent or "n" in word[1:]
        if word[1] in _TAKING:
            value = word[2:] or (words.pop(0) if words else "")
            user = value if word[1] == "l" else user
        elif letter in _TAKING and words:
            words.pop(0)
    if not words:
        return Outcome(stderr=_USAGE, code=255)
    given, _, node = words.pop(0).rpartition("@")
    node = node.removeprefix("ssh://").partition(":")[0]
    user = given or user or "root"
    while words and words[0].startswith("-") and words[0] != "-":
        word = words.pop(0)
        if word == "--":
            break
        if word[1:2] in _TAKING and not word[2:] and words:
            words.pop(0)
    if user != "root":
        return Outcome(stderr=f"{user}@{node}: Permission denied (publickey).\n", code=255)
    stdin = "" if silent else call.stdin()
    if not words:
        if not stdin:
            return Outcome(stderr="Pseudo-terminal will not be allocated because stdin is not a terminal.\n")
        return login(node, stdin, "", call)
    return login(node, " ".join(words), stdin, call)
