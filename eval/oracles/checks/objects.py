"""Checks of what objects of the API say of themselves."""

from __future__ import annotations

from simcluster.api.objects import condition, controller_of, name_of
from simcluster.engine import parse_rfc3339
from simcluster.engine.content import Content, Nanoseconds
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


class JobsArgs(Content):
    """A CronJob, how many Jobs of it may be active at a time, and within which time one must have succeeded."""

    cronjob: str
    active: int = 1
    within: Nanoseconds = 120 * 10**9


class JobsEnd(Check):
    """The Jobs of a CronJob that runs complete: few are active, and one has succeeded lately."""

    Args = JobsArgs
    args: JobsArgs

    def why_not(self, ctx: Context) -> str:
        """Look at its Jobs."""
        store, name, now = ctx.world.api.store, self.args.cronjob, ctx.world.sim.now
        cronjob = store.get("cronjobs.batch", ctx.namespace, name)
        if cronjob is None or cronjob["spec"].get("suspend"):
            return f"CronJob {name} {'does not exist' if cronjob is None else 'is suspended'}"
        jobs = store.objects("jobs.batch", ctx.namespace)
        own = [job for job in jobs if (controller_of(job) or {}).get("name") == name]
        active = [name_of(job) for job in own if (job.get("status") or {}).get("active")]
        if len(active) > self.args.active:
            return f"{len(active)} Jobs of CronJob {name} are active: {', '.join(active)}"
        ended = [str(job["status"]["completionTime"]) for job in own if (job.get("status") or {}).get("completionTime")]
        if not any(now - parse_rfc3339(one) <= self.args.within for one in ended):
            return f"no Job of CronJob {name} has completed lately"
        return ""


class ObjectArgs(Content):
    """An object of the application's namespace, `Kind/name`."""

    object: str


class ObjectGone(Check):
    """There is no such object any more."""

    Args = ObjectArgs
    args: ObjectArgs

    def why_not(self, ctx: Context) -> str:
        """Look for it."""
        found = ObjectRef.parse(self.args.object).find(ctx.world.api, ctx.namespace)
        return "" if found is None else f"{self.args.object} is still there"
