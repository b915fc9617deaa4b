import json
import pickle

from simcluster.api import schema
from simcluster.api.schema import compile as compiler


def test_fields_carry_patch_and_list_facts():
    containers = schema.type_of("", "v1", "Pod").fields["spec"].type.fields["containers"]
    assert (containers.kind, containers.item.ref, containers.required) == ("list", "core.v1.Container", True)
    assert (containers.patch_strategy, containers.merge_key) == ("merge", "name")
    assert (containers.list_type, containers.list_map_keys) == ("map", ("name",))
    ports = schema.type_of("", "v1", "Service").fields["spec"].type.fields["ports"]
    assert (ports.merge_key, ports.list_map_keys) == ("port", ("port", "protocol"))
    volumes = schema.type_of("", "v1", "Pod").fields["spec"].type.fields["volumes"]
    assert volumes.patch_strategy == "merge,retainKeys"
    assert schema.type_of("", "v1", "Service").fields["spec"].type.fields["selector"].map_type == "atomic"


def test_kinds_of_every_group_are_known():
    for group, version, kind in (
        ("", "v1", "Node"),
        ("batch", "v1", "CronJob"),
        ("autoscaling", "v2", "HorizontalPodAutoscaler"),
        ("discovery.k8s.io", "v1", "EndpointSlice"),
        ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
        ("apiregistration.k8s.io", "v1", "APIService"),
    ):
        assert schema.type_of(group, version, kind) is not None
    assert schema.type_of("apps", "v1beta1", "Deployment") is None


def test_facts_are_loaded_once_and_pickle_by_name():
    pod = schema.type_of("", "v1", "Pod")
    assert schema.load() is schema.load()
    assert pickle.loads(pickle.dumps(pod)) is pod
    assert len(pickle.dumps(schema.load())) < 200


def test_the_compact_form_is_small_deterministic_and_says_what_the_definitions_say():
    definitions = {
        "io.k8s.api.core.v1.Thing": {
            "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Thing"}],
            "required": ["b"],
            "properties": {
                "metadata": {"$ref": "#/$defs/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
                "b": {"type": ["integer", "null"], "format": "int32", "description": "left out"},
                "a": {
                    "type": "array",
                    "items": {"type": "string"},
                    "x-kubernetes-list-type": "set",
                    "x-kubernetes-patch-strategy": "merge",
                },
                "q": {
                    "type": "object",
                    "additionalProperties": {"$ref": "#/$defs/io.k8s.apimachinery.pkg.api.resource.Quantity"},
                },
            },
        },
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {"properties": {"name": {"type": "string"}}},
        "io.k8s.apimachinery.pkg.api.resource.Quantity": {"oneOf": [{"type": "string"}]},
    }
    text = compiler.compile_definitions(definitions)
    assert text == compiler.compile_definitions(dict(reversed(list(definitions.items()))))
    assert json.loads(text)["core.v1.Thing"] == {
        "kinds": [["", "v1", "Thing"]],
        "required": ["b"],
        "fields": {
            "metadata": "@meta.v1.ObjectMeta",
            "b": "i",
            "a": ["[s", {"list": "set", "patch": "merge"}],
            "q": "{q",
        },
    }
    assert compiler.OUTPUT.stat().st_size < 300_000


def test_compile_needs_one_argument(capsys):
    assert compiler.main([]) == 2
    assert "usage" in capsys.readouterr().err
