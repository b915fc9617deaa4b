"""`openssl` of a node: see `imagetools.openssl`."""

from __future__ import annotations

from simcluster.models.machine.imagetools import openssl
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.nodetree import NodeTree
from simcluster.models.userland.outcome import Outcome


def _openssl(machine: Machine, args: list[str], stdin: str) -> Outcome:
    tree = NodeTree(machine)

    def read_file(path: str) -> str:
        return tree.read(path).text

    return openssl.run(args, stdin, machine.os.clock.now_ns(), read_file, tree.write)


TOOLS = {"openssl": _openssl}
