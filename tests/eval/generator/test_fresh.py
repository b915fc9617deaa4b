"""Incidents that nobody wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcluster import tasks
from simcluster.engine.clock import DAY
from simcluster.eval.generator import suite
from simcluster.eval.generator.drawing import Member
from simcluster.eval.generator.suite import Fresh, text_of, written
from simcluster.eval.proof.pairs import Pair, task_of, worse
from simcluster.faults.target import ObjectRef


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fresh:7", "write fresh:SEED:N, such as fresh:7:20"),
        ("fresh:x:3", "write fresh:SEED:N"),
        ("fresh:7:0", "the nearest that fits is fresh:7:1"),
        ("fresh:7:9000", "the nearest that fits is fresh:7:500"),
    ],
)
def test_a_set_that_cannot_be_is_refused_with_the_nearest_that_can(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Fresh.parse(text)


def test_an_incident_without_a_written_fix_stands_in_its_file_alone(tmp_path: Path) -> None:
    pair = Pair("resource_request_too_large", ObjectRef(kind="Deployment", name="catalog"), {})
    made = task_of("storefront", pair).model_copy(update={"id": "fresh-7-000", "noise": "light", "age": 30 * DAY})
    path = tmp_path / f"{made.id}.yaml"
    path.write_text(text_of(made))
    loaded = tasks.load(str(path))
    assert (loaded.truth, loaded.age, loaded.noise) == (made.truth, 30 * DAY, "light")
    assert (loaded.incident, loaded.reference_fixes) == (made.incident, ())


def test_a_pair_becomes_worse_as_its_fault_says_and_others_do_not() -> None:
    ref = ObjectRef(kind="Deployment", name="catalog")
    limits = [one.params["limit"] for one in worse(Pair("cpu_limit_too_low", ref, {"limit": "90m"}), 2)]
    assert limits == ["22m", "9.4m", "4m"]
    assert worse(Pair("missing_service", ref, {}), 2) == []


def test_a_set_that_was_interrupted_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    pair = Pair("missing_service", ObjectRef(kind="Deployment", name="catalog"), {})
    task = task_of("storefront", pair._replace(fault="resource_request_too_large"))

    def member(seed: int, index: int, taken: object = (), library: object = None) -> Member:
        made.append(index)
        if len(made) == 3:
            raise KeyboardInterrupt
        return Member("the same" if not taken else f"another {index}", task)

    monkeypatch.setattr(suite, "member", member)
    with pytest.raises(KeyboardInterrupt):
        written(Fresh(7, 3), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["fresh-7-000.yaml"]
    paths = written(Fresh(7, 3), tmp_path)
    assert made == [0, 1, 1, 1, 1, 2, 2]  # drawn again where the key came before
    assert [Path(path).read_text().partition("\n")[0] for path in paths] == ["# the same", "# another 1", "# another 2"]
    written(Fresh(7, 3), tmp_path)
    assert len(made) == 7
