import copy
import json

import pytest

from simcluster.api import defaults, schema, validation
from simcluster.api.resources import BUILT_IN, Resource
from simcluster.testing.recordings import recordings


def resource_of(obj):
    group, _, version = obj["apiVersion"].rpartition("/")
    kind = obj["kind"]
    cluster_scoped = kind in ("Namespace", "Node", "PersistentVolume", "StorageClass", "PriorityClass", "ClusterRole")
    known = BUILT_IN.by_kind.get((group, version, kind))
    return known or Resource(group, version, kind, kind.lower(), "", not cluster_scoped)


def made(obj):
    """The object as the request path hands it to validation."""
    resource = resource_of(obj)
    decoded = schema.decode(resource, obj)
    assert decoded.error is None
    obj = decoded.object
    if resource.namespaced:
        obj.setdefault("metadata", {}).setdefault("namespace", "default")
    defaults.apply(resource, obj)
    return obj


def texts(causes):
    return [f"{cause.field}: {cause.message}" for cause in causes]


def refused(obj):
    return texts(validation.validate_create(resource_of(obj), made(obj)))


def refused_change(obj, change):
    old = made(obj)
    new = copy.deepcopy(old)
    change(new)
    return texts(validation.validate_update(resource_of(obj), new, old))


def kind(api_version, kind_name, name="a", **body):
    return {"apiVersion": api_version, "kind": kind_name, "metadata": {"name": name}, **body}


def pod(container=None, **spec):
    return kind("v1", "Pod", spec={"containers": [{"name": "c", "image": "nginx", **(container or {})}], **spec})


def deployment(labels=None, container=None, **spec):
    template = {"metadata": {"labels": labels or {"app": "a"}}, "spec": pod(container)["spec"]}
    selector = {"matchLabels": {"app": "a"}}
    return kind("apps/v1", "Deployment", spec={"selector": selector, "template": template, **spec})


def service(**spec):
    return kind("v1", "Service", spec={"ports": [{"port": 80}], "selector": {"app": "a"}, **spec})


def test_sound_objects_are_accepted():
    assert refused(pod()) == []
    assert refused(deployment()) == []
    assert refused(service()) == []


def test_everything_wrong_with_a_pod_in_the_servers_order():
    bad = pod({"ports": [{"containerPort": 99999}], "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}})
    bad["metadata"] = {"name": "Bad_Name", "labels": {"bad key!": "x"}}
    bad["spec"]["restartPolicy"] = "Sometimes"
    assert refused(bad) == [
        'metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist of lower case '
        "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
        "'example.com', regex used for validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        "metadata.labels: Invalid value: \"bad key!\": name part must consist of alphanumeric characters, '-', '_' or "
        "'.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "
        "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        "spec.containers[0].ports[0].containerPort: Invalid value: 99999: must be between 1 and 65535, inclusive",
        'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
        'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
    ]


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        ({"image": ""}, ["image: Required value"]),
        ({"image": " nginx"}, ['image: Invalid value: " nginx": must not have leading or trailing whitespace']),
        (
            {"imagePullPolicy": "Maybe"},
            ['imagePullPolicy: Unsupported value: "Maybe": supported values: "Always", "IfNotPresent", "Never"'],
        ),
        ({"ports": [{}]}, ["ports[0].containerPort: Required value"]),
        (
            {"ports": [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]},
            ['ports[1].name: Duplicate value: "a"'],
        ),
        ({"volumeMounts": [{"name": "x", "mountPath": "/x"}]}, ['volumeMounts[0].name: Not found: "x"']),
        ({"env": [{"value": "x"}]}, ["env[0].name: Required value"]),
        (
            {"env": [{"name": "A", "valueFrom": {}}]},
            [
                'env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, '
                "`configMapKeyRef` or `secretKeyRef`"
            ],
        ),
        ({"envFrom": [{"configMapRef": {}}]}, ["envFrom[0].configMapRef.name: Required value"]),
        ({"livenessProbe": {"periodSeconds": 1}}, ["livenessProbe: Required value: must specify a handler type"]),
        (
            {"livenessProbe": {"tcpSocket": {"port": 80}, "successThreshold": 2}},
            ["livenessProbe.successThreshold: Invalid value: 2: must be 1"],
        ),
        (
            {"readinessProbe": {"tcpSocket": {"port": 80}, "exec": {"command": ["a"]}}},
            ["readinessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type"],
        ),
        (
            {"startupProbe": {"httpGet": {"port": 0}}},
            ["startupProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive"],
        ),
        (
            {"resources": {"requests": {"speed": "1"}}},
            [
                'resources.requests[speed]: Invalid value: "speed": must be a standard resource type or '
                "fully qualified",
                'resources.requests[speed]: Invalid value: "speed": must be a standard resource for containers',
            ],
        ),
        (
            {"resources": {"requests": {"nvidia.com/gpu": "1"}}},
            ["resources.limits: Required value: Limit must be set for non overcommitable resources"],
        ),
        (
            {"resources": {"requests": {"cpu": "-1"}}},
            ['resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
        ),
    ],
)
def test_containers(container, expected):
    assert refused(pod(container)) == [f"spec.containers[0].{text}" for text in expected]


def test_pods_need_containers_with_distinct_names():
    assert refused(pod(containers=[])) == ["spec.containers: Required value"]
    twice = [{"name": "c", "image": "a"}, {"name": "c", "image": "b"}]
    assert refused(pod(containers=twice)) == ['spec.containers[1].name: Duplicate value: "c"']
    assert refused(pod(initContainers=twice[:1])) == ['spec.initContainers[0].name: Duplicate value: "c"']
    probing = [{"name": "i", "image": "a", "readinessProbe": {"tcpSocket": {"port": 1}}}]
    assert refused(pod(initContainers=probing)) == [
        "spec.initContainers[0].readinessProbe: Forbidden: may not be set for init containers without "
        "restartPolicy=Always"
    ]
    assert refused(pod(initContainers=[{**probing[0], "restartPolicy": "Always"}])) == []


def test_volumes():
    assert refused(pod(volumes=[{"name": "a", "secret": {}}])) == ["spec.volumes[0].secret.secretName: Required value"]
    both = [{"name": "a", "emptyDir": {}, "hostPath": {"path": "/"}}]
    assert refused(pod(volumes=both)) == [
        "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"
    ]
    twice = [{"name": "a", "emptyDir": {}}, {"name": "a", "emptyDir": {}}]
    assert refused(pod(volumes=twice)) == ['spec.volumes[1].name: Duplicate value: "a"']


def test_scheduling():
    assert refused(pod(tolerations=[{"operator": "Sometimes", "key": "a"}])) == [
        'spec.tolerations[0].operator: Unsupported value: "Sometimes": supported values: "Equal", "Exists"'
    ]
    term = {"labelSelector": {"matchLabels": {"a": "b"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    assert refused(pod(affinity=affinity)) == [
        "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: "
        "Required value: can not be empty"
    ]
    node = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
    assert refused(pod(affinity={"nodeAffinity": node})) == [
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: "
        "Required value: must have at least one node selector term"
    ]


def test_a_selector_must_select_the_template():
    assert refused(deployment(labels={"app": "b"})) == [
        'spec.template.metadata.labels: Invalid value: map[string]string{"app":"b"}: `selector` does not match '
        "template `labels`"
    ]
    without = deployment()
    del without["spec"]["selector"]
    assert refused(without)[0] == "spec.selector: Required value"
    assert refused(deployment(selector={}))[0] == (
        "spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), "
        "MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: empty selector is invalid for deployment"
    )


def test_rollout_parameters():
    assert refused(deployment(replicas=-1)) == ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]
    zero = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}
    assert refused(deployment(strategy=zero)) == [
        'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: intstr.IntOrString{Type:0, IntVal:0, StrVal:""}: '
        "may not be 0 when `maxSurge` is 0"
    ]
    assert refused(deployment(strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}})) == [
        "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"
    ]
    assert refused(deployment(strategy={"type": "Slow"})) == [
        'spec.strategy.type: Unsupported value: "Slow": supported values: "Recreate", "RollingUpdate"'
    ]
    assert refused(deployment(progressDeadlineSeconds=5, minReadySeconds=5)) == [
        "spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds"
    ]


def test_selectors_of_workloads_stay():
    def change(obj):
        obj["spec"]["selector"]["matchLabels"]["app"] = "x"

    assert refused_change(deployment(), change) == [
        'spec.template.metadata.labels: Invalid value: map[string]string{"app":"a"}: `selector` does not match '
        "template `labels`",
        'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"app":"x"}, '
        "MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: field is immutable",
    ]


def test_restart_policies_of_templates():
    never = deployment()
    never["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    assert refused(never) == [
        'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'
    ]
    job = kind("batch/v1", "Job", spec={"template": {"spec": pod()["spec"]}})
    assert refused(job) == ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"']


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"ports": []}, ["spec.ports: Required value"]),
        (
            {"ports": [{"port": 0}]},
            [
                "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
                "spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive",
            ],
        ),
        (
            {"ports": [{"port": 1}, {"port": 2}]},
            ["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"],
        ),
        ({"ports": [{"port": 1, "name": "a"}, {"port": 2, "name": "a"}]}, ['spec.ports[1].name: Duplicate value: "a"']),
        (
            {"ports": [{"port": 80, "nodePort": 30000}]},
            ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
        ),
        (
            {"type": "Magic"},
            [
                'spec.type: Unsupported value: "Magic": supported values: "ClusterIP", "ExternalName", '
                '"LoadBalancer", "NodePort"'
            ],
        ),
        ({"type": "ExternalName", "ports": []}, ["spec.externalName: Required value"]),
        ({"selector": {"a": "b c"}}, 1),
    ],
)
def test_services(spec, expected):
    found = refused(service(**spec))
    assert found == expected or len(found) == expected


def test_names_of_services_and_cronjobs():
    assert refused({**service(), "metadata": {"name": "1a"}})[0].startswith(
        'metadata.name: Invalid value: "1a": a DNS-1035'
    )
    job = {"spec": {"template": {"spec": {**pod()["spec"], "restartPolicy": "Never"}}}}
    cronjob = kind("batch/v1", "CronJob", "a" * 53, spec={"schedule": "* * * *", "jobTemplate": job})
    assert refused(cronjob) == [
        'spec.schedule: Invalid value: "* * * *": expected exactly 5 fields, found 4: [* * * *]',
        f'metadata.name: Invalid value: "{"a" * 53}": must be no more than 52 characters',
    ]


def test_an_address_once_set_stays():
    def change(obj):
        obj["spec"]["clusterIP"] = "10.96.0.77"

    held = service(clusterIP="10.96.0.5", clusterIPs=["10.96.0.5"])
    assert refused_change(held, change) == [
        'spec.clusterIPs[0]: Invalid value: []string{"10.96.0.77"}: may not change once set'
    ]


def claim(size="1Gi", **rest):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **rest}
    return kind("v1", "PersistentVolumeClaim", spec=spec, status={"phase": "Bound", "capacity": {"storage": "1Gi"}})


def test_claims():
    assert refused(kind("v1", "PersistentVolumeClaim", spec={})) == [
        "spec.accessModes: Required value: at least 1 access mode is required",
        "spec.resources[storage]: Required value",
    ]
    bound = claim(volumeName="pv")

    def shrink(obj):
        obj["spec"]["resources"]["requests"]["storage"] = "100Mi"

    def grow(obj):
        obj["spec"]["resources"]["requests"]["storage"] = "2Gi"

    def move(obj):
        obj["spec"]["storageClassName"] = "other"

    assert refused_change(bound, shrink) == [
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
    ]
    assert refused_change(bound, grow) == []
    assert refused_change(bound, move)[0].startswith("spec: Forbidden: spec is immutable after creation except")


def test_config_maps_and_secrets():
    assert refused(kind("v1", "ConfigMap", data={"a b": "x"}))[0].startswith(
        'data[a b]: Invalid value: "a b": a valid config key'
    )

    def change(obj):
        obj["data"] = {"k": "other"}

    frozen = kind("v1", "ConfigMap", data={"k": "v"}, immutable=True)
    assert refused_change(frozen, change) == ["data: Forbidden: field is immutable when `immutable` is set"]
    assert refused(kind("v1", "Secret", type="kubernetes.io/tls")) == [
        "data[tls.crt]: Required value",
        "data[tls.key]: Required value",
    ]


def test_access():
    role = kind("rbac.authorization.k8s.io/v1", "Role", rules=[{"apiGroups": [""], "resources": ["pods"]}])
    assert refused(role) == ["rules[0].verbs: Required value: verbs must contain at least one value"]
    reference = {"kind": "Role", "name": "r", "apiGroup": "rbac.authorization.k8s.io"}
    binding = kind("rbac.authorization.k8s.io/v1", "RoleBinding", roleRef=reference)

    def change(obj):
        obj["roleRef"]["name"] = "other"

    assert refused_change(binding, change) == [
        'roleRef: Invalid value: rbac.RoleRef{APIGroup:"rbac.authorization.k8s.io", Kind:"Role", Name:"other"}: '
        "cannot change roleRef"
    ]


def test_nodes_and_limits():
    taints = [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "x"}]
    found = refused(kind("v1", "Node", spec={"taints": taints}))
    assert found[0].startswith('spec.taints[1]: Duplicate value: core.Taint{Key:"a"')
    assert found[1] == (
        'spec.taints[2].effect: Unsupported value: "x": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"'
    )
    limits = [{"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}]
    assert refused(kind("v1", "LimitRange", spec={"limits": limits}))[0] == (
        'spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1'
    )


def test_pods_hardly_change():
    def image(obj):
        obj["spec"]["containers"][0]["image"] = "nginx:2"
        obj["metadata"]["labels"] = {"a": "b"}

    def more(obj):
        obj["spec"]["containers"].append({**obj["spec"]["containers"][0], "name": "d"})

    assert refused_change(pod(), image) == []
    assert refused_change(pod(), more) == ["spec.containers: Forbidden: pod updates may not add or remove containers"]


def test_a_write_that_changes_only_metadata_is_not_measured_against_new_rules():
    old = made(pod())
    old["spec"]["restartPolicy"] = "Sometimes"  # as if an older server had accepted it
    new = copy.deepcopy(old)
    new["metadata"]["annotations"] = {"a": "b"}
    assert validation.validate_update(resource_of(pod()), new, old) == []
    new["metadata"]["name"] = "other"
    assert texts(validation.validate_update(resource_of(pod()), new, old)) == [
        'metadata.name: Invalid value: "other": field is immutable'
    ]


def test_status_counts():
    old = made(deployment())
    new = {**old, "status": {"replicas": 1, "readyReplicas": 2}}
    assert texts(validation.validate_status_update(resource_of(deployment()), new, old)) == [
        "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas"
    ]


# Against recordings of a real server.


@pytest.fixture
def golden():
    return recordings()


def test_what_a_real_server_stored_is_accepted(golden):
    seen = 0
    for path in sorted((golden / "kubernetes-http/raw-1.32").glob("*_list_*.body")):
        document = json.loads(path.read_text())
        name = document["kind"].removesuffix("List")
        for obj in document["items"] or ():
            obj = {"apiVersion": document["apiVersion"], "kind": name, **obj}
            assert validation.validate_create(resource_of(obj), obj) == []
            assert validation.validate_update(resource_of(obj), {**obj, "changed": True}, obj) == []
            seen += 1
    assert seen > 300


def test_manifests_of_a_real_session_are_accepted(golden):
    for path in sorted((golden / "kubectl/manifests").glob("[0-9]*.yaml")):
        for obj in schema.decode_yaml(path.read_text())[0]:
            assert obj is None or refused(obj) == []


@pytest.mark.parametrize(
    ("manifest", "transcript"),
    [
        ("bad_invalid", "339_bad-invalid-pod"),
        ("bad_selector", "338_bad-selector"),
        ("bad_unknown_field", "336_bad-unknown-field-novalidate"),
    ],
)
def test_refusals_read_like_those_of_a_real_server(golden, manifest, transcript):
    (obj,), _ = schema.decode_yaml((golden / f"kubectl/manifests/{manifest}.yaml").read_text())
    real = (golden / f"kubectl/{transcript}.err").read_text().split(" is invalid: ", 1)[1]
    assert refused(obj) == [line.removeprefix("* ") for line in real.strip().split("\n")]


def test_a_refused_change_of_a_pod_shows_the_difference(golden):
    pods = json.loads((golden / "kubernetes-http/raw-1.32/039_list_pods.body").read_text())["items"]
    old = next(p for p in pods if p["metadata"]["name"] == "mongodb-0")
    new = copy.deepcopy(old)
    new["spec"]["terminationGracePeriodSeconds"] = 99
    found = texts(validation.validate_update(resource_of({"apiVersion": "v1", "kind": "Pod"}), new, old))
    real = (golden / "kubectl/349_bad-pod-update.err").read_text().split(" is invalid: ", 1)[1]
    assert [text + "\n" for text in found] == [real]
