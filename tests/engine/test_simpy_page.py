"""The page about SimPy: its code runs, and says what it is there to say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from simcluster.engine import NotForkable

PAGE = Path(__file__).resolve().parents[2] / "docs" / "SIMPY.md"


def test_the_teachers_processes_drive_users_and_watch_a_deployment(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "closed"
    diary = names["diary"]
    print(*diary, sep="\n")
    began = diary[0][0]
    assert [at - began for at, *_ in diary] == pytest.approx([0.5 * number for number in range(len(diary))])
    assert len(diary) >= 23
    before_noon = [ready for at, ready, _ in diary if at - began < 3]
    assert set(before_noon) == {1}
    assert diary[-1][1] > 1
    assert diary[-1][2] > 0.99
    assert min(success for *_, success in diary) < 0.99
    with pytest.raises(NotForkable, match="process watch, which waits for Timeout"):
        names["box"].fork()
