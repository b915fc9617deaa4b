import pytest

from simcluster.api.schema import YamlSyntaxError, decode_yaml


def test_scalars_become_what_json_would_hold():
    text = "a: 12:30\nb: 2024-01-01\nc: 1e3\nd: 0644\ne: yes\nf: 1.5\n8080: x\ntrue: y\ng: 0x1F\nh: ~\ni: '5'\nj: 1.0\n"
    documents, repeated = decode_yaml(text)
    assert documents == [
        {
            "a": "12:30",
            "b": "2024-01-01",
            "c": 1000,
            "d": 420,
            "e": True,
            "f": 1.5,
            "8080": "x",
            "true": "y",
            "g": 31,
            "h": None,
            "i": "5",
            "j": 1,
        }
    ]
    assert repeated == []


def test_documents_anchors_and_json():
    documents, _ = decode_yaml('---\na: &x {k: 1}\nb: {<<: *x, m: 2}\n---\n# nothing\n---\n{"c": [1, 2]}\n')
    assert documents == [{"a": {"k": 1}, "b": {"k": 1, "m": 2}}, None, {"c": [1, 2]}]


def test_repeated_keys_are_noted_and_the_last_one_wins():
    documents, repeated = decode_yaml("metadata:\n  name: a\n  labels: {x: y}\n  name: b\n")
    assert documents == [{"metadata": {"name": "b", "labels": {"x": "y"}}}]
    assert repeated == ['line 4: key "name" already set in map']


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: x\n   namespace: y\n",
            "yaml: line 5: mapping values are not allowed in this context",
        ),
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        ("a:\n\tb: 1", "yaml: line 2: found character that cannot start any token"),
    ],
)
def test_errors_read_like_those_of_go(text, message):
    with pytest.raises(YamlSyntaxError) as refusal:
        decode_yaml(text)
    assert str(refusal.value) == message
