"""`chroot /host` of a debugging pod reaches the node's own programs."""

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
