"""Texts are parsed once; what was made of them is everybody's own."""

from __future__ import annotations

import pytest

from simcluster.api.schema import YamlSyntaxError, decode_yaml

TEXT = "a: {b: [1, 2]}\na: {c: [3]}\n---\nx: y\n"


def test_documents_are_private() -> None:
    first, repeated = decode_yaml(TEXT)
    assert first == [{"a": {"c": [3]}}, {"x": "y"}]
    first[0]["a"]["c"].append(4)
    repeated.clear()
    second, again = decode_yaml(TEXT)
    assert second == [{"a": {"c": [3]}}, {"x": "y"}]
    assert len(again) == 1


def test_a_text_that_is_no_yaml_is_refused_every_time() -> None:
    for _ in range(2):
        with pytest.raises(YamlSyntaxError):
            decode_yaml("a: b: c")


def test_a_long_text_is_read_as_a_short_one() -> None:
    documents, _ = decode_yaml("a: " + "x" * 100_000)
    assert documents == [{"a": "x" * 100_000}]
