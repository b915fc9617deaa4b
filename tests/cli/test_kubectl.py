"""`simcluster kubectl`: one command, a script, a session that goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simcluster.cli import main

MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {x: '1'}\n"


def test_one_command_in_a_sandbox(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["kubectl", "--sandbox", "--nodes", "1", "--", "get", "nodes", "-o", "name"]) == 0
    assert capfd.readouterr().out == "node/control-plane\nnode/worker-1\n"


def test_the_exit_status_is_that_of_kubectl(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["kubectl", "--sandbox", "get", "pod", "nope"]) == 1
    assert capfd.readouterr().err == 'Error from server (NotFound): pods "nope" not found\n'


def test_a_session_goes_on(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    manifest, session = tmp_path / "c.yaml", tmp_path / "s.jsonl"
    manifest.write_text(MANIFEST)
    assert main(["kubectl", "--session", str(session), "--sandbox", "--", "apply", "-f", str(manifest)]) == 0
    assert main(["kubectl", "--session", str(session), "--", "get", "cm", "c", "-o", "name"]) == 0
    assert capfd.readouterr().out == "configmap/c created\nconfigmap/c\n"
    kinds = [json.loads(line)["kind"] for line in session.read_text().splitlines()]
    assert kinds == ["header", "command", "command", "end"]
    assert main(["kubectl", "--session", str(session), "--sandbox", "get", "pods"]) == 2


def test_a_session_that_is_not_what_was_recorded_does_not_go_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    session = tmp_path / "s.jsonl"
    assert main(["kubectl", "--session", str(session), "--sandbox", "--nodes", "1", "--", "get", "nodes"]) == 0
    whole = session.read_text()
    session.write_text(whole[:-20])
    assert main(["kubectl", "--session", str(session), "--", "get", "nodes"]) == 1
    assert "s.jsonl:3: the last line is cut off" in capfd.readouterr().err
    session.write_text(whole.replace('"get nodes"', '"get nodes -o name"'))
    assert main(["kubectl", "--session", str(session), "--", "get", "nodes"]) == 1
    assert "command 1 (get nodes -o name) was answered differently" in capfd.readouterr().err


def test_a_script(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script"
    script.write_text(f"# first\nkubectl apply -f - <<EOF\n{MANIFEST}EOF\nwait 5s\nget cm nope\nget cm c -o name\n")
    assert main(["kubectl", "--sandbox", "--script", str(script)]) == 1
    assert capfd.readouterr().out == (
        "$ kubectl apply -f -\nconfigmap/c created\n$ wait 5s\n$ kubectl get cm nope\n"
        'Error from server (NotFound): configmaps "nope" not found\n$ kubectl get cm c -o name\nconfigmap/c\n'
    )


def test_a_cluster_must_be_named(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["kubectl", "get", "pods"]) == 2
    assert "give one of --task TASK and --sandbox" in capfd.readouterr().err
