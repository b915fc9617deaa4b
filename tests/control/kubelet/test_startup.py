"""From a bound pod to a running one, and what can go wrong on the way."""

import pytest

from tests.clusters.nodes import NodeBench


@pytest.fixture
def bench():
    bench = NodeBench()
    bench.run(2)
    return bench


def reasons(bench, name="app"):
    return [reason for reason, _, _ in bench.events(name)]


def test_a_pod_runs_within_a_few_seconds(bench):
    bench.pod()
    bench.run(0.1)
    assert bench.container_status()["state"] == {"waiting": {"reason": "ContainerCreating"}}
    assert bench.conditions()["PodReadyToStartContainers"] == "False"
    bench.run(5)
    status = bench.container_status()
    assert status["ready"]
    assert status["started"]
    assert status["image"] == "docker.io/acme/app:1.0"
    assert status["imageID"].startswith("docker.io/acme/app@sha256:")
    assert reasons(bench) == ["Pulling", "Pulled", "Created", "Started"]
    pod = bench.get()
    assert pod["status"]["phase"] == "Running"
    assert pod["status"]["podIP"] in bench.network.sandboxes
    assert set(bench.conditions().values()) == {"True"}


def test_an_image_on_the_node_is_not_pulled(bench):
    bench.machine.images.preload("acme/app:1.0")
    bench.pod()
    bench.run(3)
    assert bench.events()[0][:2] == ("Pulled", 'Container image "acme/app:1.0" already present on machine')


def test_policy_always_pulls_again(bench):
    bench.machine.images.preload("acme/app:1.0")
    bench.pod(imagePullPolicy="Always")
    bench.run(5)
    assert reasons(bench)[:2] == ["Pulling", "Pulled"]


def test_policy_never_without_image(bench):
    bench.pod(imagePullPolicy="Never")
    bench.run(3)
    assert bench.container_status()["state"]["waiting"] == {
        "reason": "ErrImageNeverPull",
        "message": 'Container image "acme/app:1.0" is not present with pull policy of Never',
    }


def test_wrong_tag_backs_off(bench):
    bench.pod(image="acme/app:does-not-exist")
    bench.run(60)
    full = "docker.io/acme/app:does-not-exist"
    error = (
        f'rpc error: code = NotFound desc = failed to pull and unpack image "{full}": '
        f'failed to resolve reference "{full}": {full}: not found'
    )
    events = bench.events()
    assert ("Pulling", 'Pulling image "acme/app:does-not-exist"', 3) in events
    assert ("Failed", f'Failed to pull image "acme/app:does-not-exist": {error}', 3) in events
    waiting = bench.container_status()["state"]["waiting"]
    assert waiting["reason"] in ("ErrImagePull", "ImagePullBackOff")
    back_off = f'Back-off pulling image "acme/app:does-not-exist": ErrImagePull: {error}'
    assert waiting["message"] in (error, back_off)
    assert bench.get()["status"]["phase"] == "Pending"


def test_the_right_image_ends_the_back_off(bench):
    bench.pod(image="acme/app:does-not-exist")
    bench.run(20)
    bench.admin.patch(
        "pods",
        "shop",
        "app",
        {"spec": {"containers": [{**bench.get()["spec"]["containers"][0], "image": "acme/app:1.0"}]}},
        kind="merge",
    )
    bench.run(6)
    assert bench.container_status()["ready"]


def test_invalid_image_name(bench):
    bench.pod(image="Acme/App:1.0")
    bench.run(3)
    assert bench.container_status()["state"]["waiting"]["reason"] == "InvalidImageName"
    assert reasons(bench) == ["InspectFailed", "Failed"]


def test_init_containers_run_in_order_before_the_app(bench):
    init = [
        {
            "name": name,
            "image": "acme/app:1.0",
            "env": [{"name": "EXIT_AFTER", "value": "2"}, {"name": "EXIT_CODE", "value": "0"}],
        }
        for name in ("one", "two")
    ]
    bench.pod(spec={"initContainers": init})
    bench.run(4)
    assert bench.container_status()["state"]["waiting"]["reason"] == "PodInitializing"
    assert bench.conditions()["Initialized"] == "False"
    bench.run(8)
    pod = bench.get()
    assert [s["state"]["terminated"]["reason"] for s in pod["status"]["initContainerStatuses"]] == ["Completed"] * 2
    assert bench.conditions()["Ready"] == "True"
    assert [m for r, m, _ in bench.events() if r == "Started"] == [
        f"Started container {n}" for n in ("one", "two", "c")
    ]


def test_a_sidecar_starts_first_and_stops_last(bench):
    sidecar = {"name": "mesh", "image": "acme/app:1.0", "restartPolicy": "Always"}
    bench.pod(spec={"initContainers": [sidecar]})
    bench.run(8)
    assert bench.get()["status"]["initContainerStatuses"][0]["started"]
    assert bench.conditions()["Ready"] == "True"
    bench.admin.delete("pods", "shop", "app")
    bench.run(5)
    assert bench.get() is None
    killing = [m for r, m, _ in bench.events() if r == "Killing"]
    assert killing == ["Stopping container c", "Stopping container mesh"]


def test_a_failing_init_container_backs_off(bench):
    init = [{"name": "setup", "image": "acme/app:1.0", "env": [{"name": "EXIT_AFTER", "value": "0.1"}]}]
    bench.pod(spec={"initContainers": init})
    bench.run(20)
    status = bench.get()["status"]
    assert status["initContainerStatuses"][0]["restartCount"] >= 1
    assert status["phase"] == "Pending"
    assert "BackOff" in reasons(bench)
    assert status["containerStatuses"][0]["restartCount"] == 0


def test_missing_command_is_a_start_error(bench):
    bench.pod(command=["/no-such-binary"])
    bench.run(4)
    error = next(m for r, m, _ in bench.events() if r == "Failed")
    assert error == (
        "Error: failed to create containerd task: failed to create shim task: OCI runtime create failed: "
        "runc create failed: unable to start container process: error during container init: "
        'exec: "/no-such-binary": stat /no-such-binary: no such file or directory: unknown'
    )
    bench.run(30)
    last = bench.container_status()["lastState"]["terminated"]
    assert (last["exitCode"], last["reason"]) == (128, "StartError")


def test_tiny_memory_limit_fails_in_the_sandbox(bench):
    limits = {"limits": {"cpu": "100m", "memory": "5Mi"}}
    bench.pod(resources=limits)
    bench.run(30)
    assert bench.container_status()["state"]["waiting"]["reason"] == "ContainerCreating"
    reason, message, count = bench.events()[0]
    assert reason == "FailedCreatePodSandBox"
    assert "container init was OOM-killed (memory limit too low?): unknown" in message
    assert count == 3


def test_a_pod_that_does_not_fit_is_rejected(bench):
    bench.pod(resources={"requests": {"cpu": "5"}})
    bench.run(1)
    status = bench.get()["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "OutOfcpu")
    text = "Node didn't have enough resource: cpu, requested: 5000, used: 0, capacity: 4000"
    assert status["message"] == f"Pod was rejected: {text}"
    assert bench.events() == [("OutOfcpu", text, 1)]


def test_completed_pods_stay_completed(bench):
    bench.pod(env={"EXIT_AFTER": "1", "EXIT_CODE": "0"}, spec={"restartPolicy": "Never"})
    bench.run(60)
    assert bench.get()["status"]["phase"] == "Succeeded"
    assert bench.container_status()["restartCount"] == 0
    ready = next(c for c in bench.get()["status"]["conditions"] if c["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "PodCompleted")
    assert bench.get()["status"]["podIP"] not in bench.network.sandboxes
    bench.admin.delete("pods", "shop", "app")
    bench.run(3)
    assert bench.get() is None


def test_active_deadline(bench):
    bench.pod(spec={"activeDeadlineSeconds": 10, "terminationGracePeriodSeconds": 1})
    bench.run(20)
    status = bench.get()["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")


def test_post_start_hook_that_fails_kills_the_container(bench):
    bench.pod(lifecycle={"postStart": {"exec": {"command": ["false"]}}})
    bench.run(8)
    assert "FailedPostStartHook" in reasons(bench)
    assert bench.container_status()["restartCount"] >= 1


def test_the_app_waits_until_a_sidecar_has_passed_its_startup_probe(bench):
    sidecar = {
        "name": "s",
        "image": "acme/app:1.0",
        "restartPolicy": "Always",
        "startupProbe": {"exec": {"command": ["false"]}, "periodSeconds": 2, "failureThreshold": 2},
    }
    bench.pod(spec={"initContainers": [sidecar]})
    bench.run(60)
    reasons = [message for reason, message, _ in bench.events() if reason == "Killing"]
    assert reasons == ["Container s failed startup probe, will be restarted"]
    assert bench.container_status()["state"]["waiting"]["reason"] == "PodInitializing"


@pytest.mark.parametrize(
    ("mount", "message"),
    [
        ({"subPathExpr": "$(NOBODY)"}, "missing value for NOBODY"),
        ({"subPathExpr": "$(WHERE)"}, "unable to provision SubPath `../x`: must not contain '..'"),
        ({"subPathExpr": "$(ROOT)"}, "error SubPath `/etc` must not be an absolute path"),
    ],
)
def test_sub_paths_made_of_variables_that_cannot_be(bench, mount, message):
    volumes = {"volumes": [{"name": "d", "emptyDir": {}}]}
    mounts = [{"name": "d", "mountPath": "/d", **mount}]
    bench.pod(env={"WHERE": "../x", "ROOT": "/etc"}, volumeMounts=mounts, spec=volumes)
    bench.run(8)
    waiting = bench.container_status()["state"]["waiting"]
    assert (waiting["reason"], waiting["message"]) == ("CreateContainerConfigError", message)
    assert ("Failed", f"Error: {message}") in [event[:2] for event in bench.events()]


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        (
            {"nfs": {"server": "nfs.example.com", "path": "/x"}},
            "Output: mount.nfs: Failed to resolve server nfs.example.com: Name or service not known",
        ),
        ({"nfs": {"server": "192.0.2.9", "path": "/x"}}, "Output: mount.nfs: Connection timed out"),
        (
            {"csi": {"driver": "inline.example.com"}},
            "kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: driver name inline.example.com not found in "
            "the list of registered CSI drivers",
        ),
    ],
)
def test_volumes_that_nobody_can_mount(bench, volume, message):
    mounts = [{"name": "d", "mountPath": "/d"}]
    bench.pod(volumeMounts=mounts, spec={"volumes": [{"name": "d", **volume}]})
    bench.run(5)
    ((reason, text, _),) = bench.events()
    assert reason == "FailedMount"
    assert text.startswith('MountVolume.SetUp failed for volume "d" : ')
    assert text.rstrip().endswith(message)
