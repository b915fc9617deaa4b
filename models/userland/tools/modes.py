"""Permission bits as letters, and how chmod reads them."""

from __future__ import annotations

import re

from simcluster.models.userland.paths import Stat

_SIGNS = {"folder": "d", "link": "l", "block": "b", "char": "c", "pipe": "p", "socket": "s"}


def letters_of(found: Stat) -> str:
    """`-rw-r--r--` of a file.

    >>> letters_of(Stat("folder", mode=0o1777))
    'drwxrwxrwt'
    """
    mode, out = found.mode, _SIGNS.get(found.kind, "-")
    for shift, special, sign in ((6, 0o4000, "s"), (3, 0o2000, "s"), (0, 0o1000, "t")):
        bits = mode >> shift
        execute = "x" if bits & 1 else "-"
        if mode & special:
            execute = sign if bits & 1 else sign.upper()
        out += ("r" if bits & 4 else "-") + ("w" if bits & 2 else "-") + execute
    return out


def changed(mode: int, text: str, *, folder: bool, umask: int = 0o022) -> int | None:
    """The bits after `chmod TEXT`; None if it is no mode.

    >>> oct(changed(0o644, "u+x,g-r", folder=False)), oct(changed(0o644, "755", folder=False))
    ('0o704', '0o755')
    """
    if re.fullmatch(r"[0-7]{1,4}", text):
        return int(text, 8)
    for clause in text.split(","):
        match = re.fullmatch(r"([ugoa]*)((?:[-+=][rwxXst]*)+|(?:[-+=][ugo])+)", clause)
        if match is None:
            return None
        who = match[1] or "a"
        mask = 0o7777 if match[1] else 0o7777 & ~umask
        for sign, letters in re.findall(r"([-+=])([rwxXstugo]*)", match[2]):
            bits = 0
            for letter in letters:
                if letter in "ugo":
                    held = mode >> {"u": 6, "g": 3, "o": 0}[letter] & 7
                    bits |= held * 0o111
                elif letter == "X":
                    bits |= 0o111 if folder or mode & 0o111 else 0
                else:
                    bits |= {"r": 0o444, "w": 0o222, "x": 0o111, "s": 0o6000, "t": 0o1000}[letter]
            place = 0
            for each in "ugo" if "a" in who else who:
                place |= {"u": 0o4700, "g": 0o2070, "o": 0o1007}[each]
            if sign == "-":
                mode &= ~(bits & place & mask)
            elif sign == "+":
                mode |= bits & place & mask
            else:
                mode = (mode & ~place) | (bits & place & mask)
    return mode
