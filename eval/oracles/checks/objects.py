"""Checks of what objects of the API say of themselves."""

from __future__ import annotations

from simcluster.api.objects import condition
from simcluster.engine.content import Content
from simcluster.eval.oracles.check import Check, Context
from simcluster.faults.target import ObjectRef


class ConditionArgs(Content):
    """A condition of an object, `Kind/name`, and the status that it must have."""

    object: str
    type: str
    status: str = "True"


class ConditionIs(Check):
    """An object has a condition with a status."""

    Args = ConditionArgs
    args: ConditionArgs

    @property
    def refs(self) -> list[ObjectRef]:
        """Whose condition."""
        return [ObjectRef.parse(self.args.object)]

    def why_not(self, ctx: Context) -> str:
        """Look at its status."""
        found = self.refs[0].find(ctx.world.api, ctx.namespace)
        if found is None:
            return f"{self.args.object} does not exist"
        now = condition(found, self.args.type)
        if now is None or now["status"] != self.args.status:
            said = "is not there" if now is None else f"is {now['status']}: {now.get('message', '')}"
            return f"condition {self.args.type} of {self.args.object} {said}"
        return ""
