import copy
import json

from simcluster.api import defaults, schema
from simcluster.api.resources import BUILT_IN, Resource
from simcluster.testing.recordings import recordings


def resource_of(api_version, kind):
    group, _, version = api_version.rpartition("/")
    return BUILT_IN.by_kind.get((group, version, kind)) or Resource(group, version, kind, kind.lower(), "", True)


def defaulted(obj):
    resource = resource_of(obj["apiVersion"], obj["kind"])
    made = schema.decode(resource, obj).object
    defaults.apply(resource, made)
    again = copy.deepcopy(made)
    defaults.apply(resource, again)
    assert again == made
    return made


def pod(container=(), **spec):
    containers = [{"name": "c", "image": "nginx", **dict(container)}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}


def test_a_pod_gets_what_every_pod_gets():
    spec = defaulted(pod())["spec"]
    assert spec == {
        "containers": [
            {
                "name": "c",
                "image": "nginx",
                "imagePullPolicy": "Always",
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "resources": {},
            }
        ],
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "enableServiceLinks": True,
    }


def test_probes_env_ports_and_lifecycle():
    made = defaulted(
        pod(
            {
                "ports": [{"containerPort": 80}],
                "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                "livenessProbe": {"httpGet": {"port": 80}, "timeoutSeconds": 0, "periodSeconds": 3},
                "readinessProbe": {"grpc": {"port": 80}},
                "lifecycle": {"preStop": {"httpGet": {"port": 80}}},
            }
        )
    )
    container = made["spec"]["containers"][0]
    assert container["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert container["env"][0]["valueFrom"]["fieldRef"]["apiVersion"] == "v1"
    assert container["livenessProbe"] == {
        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 3,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    assert container["readinessProbe"]["grpc"] == {"port": 80, "service": ""}
    assert container["lifecycle"]["preStop"]["httpGet"] == {"port": 80, "path": "/", "scheme": "HTTP"}


def test_requests_follow_limits_in_pods_but_not_in_templates():
    limits = {"resources": {"limits": {"cpu": "1", "memory": "64Mi"}, "requests": {"cpu": "100m"}}}
    made = defaulted(pod(limits))
    assert made["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "100m", "memory": "64Mi"}
    spec = {"selector": {}, "template": {"spec": pod(limits)["spec"]}}
    made = defaulted({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec})
    template = made["spec"]["template"]
    assert template["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "100m"}
    assert "enableServiceLinks" not in template["spec"]
    assert template["metadata"] == {"creationTimestamp": None}


def test_volumes_and_service_account():
    volumes = [
        {"name": "a"},
        {"name": "b", "secret": {"secretName": "s"}},
        {"name": "c", "hostPath": {"path": "/"}},
        {"name": "d", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
    ]
    spec = defaulted(pod(volumes=volumes, serviceAccount="sa", hostNetwork=True))["spec"]
    assert [next(v for k, v in volume.items() if k != "name") for volume in spec["volumes"]] == [
        {},
        {"secretName": "s", "defaultMode": 420},
        {"path": "/", "type": ""},
        {"sources": [{"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}}], "defaultMode": 420},
    ]
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "sa"


def test_host_network_pods_have_host_ports():
    spec = defaulted(pod({"ports": [{"containerPort": 80}]}, hostNetwork=True))["spec"]
    assert spec["containers"][0]["ports"][0]["hostPort"] == 80


def test_deployment_strategy():
    made = defaulted({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {}})
    assert made["spec"]["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
    }
    assert (made["spec"]["replicas"], made["spec"]["revisionHistoryLimit"]) == (1, 10)
    assert made["spec"]["progressDeadlineSeconds"] == 600
    recreate = {"strategy": {"type": "Recreate"}, "replicas": 0}
    made = defaulted({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": recreate})
    assert made["spec"]["strategy"] == {"type": "Recreate"}
    assert made["spec"]["replicas"] == 0


def test_services_by_type():
    def spec(**fields):
        body = {"ports": [{"port": 80}], **fields}
        return defaulted({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": body})["spec"]

    assert spec() == {
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "sessionAffinity": "None",
        "type": "ClusterIP",
        "internalTrafficPolicy": "Cluster",
    }
    assert spec(type="NodePort")["externalTrafficPolicy"] == "Cluster"
    assert spec(type="LoadBalancer")["allocateLoadBalancerNodePorts"] is True
    assert spec(sessionAffinity="ClientIP")["sessionAffinityConfig"] == {"clientIP": {"timeoutSeconds": 10_800}}
    assert "internalTrafficPolicy" not in spec(type="ExternalName", externalName="a.b")


def test_secrets_take_plain_text_and_namespaces_their_name():
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "hi"}}
    made = defaulted(secret)
    assert "stringData" not in made
    assert (made["data"], made["type"]) == ({"a": "aGk="}, "Opaque")
    namespace = defaulted({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    assert namespace["metadata"]["labels"] == {"kubernetes.io/metadata.name": "n"}
    assert namespace["spec"] == {"finalizers": ["kubernetes"]}


def test_a_job_gets_a_selector_from_its_uid():
    spec = {"template": {"spec": pod()["spec"]}}
    job = defaulted({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec})
    assert (job["spec"]["completions"], job["spec"]["parallelism"], job["spec"]["backoffLimit"]) == (1, 1, 6)
    defaults.generate_job_selector(job, "u-1")
    assert job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u-1"}}
    assert job["spec"]["template"]["metadata"]["labels"]["job-name"] == "j"
    assert job["metadata"]["labels"]["batch.kubernetes.io/job-name"] == "j"


def test_a_daemonset_counts_changes_of_its_template():
    daemonset = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d"}, "spec": {"template": {}}}
    made = defaulted(daemonset)
    defaults.count_template_generation(made, None)
    changed = copy.deepcopy(made)
    changed["spec"]["template"]["spec"]["hostNetwork"] = True
    defaults.count_template_generation(changed, made)
    key = "deprecated.daemonset.template.generation"
    assert (made["metadata"]["annotations"][key], changed["metadata"]["annotations"][key]) == ("1", "2")


#: What of a stored object no defaulting makes: allocations and controllers' writes.
_NOT_OURS = {
    "Service": ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"),
    "PersistentVolume": ("claimRef",),
    "Job": ("selector",),
}


def test_applied_manifests_default_to_what_a_real_server_stored():
    seen = 0
    for path in sorted((recordings() / "kubernetes-http/raw-1.32").glob("*_list_*.body")):
        document = json.loads(path.read_text())
        kind = document["kind"].removesuffix("List")
        for obj in document["items"] or ():
            annotations = obj["metadata"].get("annotations") or {}
            applied = annotations.get("kubectl.kubernetes.io/last-applied-configuration")
            if applied is None or kind == "ControllerRevision":
                continue
            made = defaulted(json.loads(applied))
            if kind == "Job":
                defaults.generate_job_selector(made, obj["metadata"]["uid"])
            for part in obj:
                if part in ("metadata", "status"):
                    continue
                real, ours = obj[part], made[part]
                if part == "spec":
                    real = {k: v for k, v in real.items() if k not in _NOT_OURS.get(kind, ())}
                    ours = {k: v for k, v in ours.items() if k not in _NOT_OURS.get(kind, ())}
                assert ours == real
            seen += 1
    assert seen > 25
