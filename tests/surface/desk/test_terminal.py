"""A terminal at the desk: what lasts from line to line, ports in the background, editors; etcdctl and kubeadm."""

from __future__ import annotations

import pytest

from simcluster.session.sandbox import Sandbox, sandbox

PKI = "/etc/kubernetes/pki/etcd"
ETCD = (
    f"etcdctl --endpoints=https://127.0.0.1:2379 --cacert={PKI}/ca.crt --cert={PKI}/server.crt --key={PKI}/server.key"
)


@pytest.fixture(scope="module")
def box() -> Sandbox:
    made = sandbox(nodes=2)
    made.kubectl("create deployment web --image=nginx:1.27 --replicas=2")
    made.kubectl("expose deployment web --port=80")
    made.wait("60s")
    return made


def test_folder_variables_and_functions_last(box: Sandbox) -> None:
    box.sh("cd /tmp; X=3; export Y=5; greet() { echo hi $1; }; false")
    assert box.sh("echo $? $PWD $X; greet you; env | grep ^Y=").stdout == "1 /tmp 3\nhi you\nY=5\n"
    box.sh("unset X; cd")
    assert box.sh("echo [$X] $PWD").stdout == "[] /root\n"


def test_a_forwarded_port_answers_until_it_is_killed(box: Sandbox) -> None:
    here = box.sh("kubectl port-forward svc/web 8080:80 >/dev/null & sleep 1; curl -s localhost:8080 | grep -c nginx; "
                  "kill $!; curl -s localhost:8080; echo $?").stdout  # fmt: skip
    assert here.splitlines()[-1] == "7"
    assert here.splitlines()[0] != "0"
    box.sh("kubectl port-forward deploy/web 9000:80 > /tmp/pf.log &")
    assert "Welcome to nginx" in box.sh("curl -s http://localhost:9000/").stdout
    assert "address already in use" in box.sh("kubectl port-forward svc/web 9000:80").stderr
    assert box.sh("pkill -f port-forward; curl localhost:9000").exit_code == 7


def test_an_editor_that_a_variable_names(box: Sandbox) -> None:
    done = box.sh("KUBE_EDITOR='sed -i s/replicas:.2/replicas:\\ 3/' kubectl edit deployment web")
    assert done.stdout == "deployment.apps/web edited\n"
    assert box.sh("kubectl get deployment web -o jsonpath={.spec.replicas}").stdout == "3"
    assert box.sh("EDITOR=false kubectl edit deployment web").exit_code == 1


def test_etcdctl_needs_certificates_of_its_authority(box: Sandbox) -> None:
    node = box.node("control-plane")
    assert node.sh(f"{ETCD} endpoint health").stdout.startswith("https://127.0.0.1:2379 is healthy: successfully")
    assert "/registry/namespaces/default\n" in node.sh(f"{ETCD} get /registry --prefix --keys-only").stdout
    bare = node.sh("etcdctl endpoint health")
    assert bare.exit_code == 1
    assert "Error: unhealthy cluster" in bare.stderr
    other = ETCD.replace(f"{PKI}/server", "/etc/kubernetes/pki/apiserver")
    assert "tls: bad certificate" in node.sh(f"{other} member list").stderr
    assert node.sh(f"{ETCD} --cert=/none member list").stderr == "Error: open /none: no such file or directory\n"
    inner = box.kubectl("exec -n kube-system etcd-control-plane -- " + ETCD + " member list")
    assert inner.stdout.endswith(", started, control-plane, https://172.18.0.2:2380, https://172.18.0.2:2379, false\n")
    assert box.node("worker-1").sh("etcdctl version").exit_code == 127


def test_kubeadm_reads_the_dates_of_certificates(box: Sandbox) -> None:
    node = box.node("control-plane")
    shown = node.sh("kubeadm certs check-expiration").stdout
    assert "apiserver-etcd-client      Mar 02, 2027 " in shown
    assert "Port 6443 is in use" in node.sh("kubeadm init").stderr
    assert node.sh("openssl verify -CAfile /etc/kubernetes/pki/ca.crt /etc/kubernetes/pki/apiserver.crt").exit_code == 0


def test_containers_show_processes_and_network(box: Sandbox) -> None:
    box.kubectl("run probe --image=busybox:1.36 -- sleep 1d")
    box.wait("20s")
    address = box.kubectl("get pod probe -o jsonpath={.status.podIP}").stdout
    shown = box.kubectl("exec probe -- sh -c 'ip addr; ps; cat /proc/1/comm; ls /proc/1; cat /proc/mounts'").stdout
    assert f"inet {address}/24" in shown
    assert "    1 root      0:00 sleep 1d\n" in shown
    assert "\nsleep\n" in shown
    assert "/var/run/secrets/kubernetes.io/serviceaccount" in shown
    assert box.kubectl("exec probe -- curl localhost").exit_code != 0
    assert "ps: not found" in box.kubectl("exec deploy/web -- sh -c ps").stderr


def test_a_follower_ends_with_its_time(box: Sandbox) -> None:
    node = box.node("worker-1")
    done = node.sh("timeout 12 journalctl -f -u kubelet -n 1; echo $?")
    assert done.stdout.endswith("124\n")
