"""`ulimit` of the three shells, against what bash 5.2, BusyBox 1.35 and dash 0.5.12 print."""

from __future__ import annotations

import pytest

from simcluster.models.userland.face import ASH, BASH, DASH, Face
from tests.models.userland.fixture import run


@pytest.mark.parametrize(
    ("face", "line", "said"),
    [
        (BASH, "ulimit -n 512; ulimit -n; sh -c 'ulimit -n'; (ulimit -n 99); ulimit -Hn", "512\n512\n512\n"),
        (BASH, "ulimit -n -s", f"open files{'(-n)':>30} 1024\nstack size{'(kbytes, -s)':>30} 8192\n"),
        (BASH, "ulimit -S -c 0; ulimit -c; ulimit -Hc; ulimit", "0\nunlimited\nunlimited\n"),
        (BASH, "ulimit -a | wc -l", "17\n"),
        (BASH, "ulimit -a | head -1", "real-time non-blocking time  (microseconds, -R) unlimited\n"),
        (BASH, "ulimit -n x 2>&1; echo $?", "bash: line 1: ulimit: x: invalid number\n1\n"),
        (BASH, "ulimit -Sn 2000000 2>&1", "bash: line 1: ulimit: open files: cannot modify limit: Invalid argument\n"),
        (ASH, "ulimit -a | head -1; ulimit -n 64; ulimit -n", "core file size (blocks)         (-c) unlimited\n64\n"),
        (ASH, "ulimit -n x 2>&1", "sh: invalid number 'x'\n"),
        (DASH, "ulimit -a | grep -e stack -e nofiles", "stack(kbytes)        8192\nnofiles              1024\n"),
    ],
)  # fmt: skip
def test_limits_are_shown_and_kept(face: Face, line: str, said: str) -> None:
    assert run(line, face).stdout == said
