"""Custom resources: from the definition to served, validated, printed, scaled and deleted objects."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.objects import condition, thaw
from simcluster.api.request import ADMIN, APPLY_PATCH, MERGE_PATCH, TABLE, Response, request_of
from simcluster.api.resources import BUILT_IN
from simcluster.api.server import Api
from simcluster.engine import MILLISECOND, SECOND, Simulation, fork

CRDS = "customresourcedefinitions.apiextensions.k8s.io"
BOOKINGS = "bookings.hotel.example.com"
COLLECTION = "/apis/hotel.example.com/v1/namespaces/shop/bookings"
SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["guest"],
    "properties": {
        "guest": {"type": "string", "minLength": 2, "maxLength": 20, "pattern": "^[A-Z]"},
        "nights": {"type": "integer", "minimum": 1, "maximum": 30},
        "rate": {"type": "number", "multipleOf": 0.5},
        "kind": {"type": "string", "enum": ["single", "double"], "default": "single"},
        "port": {"x-kubernetes-int-or-string": True},
        "note": {"type": "string", "nullable": True},
        "extras": {
            "type": "array",
            "maxItems": 2,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "count": {"type": "integer", "default": 1}},
            },
        },
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "from": {"type": "string", "format": "date-time"},
        "replicas": {"type": "integer"},
    },
}
STATUS = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def definition(**version: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": SPEC, "status": STATUS}}
    served: dict[str, Any] = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {"name": "Guest", "type": "string", "jsonPath": ".spec.guest"},
            {"name": "Nights", "type": "integer", "jsonPath": ".spec.nights"},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
        "schema": {"openAPIV3Schema": schema},
        **version,
    }
    names = {"plural": "bookings", "kind": "Booking", "shortNames": ["bk"], "categories": ["all"]}
    spec = {"group": "hotel.example.com", "scope": "Namespaced", "names": names, "versions": [served]}
    return {"metadata": {"name": BOOKINGS}, "spec": spec}


def booking(name: str = "b1", **spec: Any) -> dict[str, Any]:
    spec.setdefault("guest", "Ada")
    return {"apiVersion": "hotel.example.com/v1", "kind": "Booking", "metadata": {"name": name}, "spec": spec}


def start(body: dict[str, Any]) -> Api:
    api = Api(Simulation(3))
    client = Client(api, ADMIN, "kubectl")
    for name in ("default", "shop"):
        client.create("namespaces", "", {"metadata": {"name": name}})
    client.create(CRDS, "", body)
    api.sim.run_for(SECOND)
    return api


@pytest.fixture
def api() -> Api:
    return start(definition())


@pytest.fixture
def client(api: Api) -> Client:
    return Client(api, ADMIN, "kubectl")


def send(api: Api, method: str, target: str, body: Any = None, **rest: Any) -> Response:
    return api.handle(request_of(method, target, body=body, **rest))


def refusal(client: Client, **spec: Any) -> list[str]:
    with pytest.raises(ApiError) as error:
        client.create(BOOKINGS, "shop", booking(**spec))
    assert error.value.code == 422
    assert error.value.details is not None
    return [f"{cause['field']}: {cause['message']}" for cause in error.value.details["causes"]]


class TestDefinition:
    def test_is_established_in_two_steps(self, api: Api, client: Client) -> None:
        found = client.get(CRDS, "", BOOKINGS)
        assert [(c["type"], c["status"], c["reason"], c["message"]) for c in found["status"]["conditions"]] == [
            ("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
            ("Established", "True", "InitialNamesAccepted", "the initial names have been accepted"),
        ]
        assert found["status"]["acceptedNames"] == {
            "plural": "bookings", "singular": "booking", "kind": "Booking", "listKind": "BookingList",
            "shortNames": ["bk"], "categories": ["all"],
        }  # fmt: skip
        assert found["status"]["storedVersions"] == ["v1"]
        assert found["spec"]["conversion"] == {"strategy": "None"}

    def test_is_not_served_at_once(self) -> None:
        api = Api(Simulation(1))
        Client(api, ADMIN, "kubectl").create(CRDS, "", definition())
        assert api.resources is BUILT_IN
        assert send(api, "GET", COLLECTION).code == 404

    def test_appears_in_discovery(self, api: Api) -> None:
        entry = send(api, "GET", "/apis/hotel.example.com/v1").body["resources"][0]
        assert (entry["name"], entry["shortNames"], entry["categories"]) == ("bookings", ["bk"], ["all"])
        groups = [group["name"] for group in send(api, "GET", "/apis").body["groups"]]
        assert "hotel.example.com" in groups

    def test_every_form_of_discovery_has_it_within_ten_milliseconds(self) -> None:
        api = Api(Simulation(1))
        Client(api, ADMIN, "kubectl").create(CRDS, "", definition())
        aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        asked = [request_of("GET", path) for path in ("/apis", "/apis/hotel.example.com", "/apis/hotel.example.com/v1")]
        asked += [
            request_of("GET", "/apis", accept=aggregated),
            request_of("GET", "/openapi/v3"),
            request_of("GET", "/"),
        ]
        for after_ms, expected in ((0, False), (10, True)):
            api.sim.run_for(after_ms * MILLISECOND)
            for request in asked:
                answer = api.handle(request)
                assert (answer.ok and "hotel.example.com" in f"{answer.body}{answer.text}") is expected, request.target

    def test_names_of_another_kind_are_refused(self, api: Api, client: Client) -> None:
        other = definition()
        other["metadata"]["name"] = "rooms.hotel.example.com"
        other["spec"]["names"] = {"plural": "rooms", "kind": "Booking"}
        client.create(CRDS, "", other)
        api.sim.run_for(SECOND)
        found = client.get(CRDS, "", "rooms.hotel.example.com")
        names, established = condition(found, "NamesAccepted"), condition(found, "Established")
        assert names is not None
        assert established is not None
        assert (names["status"], names["message"]) == ("False", '"BookingList" is already in use')
        assert (established["status"], established["reason"]) == ("False", "NotAccepted")
        assert "rooms.hotel.example.com" not in api.resources.by_name

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"schema": {}}, "spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required"),
            (
                {"schema": {"openAPIV3Schema": {"type": "string"}}},
                'spec.versions[0].schema.openAPIV3Schema.type: Invalid value: "string": must be object at the root',
            ),
            (
                {"schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {}}}}},
                "spec.versions[0].schema.openAPIV3Schema.properties[spec].type: Required value: must not be empty for "
                "specified object fields",
            ),
            (
                {"schema": {"openAPIV3Schema": {"type": "object", "properties": {"x": {"type": "array"}}}}},
                "spec.versions[0].schema.openAPIV3Schema.properties[x].items: Required value: must be specified",
            ),
        ],
    )
    def test_schemas_that_are_not_structural(self, change: dict[str, Any], message: str) -> None:
        client = Client(Api(Simulation(1)), ADMIN, "kubectl")
        with pytest.raises(ApiError) as error:
            client.create(CRDS, "", definition(**change))
        assert message in error.value.message

    def test_names_and_storage_version(self) -> None:
        client = Client(Api(Simulation(1)), ADMIN, "kubectl")
        body = definition(storage=False)
        body["metadata"]["name"] = "rooms.hotel.example.com"
        with pytest.raises(ApiError) as error:
            client.create(CRDS, "", body)
        assert 'must be spec.names.plural+"."+spec.group' in error.value.message
        assert "must have exactly one version marked as storage version" in error.value.message

    def test_deletion_takes_the_objects_along(self, api: Api, client: Client) -> None:
        client.create(BOOKINGS, "shop", booking())
        held = booking("held")
        held["metadata"]["finalizers"] = ["example.com/hold"]
        client.create(BOOKINGS, "shop", held)
        client.delete(CRDS, "", BOOKINGS)
        api.sim.run_for(SECOND)
        found = client.get(CRDS, "", BOOKINGS)
        assert found["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
        terminating = condition(found, "Terminating")
        assert terminating is not None
        assert terminating["reason"] == "InstanceDeletionInProgress"
        assert [o["metadata"]["name"] for o in api.store.objects(BOOKINGS)] == ["held"]
        answer = send(api, "POST", COLLECTION, booking("late"))
        assert (answer.code, answer.body["message"]) == (
            405, "create not allowed while custom resource definition is terminating",
        )  # fmt: skip
        body = thaw(client.get(BOOKINGS, "shop", "held"))
        body["metadata"]["finalizers"] = []
        client.update(BOOKINGS, body)
        api.sim.run_for(10 * SECOND)
        assert api.store.get(CRDS, "", BOOKINGS) is None
        assert api.resources is BUILT_IN


class TestObjects:
    def test_defaults_generation_and_status(self, api: Api, client: Client) -> None:
        made = client.create(BOOKINGS, "shop", {**booking(extras=[{"name": "sauna"}]), "status": {"x": 1}})
        assert made["spec"] == {"guest": "Ada", "kind": "single", "extras": [{"name": "sauna", "count": 1}]}
        assert "status" not in made
        assert made["metadata"]["generation"] == 1
        client.patch(BOOKINGS, "shop", "b1", {"status": {"phase": "Paid"}}, kind="merge", subresource="status")
        client.patch(BOOKINGS, "shop", "b1", {"spec": {"nights": 2}, "status": {"phase": "No"}}, kind="merge")
        found = client.get(BOOKINGS, "shop", "b1")
        assert (found["status"], found["metadata"]["generation"]) == ({"phase": "Paid"}, 2)

    @pytest.mark.parametrize(
        ("spec", "message"),
        [
            (
                {"nights": "3"},
                'spec.nights: Invalid value: "string": spec.nights in body must be of type integer: "string"',
            ),
            ({"nights": 0}, "spec.nights: Invalid value: 0: spec.nights in body should be greater than or equal to 1"),
            ({"nights": 31}, "spec.nights: Invalid value: 31: spec.nights in body should be less than or equal to 30"),
            ({"rate": 0.3}, "spec.rate: Invalid value: 0.3: spec.rate in body should be a multiple of 0.5"),
            ({"kind": "suite"}, 'spec.kind: Unsupported value: "suite": supported values: "single", "double"'),
            ({"guest": "ada"}, "spec.guest: Invalid value: \"ada\": spec.guest in body should match '^[A-Z]'"),
            ({"guest": "A"}, 'spec.guest: Invalid value: "A": spec.guest in body should be at least 2 chars long'),
            ({"guest": "A" * 21}, "spec.guest: Too long: may not be more than 20 bytes"),
            (
                {"port": True},
                'spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"',
            ),
            (
                {"extras": [{"name": "a"}, {"name": "a"}]},
                'spec.extras[1]: Duplicate value: map[string]interface {}{"name":"a"}',
            ),
            ({"extras": [{}]}, "spec.extras[0].name: Required value"),
            ({"extras": [{"name": n} for n in "abc"]}, "spec.extras: Too many: 3: must have at most 2 items"),
            ({"tags": ["x", "x"]}, 'spec.tags[1]: Duplicate value: "x"'),
            (
                {"labels": {"a": 1}},
                'spec.labels.a: Invalid value: "integer": spec.labels.a in body must be of type string: "integer"',
            ),
            (
                {"from": "today"},
                'spec.from: Invalid value: "today": spec.from in body must be of type date-time: "today"',
            ),
        ],
    )
    def test_refusals(self, client: Client, spec: dict[str, Any], message: str) -> None:
        assert refusal(client, **spec) == [message]

    def test_missing_and_wrong_together(self, api: Api) -> None:
        body = booking(nights=0)
        del body["spec"]["guest"]
        answer = send(api, "POST", COLLECTION, body)
        assert answer.body["message"] == (
            'Booking.hotel.example.com "b1" is invalid: [spec.guest: Required value, '
            "spec.nights: Invalid value: 0: spec.nights in body should be greater than or equal to 1]"
        )

    def test_nulls_and_free_parts(self, client: Client) -> None:
        made = client.create(
            BOOKINGS, "shop", booking(note=None, nights=None, kind=None, free={"a": {"b": 1}}, port="x")
        )
        assert made["spec"] == {"guest": "Ada", "note": None, "kind": "single", "free": {"a": {"b": 1}}, "port": "x"}

    def test_unknown_fields(self, api: Api) -> None:
        body = {**booking(colour="red"), "extra": 1}
        strict = send(api, "POST", f"{COLLECTION}?fieldValidation=Strict", body)
        assert (strict.code, strict.body["message"]) == (
            400,
            'Booking in version "v1" cannot be handled as a Booking: strict decoding error: '
            'unknown field "extra", unknown field "spec.colour"',
        )
        warned = send(api, "POST", COLLECTION, body)
        assert warned.warnings == ('unknown field "extra"', 'unknown field "spec.colour"')
        assert "colour" not in warned.body["spec"]
        assert "extra" not in warned.body
        body["metadata"] = {"name": "b2"}
        assert send(api, "POST", f"{COLLECTION}?fieldValidation=Ignore", body).warnings == ()

    def test_what_was_wrong_before_may_stay(self, api: Api, client: Client) -> None:
        client.create(BOOKINGS, "shop", booking(nights=3))
        body = thaw(client.get(CRDS, "", BOOKINGS))
        properties = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        properties["nights"]["minimum"] = 5
        client.update(CRDS, body)
        api.sim.run_for(SECOND)
        client.patch(BOOKINGS, "shop", "b1", {"spec": {"note": "x"}}, kind="merge")
        with pytest.raises(ApiError, match="should be greater than or equal to 5"):
            client.patch(BOOKINGS, "shop", "b1", {"spec": {"nights": 4}}, kind="merge")

    def test_tables(self, api: Api, client: Client) -> None:
        empty = send(api, "GET", COLLECTION, accept=TABLE).body
        assert [c["name"] for c in empty["columnDefinitions"]] == ["Name", "Guest", "Nights", "Age"]
        client.create(BOOKINGS, "shop", booking(nights=3))
        api.sim.run_for(5 * SECOND)
        table = send(api, "GET", COLLECTION, accept=TABLE).body
        assert [row["cells"] for row in table["rows"]] == [["b1", "Ada", 3, "5s"]]
        assert send(api, "GET", COLLECTION).body["kind"] == "BookingList"

    def test_patches(self, api: Api, client: Client) -> None:
        client.create(BOOKINGS, "shop", booking())
        strategic = "application/strategic-merge-patch+json"
        assert send(api, "PATCH", f"{COLLECTION}/b1", {"spec": {}}, content_type=strategic).code == 415
        merged = send(api, "PATCH", f"{COLLECTION}/b1", {"spec": {"nights": 2}}, content_type=MERGE_PATCH)
        assert merged.body["spec"]["nights"] == 2
        applied = send(
            api, "PATCH", f"{COLLECTION}/b9?fieldManager=me", booking("b9", nights=4), content_type=APPLY_PATCH
        )
        assert (applied.code, applied.body["spec"]["nights"]) == (201, 4)
        assert applied.body["metadata"]["managedFields"][0]["operation"] == "Apply"

    def test_a_fork_goes_on(self, api: Api, client: Client) -> None:
        client.create(BOOKINGS, "shop", booking())
        twin = fork(api)
        Client(twin, ADMIN, "kubectl").delete(CRDS, "", BOOKINGS)
        twin.sim.run_for(10 * SECOND)
        assert twin.resources is BUILT_IN
        assert api.store.count(BOOKINGS) == 1
        assert BOOKINGS in api.resources.by_name


def test_lists_with_keys_are_merged_by_server_side_apply(api: Api) -> None:
    for manager, extra in (("one", "sauna"), ("two", "crib")):
        body = booking(extras=[{"name": extra}])
        target = f"{COLLECTION}/b1?fieldManager={manager}"
        assert send(api, "PATCH", target, body, content_type=APPLY_PATCH).ok
    made = send(api, "GET", f"{COLLECTION}/b1").body
    assert [extra["name"] for extra in made["spec"]["extras"]] == ["sauna", "crib"]
    owned = [entry["fieldsV1"]["f:spec"]["f:extras"] for entry in made["metadata"]["managedFields"]]
    assert [list(fields) for fields in owned] == [['k:{"name":"sauna"}'], ['k:{"name":"crib"}']]
    body = booking(guest="Bob")
    answer = send(api, "PATCH", f"{COLLECTION}/b1?fieldManager=one", body, content_type=APPLY_PATCH)
    assert (answer.code, answer.body["message"]) == (
        409,
        'Apply failed with 1 conflict: conflict with "two": .spec.guest',
    )


def test_field_selectors() -> None:
    client = Client(start(definition(selectableFields=[{"jsonPath": ".spec.guest"}])), ADMIN, "kubectl")
    client.create(BOOKINGS, "shop", booking())
    client.create(BOOKINGS, "shop", booking("b2", guest="Bob"))
    found = send(client.api, "GET", f"{COLLECTION}?fieldSelector=spec.guest%3DBob").body
    assert [obj["metadata"]["name"] for obj in found["items"]] == ["b2"]
    answer = send(client.api, "GET", f"{COLLECTION}?fieldSelector=spec.nights%3D1")
    assert (answer.code, answer.body["message"]) == (400, "field label not supported: spec.nights")


def test_an_update_needs_a_version(api: Api, client: Client) -> None:
    client.create(BOOKINGS, "shop", booking())
    answer = send(api, "PUT", f"{COLLECTION}/b1", booking(nights=2))
    assert answer.code == 422
    assert "metadata.resourceVersion: Invalid value: 0x0: must be specified for an update" in answer.body["message"]


def test_scale_subresource() -> None:
    paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    api = start(definition(subresources={"status": {}, "scale": {**paths, "labelSelectorPath": ".status.selector"}}))
    client = Client(api, ADMIN, "kubectl")
    client.create(BOOKINGS, "shop", booking(replicas=2))
    body = {"status": {"replicas": 1, "selector": "app=x"}}
    client.patch(BOOKINGS, "shop", "b1", body, kind="merge", subresource="status")
    scale = send(api, "GET", f"{COLLECTION}/b1/scale").body
    assert (scale["spec"], scale["status"]) == ({"replicas": 2}, {"replicas": 1, "selector": "app=x"})
    send(api, "PATCH", f"{COLLECTION}/b1/scale", {"spec": {"replicas": 5}}, content_type=MERGE_PATCH)
    assert client.get(BOOKINGS, "shop", "b1")["spec"]["replicas"] == 5


def test_several_versions() -> None:
    body = definition()
    newest = body["spec"]["versions"][0]
    old = {**newest, "name": "v1beta1", "storage": False, "deprecated": True}
    body["spec"]["versions"] = [old, newest]
    api = start(body)
    answer = send(api, "POST", COLLECTION.replace("v1/", "v1beta1/"), {**booking(), "apiVersion": None})
    assert answer.body["apiVersion"] == "hotel.example.com/v1beta1"
    assert answer.warnings == ("hotel.example.com/v1beta1 Booking is deprecated",)
    stored = api.store.get(BOOKINGS, "shop", "b1")
    assert stored is not None
    assert stored["apiVersion"] == "hotel.example.com/v1"
    assert send(api, "GET", f"{COLLECTION}/b1").body["apiVersion"] == "hotel.example.com/v1"
    group = send(api, "GET", "/apis/hotel.example.com").body
    assert [v["version"] for v in group["versions"]] == ["v1", "v1beta1"]


class TestRules:
    def start(self, *rules: dict[str, Any]) -> Client:
        spec = {**SPEC, "x-kubernetes-validations": list(rules)}
        schema = {"type": "object", "properties": {"spec": spec, "status": STATUS}}
        return Client(start(definition(schema={"openAPIV3Schema": schema})), ADMIN, "kubectl")

    def test_messages(self) -> None:
        client = self.start(
            {"rule": "self.nights <= 7 || self.kind == 'double'", "message": "long stays need a double room"},
            {"rule": "self.guest != 'Bob'", "messageExpression": "'no ' + self.guest + ' here'"},
            {"rule": "!has(self.note)", "reason": "FieldValueForbidden", "fieldPath": ".note"},
        )
        client.create(BOOKINGS, "shop", booking("fine", nights=3))
        assert refusal(client, nights=8) == ['spec: Invalid value: "object": long stays need a double room']
        assert refusal(client, guest="Bob", nights=1) == ['spec: Invalid value: "object": no Bob here']
        assert refusal(client, nights=1, note="x") == ["spec.note: Forbidden: failed rule: !has(self.note)"]
        assert refusal(client) == [
            'spec: Invalid value: "object": no such key: nights evaluating rule: long stays need a double room'
        ]

    def test_changes(self) -> None:
        client = self.start({"rule": "self.guest == oldSelf.guest", "message": "guest is immutable"})
        client.create(BOOKINGS, "shop", booking())
        client.patch(BOOKINGS, "shop", "b1", {"spec": {"nights": 2}}, kind="merge")
        with pytest.raises(ApiError, match="guest is immutable"):
            client.patch(BOOKINGS, "shop", "b1", {"spec": {"guest": "Bob"}}, kind="merge")

    def test_are_not_tried_on_what_is_malformed(self) -> None:
        client = self.start({"rule": "self.nights < 5"})
        assert refusal(client, nights="many")[-1].startswith('<nil>: Invalid value: "null": some validation rules were')

    def test_must_compile(self) -> None:
        client = Client(Api(Simulation(1)), ADMIN, "kubectl")
        spec = {**SPEC, "x-kubernetes-validations": [{"rule": "slef.nights < 5"}]}
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
        with pytest.raises(ApiError, match="undeclared reference to 'slef'"):
            client.create(CRDS, "", definition(schema=schema))
