"""Synthetic applications: their shape, the same files for the same seed, and one that serves its users."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcluster.apps.synthetic import graph_of, make
from simcluster.cli import main
from simcluster.testing import check_app


def test_a_thousand_services_have_the_shares_and_the_heavy_tail_of_published_graphs() -> None:
    graph = graph_of(1000)
    assert len(graph) == 1000
    entries = [node for node in graph.values() if node.level == 0]
    callers = {name: sum(name in node.callees for node in graph.values()) for name in graph}
    assert len(entries) == 130
    assert 0.3 < sum(not node.callees for node in graph.values()) / 1000 < 0.75
    assert sum(count == 1 for count in callers.values()) > 800
    assert max(len(node.callees) for node in graph.values()) > 10
    assert max(count for name, count in callers.items() if name.startswith("store")) > 20
    assert all(count for name, count in callers.items() if not name.startswith("entry"))


def test_the_same_seed_makes_the_same_files_and_another_one_others(tmp_path: Path) -> None:
    made = [make(tmp_path / str(k), 20, seed, "shop") for k, seed in enumerate((1, 1, 2))]
    texts = [(one.folder / "behaviour.yaml").read_text() for one in made]
    assert texts[0] == texts[1] != texts[2]


def test_what_cannot_be_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="5 to 3000 services, not 4"):
        graph_of(4)
    line = ["generate", "--services", "8", "--out", str(tmp_path)]
    assert main(line) == 0
    assert "simcluster check synthetic-8 --content" in capsys.readouterr().out
    assert main(line) == 2
    assert "is there already" in capsys.readouterr().err


def test_one_that_was_made_serves_its_users(tmp_path: Path) -> None:
    make(tmp_path, 12, 3, "shop")
    assert check_app("shop", 0, tmp_path).passed
