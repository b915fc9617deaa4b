"""What people and the API server meet where a node was: nobody, not somebody who refuses."""

from simcluster.engine import SECOND
from simcluster.world import World


def test_logs_and_exec_of_pods_on_a_machine_that_is_off_find_no_route() -> None:
    world = World(1)
    world.run_for(60 * SECOND)
    kubectl, machine = world.kubectl(), world.machines["worker-1"]
    pods = kubectl.run("get pods -n kube-system -o wide").stdout.splitlines()
    pod = next(line.split()[0] for line in pods if "kube-proxy" in line and " worker-1 " in line)
    assert kubectl.run(f"logs -n kube-system {pod}").exit_code == 0
    machine.control("stop", "kubelet")
    assert (
        f"dial tcp {machine.address}:10250: connect: connection refused"
        in kubectl.run(f"logs -n kube-system {pod}").stderr
    )
    machine.power.cut()
    for command in (f"logs -n kube-system {pod}", f"exec -n kube-system {pod} -- date"):
        answer = kubectl.run(command)
        assert answer.exit_code == 1
        assert f"dial tcp {machine.address}:10250: connect: no route to host" in answer.stderr
