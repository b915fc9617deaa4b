"""Which images are operators."""

from __future__ import annotations

from simcluster.api.server import Api
from simcluster.control.operator.operator import Operator
from simcluster.control.operator.program import OperatorProgram
from simcluster.models.apps.server import ServerProgram
from simcluster.models.machine.container import Container
from simcluster.models.machine.imagereference import repository_of
from simcluster.models.machine.program import Program


class Operators:
    """Operators by the name that an application's behaviour gives, and by image.

    Args:
        api: what they talk to.
        described: classes by the `operator:` key of a behaviour file.
    """

    def __init__(self, api: Api, described: dict[str, type[Operator]]) -> None:
        self.api = api
        self.described = described
        self.images: dict[str, type[Operator]] = {}

    def add(self, image: str, kind: type[Operator]) -> None:
        """Containers that run this image's own program are an operator of this kind from now on."""
        self.images[repository_of(image)] = kind

    def wrap(self, container: Container, program: Program) -> Program:
        """The program of a container with the operator that it is, if it is one."""
        if not isinstance(program, ServerProgram):
            return program  # a shell in an operator's image is a shell
        kind = self.images.get(repository_of(container.spec.image))
        if kind is None and program.behaviour.operator:
            kind = self.described[program.behaviour.operator]
        return program if kind is None else OperatorProgram(container, kind.wrapped(program), self.api, kind)
