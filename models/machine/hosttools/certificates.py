"""`openssl` of a node, and of whoever stands beside it: see `imagetools.openssl`."""

from __future__ import annotations

from simcluster.models.machine.hostcontainer import host_container
from simcluster.models.machine.imagetools import openssl
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.nodetree import NodeTree
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.place import Call


def on_node(machine: Machine, args: list[str], stdin: str) -> Outcome | None:
    """On the node itself; None leaves it to the common tool."""
    tree = NodeTree(machine)

    def read_file(path: str) -> str:
        return tree.read(path).text

    return openssl.run(args, stdin, machine.os.clock.now_ns(), read_file, tree.write, host_container(machine))


def beside(machine: Machine, call: Call) -> Outcome:
    """The same in the network of the machine, with the files and the clock of whoever calls it."""

    def write_file(name: str, text: str) -> None:
        call.files.write(call.resolved(name), text)

    done = openssl.run(call.args, call.stdin(), call.now_ns, call.read, write_file, host_container(machine))
    return done or Outcome(stderr=f"Invalid command '{call.args[0]}'; type \"help\" for a list.\n", code=1)
