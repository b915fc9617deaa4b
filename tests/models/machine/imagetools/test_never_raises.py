"""Whatever a script asks of a tool, the tool answers: it prints something and has an exit status."""

from __future__ import annotations

import random

from simcluster.models.machine.imagetools.execute import timed
from simcluster.models.machine.imagetools.registry import TOOLS
from tests.clusters.onemachine import one_machine, start

_WORDS = (
    *(
        "-n",
        "-c",
        "-z",
        "-1",
        "x",
        "",
        "3",
        "-n3",
        "-nx",
        "+2",
        "-d",
        ",",
        "-f1",
        "-f",
        "1-",
        "-fx",
        "a b",
        "-e",
        "-eq",
    ),
    *("/etc/passwd", "/none", "/dev/zero", "/tmp", "-l", "-p", "8080", "-w", "-t", "1s", "1.5", "1e9", "70000", "abc"),
    *("s/a/b/", r"s/\(a\)b/\1/", r"s/\(a\)b/\2/", "s/[/x/", "s/a/b", "y/abc/xyz/", "/x/d", "$d", "2,3p", "5q", "/[/d"),
    *(
        "[",
        "]",
        "(",
        ")",
        "*",
        "+",
        "=",
        "!",
        "\\",
        "'",
        "%d",
        "%s %x",
        "%c%c",
        "%5.z",
        "\\0777",
        "é",
        "a-z",
        "{print}",
    ),
    *("--cpu", "--vm", "--vm-bytes", "4X", "if=/dev/zero", "of=/tmp/x", "bs=1Q", "count=x", "count=3", "bs=1k", "a:b"),
    *("http://x:y/", "http://nowhere", "http://[", "-O", "-X", "-H", "-i", "-r", "-k", "-h", "-m", "-T", "--foo", "--"),
)
_SYNTAX = (";", "|", "&&", "$(", "`", "${x", "if", "fi", "while", "$((1/0))", "$((x+))", "<", "> /tmp/y", "<<E", "{")


def test_no_call_of_a_tool_raises() -> None:
    machine = one_machine()
    container = start(machine, "web")
    draw = random.Random(7)
    names = [*sorted(TOOLS), "kill", "timeout", "which"]
    for _ in range(8_000):
        argv = [draw.choice(names), *(draw.choice(_WORDS) for _ in range(draw.randint(0, 4)))]
        if draw.random() < 0.2:
            argv = ["sh", "-c", " ".join(draw.choice((*_WORDS, *_SYNTAX, *names)) for _ in range(6))]
        if argv == ["cat"]:
            continue  # the scripted program's own
        found = timed(container, argv, draw.choice(("", "ab\nc d\n", "1 2 3")))
        assert found is None or isinstance(found.result.code, int), argv
