"""Small programs named kubectl, timeout, sleep and curl that hand their call to the warm process.

A message is a list of fields, each eight hexadecimal digits of length and the bytes. Call:
program, working directory, editor, `1` and standard input or `0` and nothing, number of
extra files, their paths and contents, the arguments. Answer: fields that begin with `1`
(output) or `2` (errors), printed as they come, and at last one with `x` and the exit code.
Standard input is read only where an argument asks for it: a kubectl in a loop must not eat
the loop's input.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Protocol

PROGRAMS = ("kubectl", "timeout", "sleep", "curl")
SOCKET_VARIABLE = "GOLDEN_SOCKET"

_CLIENT = """\
import os, sys
from _socket import socket, AF_UNIX, SOCK_STREAM
words = sys.argv[1:]
name = sys.argv[0].rpartition("/")[2]
reads = any(w in ("-", "-i", "--stdin", "-it", "-ti") or w.endswith(("=-", "/dev/stdin")) for w in words)
def read_all(fd):
    data = b""
    while True:
        piece = os.read(fd, 65536)
        if not piece:
            return data
        data += piece
files = []
for word in words:
    at = word.find("/dev/fd/")
    if at >= 0 and word[at + 8:].isdigit():
        files += [os.fsencode(word[at:]), read_all(int(word[at + 8:]))]
fields = [os.fsencode(name), os.fsencode(os.getcwd()),
    os.fsencode(os.environ.get("KUBE_EDITOR") or os.environ.get("EDITOR") or ""),
    b"1" if reads else b"0", read_all(0) if reads else b"", b"%d" % (len(files) // 2), *files,
    *map(os.fsencode, words)]
connection = socket(AF_UNIX, SOCK_STREAM)
connection.connect(os.environ["GOLDEN_SOCKET"])
message = b"".join(b"%08x" % len(f) + f for f in fields)
connection.sendall(b"%08x" % len(message) + message)
def put(fd, text):
    try:
        while text:
            text = text[os.write(fd, text):]
    except BrokenPipeError:
        pass
def exactly(size):
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            os._exit(255)
        data += piece
    return data
while True:
    field = exactly(int(exactly(8), 16))
    if field[:1] == b"x":
        os._exit(int(field[1:]))
    put(int(field[:1]), field[1:])
"""


class Readable(Protocol):
    """A connected socket."""

    def recv(self, size: int, /) -> bytes:
        """At most so many bytes; none at the end."""


def install(folder: Path) -> None:
    """Write the shims into a folder, which is then put first on the PATH."""
    # -I -S: neither site-packages nor the user's settings, so that it starts in some 10 ms.
    interpreter = Path(getattr(sys, "_base_executable", sys.executable))
    client = folder / "client"
    client.write_text(f"#!{interpreter} -IS\n{_CLIENT}")
    client.chmod(0o755)
    for name in PROGRAMS:
        (folder / name).symlink_to(client)
    (folder / "python3").symlink_to(interpreter)


def receive(connection: Readable) -> list[bytes]:
    """The fields of one call. Raises ConnectionError if the caller is gone."""
    message = _exactly(connection, int(_exactly(connection, 8), 16))
    fields, at = [], 0
    while at < len(message):
        size = int(message[at : at + 8], 16)
        fields.append(message[at + 8 : at + 8 + size])
        at += 8 + size
    return fields


def encode(fields: list[bytes]) -> bytes:
    """The fields of an answer."""
    return b"".join(b"%08x" % len(field) + field for field in fields)


def _exactly(connection: Readable, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise ConnectionError("the shim hung up")
        data += piece
    return data
