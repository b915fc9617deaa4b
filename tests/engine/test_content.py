from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from simcluster.engine import SECOND
from simcluster.engine.content import Content, ContentError, Library, Nanoseconds, UnknownName, load_content


class Inner(Content):
    name: str
    wait: Nanoseconds = 0


class Outer(Content):
    title: str
    parts: tuple[Inner, ...] = ()


def write(folder: Path, text: str) -> Path:
    path = folder / "thing.yaml"
    path.write_text(text)
    return path


def problem(folder: Path, text: str) -> ContentError:
    with pytest.raises(ContentError) as caught:
        load_content(write(folder, text), Outer)
    return caught.value


def test_a_file_becomes_a_model(tmp_path: Path) -> None:
    thing = load_content(write(tmp_path, "title: x\nparts:\n  - {name: a, wait: 1m30s}\n"), Outer)
    assert thing.parts[0].wait == 90 * SECOND
    assert Outer.model_validate(thing.model_dump()) == thing


def test_an_unknown_key_names_the_line_and_the_nearest_right_one(tmp_path: Path) -> None:
    error = problem(tmp_path, "title: x\nparts:\n  - name: a\n    wiat: 3s\n")
    assert str(error) == f"{tmp_path}/thing.yaml:4: unknown key 'wiat'; did you mean 'wait'?"


def test_a_wrong_value_names_the_line_and_the_place(tmp_path: Path) -> None:
    error = problem(tmp_path, "title: x\nparts:\n  - name: a\n    wait: soon\n")
    assert error.line == 4
    assert error.problem == "parts.0.wait: 'soon' is no duration; write one like 90s, 1m30s or 500ms"
    error = problem(tmp_path, "title: x\nparts: [{name: a, wait: 30}]\n")
    assert error.problem == "parts.0.wait: a duration needs a unit: write 30s or 30m"


def test_a_missing_key_names_the_object_that_lacks_it(tmp_path: Path) -> None:
    error = problem(tmp_path, "title: x\nparts:\n  - name: a\n  - wait: 3s\n")
    assert (error.line, error.problem) == (4, "parts.1.name: Field required")


@pytest.mark.parametrize(
    ("text", "line", "repair"),
    [
        ("title: a: b\n", 1, "put quotes around a value that contains ': '"),
        ("title: x\n\tparts: []\n", 2, "indent with spaces, not with tabs"),
        ("title: x\nparts: [\n", 3, "is not closed"),
        ('title: "x\n', 2, "a quote or a bracket is not closed"),
        ("title: x\ntitle: y\n", 2, "the key 'title' stands twice; keep one"),
        ("title: x\n---\ntitle: y\n", 2, "keep one document in a file"),
        ("", 1, "the file is empty"),
    ],
)
def test_broken_yaml_names_the_line_and_what_to_change(tmp_path: Path, text: str, line: int, repair: str) -> None:
    error = problem(tmp_path, text)
    assert repair in error.problem
    assert error.line == line


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(ContentError, match="cannot be read: No such file"):
        load_content(tmp_path / "none.yaml", Outer)


def test_unknown_names_list_the_nearest() -> None:
    assert "did you mean kubelet_stopped?" in str(UnknownName("fault", "kublet_stoped", ["kubelet_stopped", "oom"]))
    assert str(UnknownName("fault", "zzz", ["a", "b"])) == "unknown fault 'zzz'; there are: a, b"


def test_errors_and_models_survive_pickling() -> None:
    error = ContentError(Path("a.yaml"), 3, "bad")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    unknown = UnknownName("task", "a", ["aa"])
    assert str(pickle.loads(pickle.dumps(unknown))) == str(unknown)
    thing = Outer(title="x", parts=(Inner(name="a"),))
    assert pickle.loads(pickle.dumps(thing)) == thing


def test_a_given_folder_adds_content_and_may_not_shadow(tmp_path: Path) -> None:
    own = tmp_path / "own"
    other = tmp_path / "other" / "tasks" / "deep"
    own.mkdir()
    other.mkdir(parents=True)
    (own / "a.yaml").write_text("title: a\n")
    (other / "b.yaml").write_text("title: b\n")
    library = Library((tmp_path / "other",))
    assert sorted(library.files("tasks", own)) == ["a", "b"]
    (other / "a.yaml").write_text("title: again\n")
    with pytest.raises(ContentError, match="already taken"):
        library.files("tasks", own)
