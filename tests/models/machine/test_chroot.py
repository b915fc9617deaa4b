"""`chroot /host` of a debugging pod reaches the node's own programs."""

import simcluster
from simcluster.world import World


def test_kubectl_debug_node_shows_the_nodes_kernel():
    world = World(0, workers=1, addons=False)
    world.machines["worker-1"].kernel("hello from the kernel")
    shell = world.kubectl()
    made = shell.run("debug node/worker-1 --image=busybox:1.36 -- sleep 3600")
    pod = made.stdout.split("Creating debugging pod ")[-1].split()[0] if "Creating" in made.stdout else ""
    pod = pod or made.stderr.split("Creating debugging pod ")[-1].split()[0]
    world.run_for(20_000_000_000)
    assert "hello from the kernel" in shell.run(f"exec {pod} -- chroot /host dmesg").stdout
    assert shell.run(f"exec {pod} -- chroot /host sysctl -n kernel.pid_max").stdout == "4194304\n"
    assert "can't change root" in shell.run(f"exec {pod} -- chroot /elsewhere dmesg").stderr
    assert shell.run(f"exec {pod} -- cat /sys/fs/cgroup/cpu.max").stdout == "max 100000\n"


def test_chroot_reaches_systemctl_and_journalctl():
    box = simcluster.sandbox(1)
    created = box.kubectl("debug node/worker-1 --image=busybox:1.36 --attach=false -- sleep 1d")
    pod = created.stdout.split("pod ")[1].split()[0]
    box.wait("15s")
    assert box.kubectl(f"exec {pod} -- chroot /host systemctl is-active kubelet").stdout == "active\n"
    assert "kubelet" in box.kubectl(f"exec {pod} -- chroot /host journalctl -u kubelet -n 3").stdout
    piped = box.kubectl(f"exec {pod} -- chroot /host sh -c 'systemctl is-active kubelet | tr a-z A-Z'").stdout
    assert piped == "ACTIVE\n"
    assert box.kubectl(f"exec {pod} -- chroot /host nosuch").exit_code == 127
