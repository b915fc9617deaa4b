"""ssh: a command on a node, in all the forms in which people type it, and scp. Source: OpenSSH 9.6's ssh(1), scp(1)."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.paths import FileError
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


_SCP_USAGE = (
    "usage: scp [-346ABCOpqRrsTv] [-c cipher] [-D sftp_server_path] [-F ssh_config]\n           [-i identity_file] "
    "[-J destination] [-l limit] [-o ssh_option]\n           [-P port] [-S program] [-X sftp_option] "
    "source ... target\n"
)


def copy(call: Call, login: Callable[[str, str, str, Call], Outcome]) -> Outcome:
    """`scp [OPTIONS] SOURCE ... TARGET`: single files, to a node or from one."""
    words, names = list(call.args), []
    while words:
        word = words.pop(0)
        if word.startswith("-") and len(word) > 1:
            if word[1] in "cDFiJloPSX" and not word[2:] and words:
                words.pop(0)
        else:
            names.append(word)
    if len(names) < 2:
        return Outcome(stderr=_SCP_USAGE, code=1)
    *sources, target = names
    there, path = _place(target)
    said = ""
    for source in sources:
        node, name = _place(source)
        last = name.rpartition("/")[2]
        if node:
            done = login(node, f"cat -- {shlex.quote(name)}", "", call)
            if done.code:
                said += done.stderr if done.code == 255 else f"scp: {name}: No such file or directory\n"
                continue
            text = done.stdout
        else:
            try:
                text = call.read(name)
            except FileError as problem:
                said += f'scp: stat local "{name}": {problem}\n'
                continue
        said += _put(call, login, there, path, last, text)
    return Outcome("", said, int(bool(said)))


def _place(text: str) -> tuple[str, str]:
    """The node of `[USER@]NODE:PATH` and the path; an empty node for a path of the desk."""
    head, colon, path = text.partition(":")
    if not colon or "/" in head:
        return "", text
    return head.rpartition("@")[2], path or "."


def _put(
    call: Call, login: Callable[[str, str, str, Call], Outcome], node: str, path: str, last: str, text: str
) -> str:
    """Write one file; what went wrong."""
    if node:
        into = shlex.quote(path.rstrip("/") or "/")
        script = f"if [ -d {into} ]; then cat > {into}/{shlex.quote(last)}; else cat > {into}; fi"
        done = login(node, script, text, call)
        return "" if not done.code else done.stderr if done.code == 255 else f'scp: dest open "{path}": Failure\n'
    found = call.look(path)
    end = f"{path.rstrip('/')}/{last}" if found is not None and found.is_folder else path
    try:
        call.files.write(call.resolved(end), text)
    except FileError as problem:
        return f'scp: open local "{end}": {problem}\n'
    return ""
