"""Somebody's tests with the fixtures that the package brings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = """
import json, ssl, urllib.request
import pytest, yaml

@pytest.mark.incident("wrong_service_selector_online_boutique", seed=7)
def test_an_agent(episode):
    assert "cartservice" in episode.kubectl("get endpoints -n boutique").stdout
    twin = episode.fork()
    assert twin.kubectl("get ns").exit_code == 0

@pytest.mark.sandbox(nodes=2)
def test_a_chart(sandbox):
    assert sandbox.kubectl("get nodes --no-headers").stdout.count("worker-") == 2

def test_a_client(cluster_url):
    config = yaml.safe_load(cluster_url.kubeconfig.read_text())
    token = config["users"][0]["user"]["token"]
    request = urllib.request.Request(f"{cluster_url}/api/v1/nodes", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, context=ssl._create_unverified_context()) as answer:
        assert len(json.load(answer)["items"]) == 4

@pytest.mark.incident("wrong_service_selector_online_botique")
def test_a_misspelled_task(episode):
    pass

def test_no_task(episode):
    pass
"""


def test_fixtures_bring_incidents_clusters_and_urls(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(TESTS)
    options = ["-q", "-p", "no:cacheprovider", "-p", "simcluster.testing.pytest_plugin", "--strict-markers"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    found = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tmp_path)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    said = found.stdout + found.stderr
    assert "3 passed, 2 errors" in said, said
    assert "did you mean wrong_service_selector_" in said
    assert "say which incident: @pytest.mark.incident('TASK', seed=0)" in said


def test_loading_it_imports_nothing_of_the_simulation() -> None:
    code = (
        "import simcluster.testing.pytest_plugin, sys; print([m for m in sys.modules if m.startswith('simcluster.')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "['simcluster.testing', 'simcluster.testing.pytest_plugin']"
