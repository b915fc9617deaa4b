"""Faces of the userland: which shell answers, which tools, and how the shell words what it complains of.

Sources: bash 5.2, BusyBox 1.35 (ash) and dash 0.5.12 as Debian 12 ships them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Face:
    """What a command line meets.

    Attributes:
        shell: `bash`, `ash` or `dash`.
        tools: `gnu` or `busybox`.
    """

    shell: str
    tools: str

    @property
    def bash(self) -> bool:
        """Whether the shell is bash, with arrays, braces and all."""
        return self.shell == "bash"

    @property
    def gnu(self) -> bool:
        """Whether the tools are GNU's."""
        return self.tools == "gnu"

    def said(self, name: str, line: int, text: str, builtin: str = "") -> str:
        """A complaint of the shell, with its newline.

        >>> BASH.said("bash", 1, "x: command not found")
        'bash: line 1: x: command not found\\n'
        >>> ASH.said("sh", 1, "not in a function", "local")
        'sh: local: line 0: not in a function\\n'
        """
        if self.shell == "bash":
            return f"{name}: line {line}: {builtin + ': ' if builtin else ''}{text}\n"
        if self.shell == "dash":
            return f"{name}: {line}: {builtin + ': ' if builtin else ''}{text}\n"
        return f"{name}: {builtin}: line 0: {text}\n" if builtin else f"{name}: {text}\n"

    def not_found(self, command: str) -> str:
        """What is said of a command that there is not."""
        return f"{command}: command not found" if self.bash else f"{command}: not found"


#: Debian and Ubuntu machines; Debian images (whose sh is dash); Alpine and BusyBox images.
BASH = Face("bash", "gnu")
DASH = Face("dash", "gnu")
ASH = Face("ash", "busybox")
