"""The comparison with recorded requests: what is alike passes, and what is not is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.telemetry.golden import main
from tests.telemetry.traces.test_recorded_answers import RECORDED


def written(folder: Path, change: tuple[str, str] = ("", "")) -> str:
    """Requests to Jaeger as files, all but one with their answers."""
    for one in RECORDED:
        (folder / f"{one['name']}.cmd").write_text(f"{one['method']} {one['target']}\n")
        text = f"# HTTP {one['status']} Content-Type: {one['type']}\n{one['answer']}"
        (folder / f"{one['name']}.out").write_text(text.replace(*change) if change[0] else text)
    (folder / "095_jaeger-services.out").unlink()
    return str(folder)


def test_every_answer_has_the_recorded_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(written(tmp_path)) == 0
    said = capsys.readouterr().out
    assert "13 of 13 recorded answers" in said
    assert "1 of 1 other requests" in said


@pytest.mark.parametrize("change", [('"spanID"', '"span"'), ("HTTP 400", "HTTP 422"), ("service", "Service")])
def test_another_form_is_noticed(tmp_path: Path, change: tuple[str, str]) -> None:
    assert main(written(tmp_path, change)) == 1
