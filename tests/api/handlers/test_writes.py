"""What create, update, patch and delete mean."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.objects import thaw
from simcluster.api.request import ADMIN, MERGE_PATCH, Response, request_of
from simcluster.api.server import Api
from simcluster.engine import MINUTE, SECOND, Simulation, fork

POD: dict[str, Any] = {"containers": [{"name": "c", "image": "nginx:1.27"}]}


@pytest.fixture
def api() -> Api:
    api = Api(Simulation(7))
    client = Client(api, ADMIN, "kubectl")
    for name in ("default", "shop"):
        client.create("namespaces", "", {"metadata": {"name": name}})
        client.create("serviceaccounts", name, {"metadata": {"name": "default"}})
    return api


@pytest.fixture
def client(api: Api) -> Client:
    return Client(api, ADMIN, "kubectl/v1.32")


def send(api: Api, method: str, target: str, body: Any = None, **rest: Any) -> Response:
    return api.handle(request_of(method, target, body=body, **rest))


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"app": name}}, "spec": {**POD, **spec}}


def deployment(name: str) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": POD}
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels}, "template": template}}


def refused(error: pytest.ExceptionInfo[ApiError]) -> tuple[int, str]:
    return error.value.code, error.value.message


class TestCreate:
    def test_server_fields(self, api: Api, client: Client) -> None:
        api.sim.run_for(90 * SECOND)
        made = client.create("deployments.apps", "shop", deployment("web"))
        metadata = made["metadata"]
        assert metadata["creationTimestamp"] == "2026-03-02T09:01:30Z"
        assert metadata["generation"] == 1
        assert metadata["namespace"] == "shop"
        assert metadata["managedFields"][0]["manager"] == "kubectl"
        assert made["status"] == {}
        assert (made["kind"], made["apiVersion"]) == ("Deployment", "apps/v1")

    def test_client_does_not_choose_server_fields(self, client: Client) -> None:
        body = pod("a")
        body["metadata"] |= {"uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z", "generation": 9}
        body["status"] = {"phase": "Running"}
        made = client.create("pods", "shop", body)
        assert made["metadata"]["uid"] != "mine"
        assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
        assert body["metadata"]["uid"] == "mine"  # the caller's object is not touched

    def test_uids_do_not_depend_on_what_else_happens(self) -> None:
        def uid(first: bool) -> str:
            client = Client(Api(Simulation(3)), ADMIN, "x")
            if first:
                client.create("configmaps", "a", {"metadata": {"name": "other"}})
            return str(client.create("configmaps", "a", {"metadata": {"name": "cm"}})["metadata"]["uid"])

        assert uid(True) == uid(False)

    def test_recreated_object_has_another_uid(self, client: Client) -> None:
        first = client.create("configmaps", "shop", {"metadata": {"name": "cm"}})
        client.delete("configmaps", "shop", "cm")
        assert (
            client.create("configmaps", "shop", {"metadata": {"name": "cm"}})["metadata"]["uid"]
            != first["metadata"]["uid"]
        )

    def test_generated_names_differ(self, client: Client) -> None:
        names = {
            client.create("configmaps", "shop", {"metadata": {"generateName": "x-"}})["metadata"]["name"]
            for _ in range(20)
        }
        assert len(names) == 20
        assert all(name.startswith("x-") and len(name) == 7 for name in names)

    def test_dry_run_stores_nothing(self, api: Api) -> None:
        version = api.store.version
        response = send(api, "POST", "/api/v1/namespaces/shop/pods?dryRun=All", pod("a"))
        assert response.code == 201
        assert api.store.version == version
        assert api.store.get("pods", "shop", "a") is None

    def test_terminating_namespace(self, api: Api, client: Client) -> None:
        client.delete("namespaces", "", "shop")
        with pytest.raises(ApiError) as error:
            client.create("configmaps", "shop", {"metadata": {"name": "late"}})
        why = "unable to create new content in namespace shop because it is being terminated"
        assert refused(error) == (403, f'configmaps "late" is forbidden: {why}')

    def test_unknown_field(self, api: Api) -> None:
        body = {"metadata": {"name": "cm"}, "dat": {}}
        strict = send(api, "POST", "/api/v1/namespaces/shop/configmaps?fieldValidation=Strict", body)
        assert strict.code == 400
        assert strict.body["message"].endswith('strict decoding error: unknown field "dat"')
        assert send(api, "POST", "/api/v1/namespaces/shop/configmaps", body).warnings == ('unknown field "dat"',)

    def test_yaml_body(self, api: Api) -> None:
        text = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\ndata:\n  a: b\n"
        path = "/api/v1/namespaces/shop/configmaps"
        assert send(api, "POST", path, text, content_type="application/yaml").body["data"] == {"a": "b"}

    def test_oversized_body(self, api: Api) -> None:
        response = send(api, "POST", "/api/v1/namespaces/shop/configmaps", b" " * (3 * 1024 * 1024 + 1))
        assert (response.code, response.body["reason"]) == (413, "RequestEntityTooLarge")


class TestUpdate:
    def test_conflict(self, client: Client) -> None:
        made = client.create("configmaps", "shop", {"metadata": {"name": "cm"}})
        client.patch("configmaps", "shop", "cm", {"data": {"a": "1"}})
        with pytest.raises(ApiError) as error:
            client.update("configmaps", {**made, "data": {"a": "2"}})
        assert error.value.code == 409

    def test_generation_counts_the_spec_only(self, client: Client) -> None:
        client.create("deployments.apps", "shop", deployment("web"))
        labelled = client.patch("deployments.apps", "shop", "web", {"metadata": {"labels": {"a": "b"}}})
        assert labelled["metadata"]["generation"] == 1
        scaled = client.patch("deployments.apps", "shop", "web", {"spec": {"replicas": 3}})
        assert scaled["metadata"]["generation"] == 2
        reported = client.update_status("deployments.apps", {**scaled, "status": {"replicas": 3}})
        assert reported["metadata"]["generation"] == 2

    def test_status_and_spec_are_apart(self, client: Client) -> None:
        made = client.create("deployments.apps", "shop", deployment("web"))
        both = {**made, "spec": {**made["spec"], "replicas": 5}, "status": {"replicas": 7}}
        stored = client.update_status("deployments.apps", both)
        assert (stored["spec"]["replicas"], stored["status"]) == (1, {"replicas": 7})
        stored = client.update("deployments.apps", {**stored, "spec": both["spec"], "status": {"replicas": 1}})
        assert (stored["spec"]["replicas"], stored["status"]) == (5, {"replicas": 7})

    def test_writing_the_same_changes_nothing(self, api: Api, client: Client) -> None:
        made = client.create("deployments.apps", "shop", deployment("web"))
        version = api.store.version
        client.update("deployments.apps", thaw(made))
        client.update_status("deployments.apps", thaw(made))
        client.patch("deployments.apps", "shop", "web", {"spec": {"replicas": 1}})
        client.patch("deployments.apps", "shop", "web", {}, kind="merge")
        assert api.store.version == version

    def test_reading_does_not_share_what_may_change(self, api: Api, client: Client) -> None:
        client.create("deployments.apps", "shop", deployment("web"))
        before = repr(api.store.get("deployments.apps", "shop", "web"))
        held = api.store.get("deployments.apps", "shop", "web")
        container = {"name": "c", "image": "nginx:2", "env": [{"name": "A", "value": "1"}]}
        patch = {"spec": {"template": {"spec": {"containers": [container]}}}}
        client.patch("deployments.apps", "shop", "web", patch)
        client.patch("deployments.apps", "shop", "web", {"status": {"replicas": 1}}, subresource="status")
        assert repr(held) == before

    def test_scale(self, api: Api, client: Client) -> None:
        client.create("deployments.apps", "shop", deployment("web"))
        path = "/apis/apps/v1/namespaces/shop/deployments/web/scale"
        answer = send(api, "PATCH", path, {"spec": {"replicas": 4}}, content_type=MERGE_PATCH).body
        assert (answer["kind"], answer["spec"], answer["status"]["selector"]) == ("Scale", {"replicas": 4}, "app=web")
        stored = client.get("deployments.apps", "shop", "web")
        assert (stored["spec"]["replicas"], stored["metadata"]["generation"]) == (4, 2)
        answer = send(api, "PUT", path, {**answer, "spec": {"replicas": 2}}).body
        assert answer["spec"] == {"replicas": 2}

    def test_managed_fields_move_to_the_last_writer(self, api: Api, client: Client) -> None:
        client.create("deployments.apps", "shop", deployment("web"))
        other = Client(api, ADMIN, "hpa")
        stored = other.patch("deployments.apps", "shop", "web", {"spec": {"replicas": 3}})
        owners = {e["manager"]: e["fieldsV1"]["f:spec"] for e in stored["metadata"]["managedFields"]}
        assert owners["hpa"] == {"f:replicas": {}}
        assert "f:replicas" not in owners["kubectl"]


class TestDelete:
    def test_unscheduled_pod_goes_at_once(self, api: Api, client: Client) -> None:
        client.create("pods", "shop", pod("a"))
        client.delete("pods", "shop", "a")
        assert api.store.get("pods", "shop", "a") is None

    def test_grace_period(self, api: Api, client: Client) -> None:
        client.bind(client.create("pods", "shop", pod("a")), "worker-1")
        client.delete("pods", "shop", "a")
        metadata = client.get("pods", "shop", "a")["metadata"]
        assert metadata["deletionTimestamp"] == "2026-03-02T09:00:30Z"
        assert metadata["deletionGracePeriodSeconds"] == 30
        client.delete("pods", "shop", "a", grace_period_s=60)  # a longer one is not granted
        assert client.get("pods", "shop", "a")["metadata"] == metadata
        client.delete("pods", "shop", "a", grace_period_s=5)
        metadata = client.get("pods", "shop", "a")["metadata"]
        assert (metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"]) == ("2026-03-02T09:00:05Z", 5)
        client.delete("pods", "shop", "a", grace_period_s=0, uid=metadata["uid"])
        assert api.store.get("pods", "shop", "a") is None

    def test_preconditions(self, client: Client) -> None:
        client.create("pods", "shop", pod("a"))
        with pytest.raises(ApiError, match="does not match the UID in record"):
            client.delete("pods", "shop", "a", uid="other")

    def test_finalizers_hold_the_object(self, api: Api, client: Client) -> None:
        client.create("configmaps", "shop", {"metadata": {"name": "cm", "finalizers": ["example.com/x"]}})
        client.delete("configmaps", "shop", "cm")
        held = client.get("configmaps", "shop", "cm")
        assert held["metadata"]["deletionTimestamp"] == "2026-03-02T09:00:00Z"
        client.patch("configmaps", "shop", "cm", {"metadata": {"finalizers": None}}, kind="merge")
        assert api.store.get("configmaps", "shop", "cm") is None

    @pytest.mark.parametrize(("policy", "finalizer"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")])
    def test_propagation(self, client: Client, policy: str, finalizer: str) -> None:
        client.create("deployments.apps", "shop", deployment("web"))
        client.delete("deployments.apps", "shop", "web", propagation=policy)
        metadata = client.get("deployments.apps", "shop", "web")["metadata"]
        assert metadata["finalizers"] == [finalizer]
        assert "deletionTimestamp" in metadata

    def test_namespace_is_finalized(self, api: Api, client: Client) -> None:
        client.delete("namespaces", "", "shop")
        namespace = client.get("namespaces", "", "shop")
        assert namespace["status"]["phase"] == "Terminating"
        body = {**namespace, "spec": {}}
        assert send(api, "PUT", "/api/v1/namespaces/shop/finalize", body).code == 200
        assert api.store.get("namespaces", "", "shop") is None

    def test_default_namespace_stays(self, client: Client) -> None:
        with pytest.raises(ApiError) as error:
            client.delete("namespaces", "", "default")
        assert refused(error) == (403, 'namespaces "default" is forbidden: this namespace may not be deleted')

    def test_collection(self, api: Api, client: Client) -> None:
        for name in ("a", "b", "c"):
            client.create("pods", "shop", pod(name))
        assert send(api, "DELETE", "/api/v1/namespaces/shop/pods?labelSelector=app%21%3Db").code == 200
        assert [p["metadata"]["name"] for p in api.store.objects("pods")] == ["b"]


class TestServices:
    def service(self, name: str, **spec: Any) -> dict[str, Any]:
        return {"metadata": {"name": name}, "spec": {"selector": {"app": "a"}, "ports": [{"port": 80}], **spec}}

    def test_allocation_and_release(self, api: Api, client: Client) -> None:
        made = client.create("services", "shop", self.service("a", type="NodePort"))["spec"]
        assert made["clusterIP"].startswith("10.96.")
        assert made["clusterIPs"] == [made["clusterIP"]]
        assert 30000 <= made["ports"][0]["nodePort"] <= 32767
        assert (made["ipFamilies"], made["ipFamilyPolicy"]) == (["IPv4"], "SingleStack")
        taken = self.service("b", clusterIP=made["clusterIP"])
        with pytest.raises(ApiError, match="provided IP is already allocated"):
            client.create("services", "shop", taken)
        client.delete("services", "shop", "a")
        assert client.create("services", "shop", taken)["spec"]["clusterIP"] == made["clusterIP"]
        assert not api.registry.addresses.ports

    def test_update_keeps_the_address(self, client: Client) -> None:
        made = client.create("services", "shop", self.service("a", type="NodePort"))
        bare = self.service("a", type="NodePort", ports=[{"port": 80}, {"port": 81, "name": "x"}])
        bare["spec"]["ports"][0]["name"] = "w"
        stored = client.update("services", {**bare, "metadata": {"name": "a", "namespace": "shop"}})
        assert stored["spec"]["clusterIP"] == made["spec"]["clusterIP"]
        assert stored["spec"]["ports"][0]["nodePort"] == made["spec"]["ports"][0]["nodePort"]
        back = client.patch("services", "shop", "a", {"spec": {"type": "ClusterIP"}})
        assert all("nodePort" not in port for port in back["spec"]["ports"])

    def test_node_port_out_of_range(self, client: Client) -> None:
        ports = [{"port": 80, "nodePort": 80}]
        with pytest.raises(ApiError) as error:
            client.create("services", "shop", self.service("a", type="NodePort", ports=ports))
        text = "provided port is not in the valid range. The range of valid ports is 30000-32767"
        assert error.value.message == f'Service "a" is invalid: spec.ports[0].nodePort: Invalid value: 80: {text}'

    def test_headless_and_external(self, client: Client) -> None:
        headless = client.create("services", "shop", self.service("h", clusterIP="None"))["spec"]
        assert headless["clusterIPs"] == ["None"]
        external = {"metadata": {"name": "e"}, "spec": {"type": "ExternalName", "externalName": "example.com"}}
        assert "clusterIP" not in client.create("services", "shop", external)["spec"]

    def test_an_external_name_goes_with_its_type_unless_it_is_changed(self, client: Client) -> None:
        external = {"metadata": {"name": "e"}, "spec": {"type": "ExternalName", "externalName": "example.com"}}
        client.create("services", "shop", external)
        patch = {"spec": {"type": "ClusterIP", "ports": [{"port": 80}]}}
        spec = client.patch("services", "shop", "e", patch, kind="merge")["spec"]
        assert "externalName" not in spec
        assert spec["clusterIP"]


def test_binding(client: Client) -> None:
    made = client.create("pods", "shop", pod("a"))
    client.bind(made, "worker-1")
    bound = client.get("pods", "shop", "a")
    assert bound["spec"]["nodeName"] == "worker-1"
    assert bound["status"]["conditions"][0]["type"] == "PodScheduled"
    with pytest.raises(ApiError) as error:
        client.bind(made, "worker-2")
    text = 'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "worker-1"'
    assert refused(error) == (409, text)


def test_events_expire(api: Api, client: Client) -> None:
    body = {"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "a", "namespace": "shop"}}
    client.create("events", "shop", body)
    api.sim.run_for(59 * MINUTE)
    client.patch("events", "shop", "e", {"count": 2})
    api.sim.run_for(59 * MINUTE)
    assert api.store.get("events", "shop", "e") is not None
    api.sim.run_for(2 * MINUTE)
    assert api.store.get("events", "shop", "e") is None


def test_other_versions_of_a_kind(api: Api) -> None:
    spec = {
        "maxReplicas": 4,
        "scaleTargetRef": {"kind": "Deployment", "name": "web"},
        "targetCPUUtilizationPercentage": 60,
    }
    path = "/apis/autoscaling/v1/namespaces/shop/horizontalpodautoscalers"
    made = send(api, "POST", path, {"metadata": {"name": "web"}, "spec": spec}).body
    assert made["apiVersion"] == "autoscaling/v1"
    assert made["spec"]["targetCPUUtilizationPercentage"] == 60
    stored = api.store.get("horizontalpodautoscalers.autoscaling", "shop", "web")
    assert stored is not None
    assert stored["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] == 60


def test_fork_continues_alike(api: Api) -> None:
    Client(api, ADMIN, "x").create("services", "shop", TestServices().service("a", type="NodePort"))
    twin = fork(api)
    answers = [
        Client(world, ADMIN, "x").create("pods", "shop", {"metadata": {"generateName": "p-"}, "spec": POD})
        for world in (api, twin)
    ]
    assert answers[0] == answers[1]
    assert api.sim.digest.hex() == twin.sim.digest.hex()
