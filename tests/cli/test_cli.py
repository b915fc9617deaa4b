"""The command line: exit statuses, help, lists, mistakes that are answered with the right word."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simcluster.cli import main
from simcluster.cli.commands import check
from simcluster.cli.commands.list import KINDS
from simcluster.cli.group import COMMANDS
from tests import kiosk

TASK = "wrong_service_selector_online_boutique"


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(command in shown for command in COMMANDS)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert "Usage: simcluster" in capsys.readouterr().out


@pytest.mark.parametrize("kind", KINDS)
def test_lists(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", kind, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows
    assert all(row["id"] for row in rows)
    assert main(["list", kind]) == 0
    assert rows[0]["id"] in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["evall"], "unknown command 'evall'; did you mean eval"),
        (["list", "task"], "unknown kind 'task'; did you mean tasks"),
        (["run", "wrong_service_selector"], "did you mean wrong_service_selector_"),
        (["run", TASK, "--agent", "runbok"], "unknown agent 'runbok'; did you mean runbook?"),
        (["eval", "--suite", "al"], "unknown suite 'al'"),
        (["eval", TASK, "--noise", "defalt"], "did you mean default?"),
        (["check", "service_selector_mismach"], "did you mean service_selector_mismatch"),
        (["eval", "--resume"], "--resume needs --out"),
        (["eval", "--jobs", "0"], "0 is not in the range"),
        (["eval", TASK, "--wall-limit", "nan"], "wall limit has to be a number of seconds above zero, not nan"),
        (["eval", TASK, "--wall-limit", "0"], "above zero, not 0"),
        (["eval", TASK, "--agent", "nowhere:Agent"], "agent nowhere:Agent: No module named 'nowhere'"),
        (["run", TASK, "--agent", "json:Agent"], "agent json:Agent: module 'json' has no 'Agent'"),
        (["run", TASK, "--out", f"{__file__}/out"], "Not a directory"),
        (["eval", TASK, "--out", f"{__file__}/out"], "cannot hold an evaluation: [Errno 20] Not a directory"),
        (["run"], "Missing argument 'TASK'"),
        (["run", "nowhere/task.yaml"], "nowhere/task.yaml"),
        (["score", "nowhere"], "holds no results.jsonl"),
    ],
)
def test_mistakes_are_usage_errors(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


def test_a_broken_file_is_a_failed_check_that_names_the_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("id: mine\ntitel: a\n")
    assert main(["check", str(path), "--json"]) == 1
    shown = capsys.readouterr()
    (result,) = json.loads(shown.out)
    assert not result["passed"]
    assert f"{path}:2" in result["findings"][0]["why"]
    assert "title" in result["findings"][0]["why"]


def test_a_fault_proves_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "faults", "--json"]) == 0
    assert "service_selector_mismatch" in capsys.readouterr().out


def test_internal_errors_are_distinguished(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(COMMANDS, "broken", "x")
    assert main(["broken"]) == 3
    assert "internal error" in capsys.readouterr().err


def test_a_quick_check_keeps_its_results_and_goes_on_where_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kept.jsonl"
    line = ["check", kiosk.TASK, *kiosk.OPTIONS, "--quick", "--jobs", "1", "--json", "--results", str(file)]
    assert main(line) == 0
    (first,) = json.loads(capsys.readouterr().out)
    names = [one["name"] for one in first["findings"]]
    assert "noop is refused" in names
    assert "diagnosis right 1 is accepted" in names
    assert not any(name.startswith(("exploit", "repair")) for name in names)
    with file.open("a") as opened:
        opened.write('{"of": "cut o')
    assert main(line) == 0
    assert json.loads(capsys.readouterr().out) == [first]
    assert len(file.read_text().splitlines()) == 1  # nothing was proved again, and the torn line is gone
    file.write_text('{"other": 1}\n')
    assert main(line) == 2
    assert f"{file}:1: no result of `simcluster check`" in capsys.readouterr().err


def test_a_check_of_a_drawn_suite_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proved: list[str] = []

    def prove(name: check.Named, how: check.How) -> check.Result:
        proved.append(str(name))
        return {"kind": "task", "id": Path(str(name)).stem, "seed": how.seed, "passed": True, "findings": []}

    monkeypatch.setattr(check, "check_one", prove)
    file = tmp_path / "kept.jsonl"
    line = ["check", "--suite", "srezero:25", "--jobs", "1", "--json", "--results", str(file)]
    assert main(line) == 0
    assert len(proved) == len(file.read_text().splitlines()) == 25
    assert main(line) == 0
    assert len(proved) == 25
