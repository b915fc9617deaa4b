"""Steps within steps: walking through them, and changing the calls in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from simcluster.engine.content import Where
from simcluster.models.traffic.graph.laws import Law
from simcluster.models.traffic.graph.service import Call, Chance, Send, Step, step_of

Steps = tuple[Step, ...]
#: What becomes of a step that is a call or a message.
Change = Callable[[Step], Step]
#: What becomes of the law of a step that is work.
Rework = Callable[[Law], Law]


def walk(steps: Steps, where: Where) -> Iterator[tuple[Where, Step]]:
    """All steps, nested ones too, each with its place below `where`."""
    for index, step in enumerate(steps):
        place = (*where, index)
        yield place, step
        for key in ("parallel", "sequence"):
            yield from walk(getattr(step, key) or (), (*place, key))
        for number, branch in enumerate(step.choose or ()):
            yield from walk(branch.steps, (*place, "choose", number, "steps"))
        if step.cached is not None:
            yield from walk(step.cached.miss, (*place, "cached", "miss"))


def calls_in(steps: Steps) -> list[Call | Send]:
    """All calls and messages of steps, in their order."""
    found = (step.call or step.send for _, step in walk(steps, ()))
    return [call for call in found if call is not None]


def changed(steps: Steps, change: Change) -> Steps:
    """The steps with their calls and messages changed; the same object where none is."""
    found = tuple(_changed(step, change) for step in steps)
    return steps if all(new is old for new, old in zip(found, steps, strict=True)) else found


def _changed(step: Step, change: Change) -> Step:
    if step.call is not None or step.send is not None:
        return change(step)
    before: Any = getattr(step, step.kind)
    after: Any = before
    if step.choose is not None:
        arms = tuple(_inside(branch, "steps", change) for branch in step.choose)
        after = before if all(new is old for new, old in zip(arms, before, strict=True)) else arms
    elif step.cached is not None:
        after = _inside(step.cached, "miss", change)
    elif step.parallel is not None or step.sequence is not None:
        after = changed(before, change)
    return step if after is before else step_of(**{step.kind: after})


def _inside(part: Any, key: str, change: Change) -> Any:
    old = getattr(part, key)
    new = changed(old, change)
    return part if new is old else part.model_copy(update={key: new})


def worked(steps: Steps, change: Rework) -> Steps:
    """The steps with the laws of their work changed, nested ones too."""
    return tuple(_worked(step, change) for step in steps)


def _worked(step: Step, change: Rework) -> Step:
    if step.work is not None:
        return step_of(work=change(step.work))
    if step.choose is not None:
        arms = tuple(arm.model_copy(update={"steps": worked(arm.steps, change)}) for arm in step.choose)
        return step_of(choose=arms)
    inner = step.parallel or step.sequence
    return step if inner is None else step_of(**{step.kind: worked(inner, change)})


def in_whole_calls(step: Step) -> Step:
    """A call with single messages and whole numbers of calls: what is left over is a choice."""
    one = step.call or step.send
    assert one is not None
    whole = int(one.times)
    if one.times == (whole if step.call is not None else 1):
        return step
    single = step_of(**{step.kind: one.model_copy(update={"times": 1.0})})
    found = [single] * whole
    if step.call is not None and whole:
        found = [step_of(call=step.call.model_copy(update={"times": float(whole)}))]
    if one.times > whole:
        found.append(step_of(choose=(Chance(probability=one.times - whole, steps=(single,)),)))
    return found[0] if len(found) == 1 else step_of(sequence=tuple(found))
