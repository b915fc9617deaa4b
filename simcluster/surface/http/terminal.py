"""A shell in a container that somebody types into: a line that runs something is one command, an idle terminal is none.

Every line is a `sh -c` of its own; the directory and the variables that a line sets are there for the next. With a
terminal (`-t`) what is typed is echoed, backspace, Ctrl-C and Ctrl-D do what they do. Left out: history, completion,
programs that draw on the screen.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from simcluster.api.request import Request

if TYPE_CHECKING:
    from simcluster.surface.http.channels import Channels

_SHELLS = ("sh", "bash", "ash", "dash")
_STDIN, _STDOUT, _CLOSE = 0, 1, 255
_ASSIGNED = re.compile(r"\s*(export\s+)?[A-Za-z_]\w*=\S*\s*$")
#: Parts the line's own output from where the shell then stands.
_MARK = "\x1e"


def on_terminal(text: str, *, tty: bool) -> str:
    """What a terminal's line discipline makes of output (ONLCR)."""
    return text.replace("\n", "\r\n") if tty else text


def ended(code: int) -> dict[str, Any]:
    """The Status with which a command's stream ends (k8s.io/kubelet, remotecommand/exec.go)."""
    if not code:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: command terminated with exit code {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def is_shell(command: list[str]) -> bool:
    """Whether a command is a shell that reads its lines from standard input."""
    options = [word for word in command[1:] if word.startswith("-")]
    plain = len(options) == len(command) - 1
    return bool(command) and command[0].rpartition("/")[2] in _SHELLS and plain and not any("c" in o for o in options)


class Terminal:
    """One open shell."""

    def __init__(self, channels: Channels, *, tty: bool) -> None:
        self._channels = channels
        self._tty = tty
        self._typed = ""
        self._folder = ""
        self._settings: list[str] = []

    async def run(self) -> dict[str, Any]:
        """Run line after line; the Status of the last."""
        status: dict[str, Any] = {"metadata": {}, "status": "Success"}
        await self._prompt()
        while (found := await self._channels.received()) is not None:
            channel, data = found
            if channel == _CLOSE and data[:1] == bytes([_STDIN]):
                return await self._line(self._typed) if self._typed.strip() else status
            if channel != _STDIN:
                continue
            for character in data.decode(errors="replace"):
                line = await self._key(character)
                if line is None:
                    continue
                word, _, given = line.strip().partition(" ")
                if word in ("exit", "logout"):
                    return ended(int(given) & 0xFF) if given.strip().isdecimal() else status
                if line.strip():
                    status = await self._line(line)
                await self._prompt()
        return status

    async def _key(self, character: str) -> str | None:
        """One character; the line that it ends, if it ends one."""
        if character in "\r\n":
            line, self._typed = self._typed, ""
            await self._echo("\r\n")
            return line
        if self._tty and character == "\x04":
            return "exit" if not self._typed else None
        if self._tty and character == "\x03":
            self._typed = ""
            await self._echo("^C\r\n")
            return ""
        if self._tty and character in "\x7f\b":
            if self._typed:
                self._typed = self._typed[:-1]
                await self._echo("\b \b")
            return None
        self._typed += character
        await self._echo(character)
        return None

    async def _line(self, line: str) -> dict[str, Any]:
        channels = self._channels
        begin = [f"cd {shlex.quote(self._folder)}"] if self._folder else []
        script = "\n".join([*begin, *self._settings, line, f"__status=$?; printf '{_MARK}'; pwd; exit $__status"])
        shell = channels.request.params("command")[0]
        query = [("command", shell), ("command", "-c"), ("command", script)]
        query += [
            (key, value) for key, value in channels.request.query if key in ("container", "stdout", "stderr", "tty")
        ]
        asked = Request(
            "POST", channels.request.path, tuple(query),
            user=channels.request.user, token=channels.request.token, impersonate=channels.request.impersonate,
        )  # fmt: skip
        if _ASSIGNED.match(line):
            self._settings.append(line.strip())
        return await channels.execute(asked, b"", self._show)

    async def _show(self, text: str) -> None:
        """What a line printed, without where the shell then stands."""
        printed, mark, folder = text.partition(_MARK)
        if mark:
            self._folder = folder.strip()
        await self._channels.send(_STDOUT, on_terminal(printed, tty=self._tty).encode())

    async def _prompt(self) -> None:
        if self._tty:
            await self._channels.send(_STDOUT, f"{self._folder or '/'} # ".encode())

    async def _echo(self, text: str) -> None:
        if self._tty:
            await self._channels.send(_STDOUT, text.encode())
