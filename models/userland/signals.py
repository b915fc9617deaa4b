"""Names and numbers of signals (signal(7), x86-64)."""

from __future__ import annotations

NUMBERS: dict[str, int] = {
    "EXIT": 0,
    "HUP": 1,
    "INT": 2,
    "QUIT": 3,
    "ILL": 4,
    "TRAP": 5,
    "ABRT": 6,
    "BUS": 7,
    "FPE": 8,
    "KILL": 9,
    "USR1": 10,
    "SEGV": 11,
    "USR2": 12,
    "PIPE": 13,
    "ALRM": 14,
    "TERM": 15,
    "STKFLT": 16,
    "CHLD": 17,
    "CONT": 18,
    "STOP": 19,
    "TSTP": 20,
    "TTIN": 21,
    "TTOU": 22,
    "URG": 23,
    "XCPU": 24,
    "XFSZ": 25,
    "VTALRM": 26,
    "PROF": 27,
    "WINCH": 28,
    "IO": 29,
    "PWR": 30,
    "SYS": 31,
}
NAMES = {number: name for name, number in NUMBERS.items()}


def signal_named(text: str) -> str:
    """The name that a word means; empty if it means none.

    >>> signal_named("9"), signal_named("SIGterm"), signal_named("x")
    ('KILL', 'TERM', '')
    """
    if text.isdigit():
        return NAMES.get(int(text[:4]), "")
    name = text.upper().removeprefix("SIG")
    return name if name in NUMBERS or name in ("ERR", "DEBUG", "RETURN") else ""
