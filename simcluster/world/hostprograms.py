"""Programs of a node that ask the cluster: etcdctl and kubeadm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.models.machine.container import Container
from simcluster.models.machine.nodetree import NodeTree
from simcluster.models.machine.shell.tree import FileTree
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.place import Call
from simcluster.world import kubeadm
from simcluster.world.etcdctl import EtcdCtl

if TYPE_CHECKING:
    from simcluster.world.clusterview import ClusterView


class HostPrograms:
    """What nodes have of these: kubeadm everywhere, etcdctl on those of the control plane."""

    def __init__(self, world: ClusterView) -> None:
        self._world = world

    def names(self, node: str) -> tuple[str, ...]:
        """Programs that are installed on a node."""
        machine = self._world.machines.get(node)
        if machine is None:
            return ()
        has_etcd = machine.files.is_folder("/etc/kubernetes/pki/etcd")
        return ("kubeadm", "etcdctl") if has_etcd else ("kubeadm",)

    def run(self, node: str, call: Call) -> Outcome | None:
        """Run one of them; None if the node has none of this name."""
        if call.name not in self.names(node):
            return None
        machine = self._world.machines[node]
        if call.name == "kubeadm":
            return kubeadm.run(self._world, machine, call.args)
        tree = NodeTree(machine)

        def read_file(name: str) -> str:
            return tree.read(call.path(name)).text

        return EtcdCtl(self._world, machine, read_file).run(call.args, call.env)

    def in_container(self, container: Container, argv: tuple[str, ...]) -> Outcome | None:
        """etcdctl in etcd's own container, whose certificates are mounted; None of any other command."""
        env = (
            dict(word.split("=", 1) for word in argv[1:] if "=" in word and word[0] != "-") if argv[0] == "env" else {}
        )
        words = [word for word in argv[1:] if "=" not in word or word[0] == "-"] if argv[0] == "env" else list(argv)
        if not words or words[0].rpartition("/")[2] != "etcdctl":
            return None
        machine = self._world.machines[container.machine.name]
        tree = FileTree(container)
        node = NodeTree(machine)

        def read_file(path: str) -> str:
            """A file of the container; what is mounted of the node lies there."""
            for mount in container.mounts:
                if mount.host and path.startswith(mount.path.rstrip("/") + "/"):
                    return node.read(mount.host.rstrip("/") + path[len(mount.path.rstrip("/")) :]).text
            return tree.read(path)

        return EtcdCtl(self._world, machine, read_file).run(words[1:], {**container.spec.environment, **env})
