"""Inspect's own ReAct agent with its own bash tool, its mock model and its log; nothing goes over a network."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.kiosk import started


def test_a_stock_agent_with_bash_solves_an_incident(tmp_path: Path) -> None:
    inspected = pytest.importorskip("tests.eval.frameworks.inspected")  # it takes seconds to import
    command = [sys.executable, "-m", inspected.__name__, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["status"] == "success"
    assert found["value"] == {"passed": 1, "diagnosis": 1, "mitigation": 1}
    assert found["metrics"]["passed"] == 1
    assert "ImagePullBackOff" in found["read"][0]
    assert list(tmp_path.glob("*.eval"))
    ours = started()
    for line in inspected.LINES:
        ours.sh(line)
    ours.diagnose(inspected.CAUSE)
    assert ours.finish().passed
    assert found["digest"] == ours.digest


def test_files_of_the_desk_and_what_is_wrong_with_them() -> None:
    inspectai = pytest.importorskip("simcluster.eval.frameworks.inspectai")

    async def use(desk: Any) -> None:
        await desk.write_file("notes/one.txt", "ä\r\nb")
        assert await desk.read_file("notes/one.txt") == "ä\r\nb"
        await desk.write_file("two.bin", bytes(range(256)))
        assert await desk.read_file("two.bin", text=False) == bytes(range(256))
        with pytest.raises(FileNotFoundError):
            await desk.read_file("nowhere")
        with pytest.raises(IsADirectoryError):
            await desk.read_file("notes")
        done = await desk.exec(["cat", "a b"], cwd="notes", env={"X": "1"})
        assert (done.success, done.returncode) == (False, 1)
        said = await desk.exec(["bash", "--login", "-c", "cat; echo $X"], "in\n", env={"X": "y z"})
        assert said.stdout == "in\ny z\n"
        with pytest.raises(TimeoutError):
            await desk.exec(["sleep", "100"], timeout=5)
        desk.episode.inbox.budget = desk.episode.inbox.budget.model_copy(update={"commands": 1})
        spent = await desk.exec(["date"])
        assert (spent.returncode, "used up" in spent.stderr) == (130, True)

    asyncio.run(use(inspectai.Desk(started())))
