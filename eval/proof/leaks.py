"""Whether anything that an agent can read holds the answer's own words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from simcluster.models.apps.marks import may_contain
from simcluster.models.machine.container import Container
from simcluster.tasks.model import Task
from simcluster.telemetry.alertmanager.state import Alertmanager
from simcluster.telemetry.logs import Entry, LogLine
from simcluster.telemetry.traces.store import TraceStore

if TYPE_CHECKING:
    from simcluster.world import World

#: Words of this project that no cluster would show.
FORBIDDEN_WORDS = ("simcluster", "injected", "injection", "ground truth", "faulttarget")
#: What Prometheus and promtail put before the name of an object's label or annotation (`kubernetes_sd_config`), so that
#: no id of a fault is found in it. The object's own words after it are looked at.
_DISCOVERED = re.compile(r"__meta_kubernetes_[a-z]+_(?:label|annotation)(?:present)?_")


def secret_words(task: Task) -> list[str]:
    """Texts that would give the answer away, lower case: ids of task and faults, the truth's sentence.

    Ids are not looked for with spaces in place of underscores: Kubernetes itself says
    "Kubelet stopped posting node status."
    """
    names = [task.id, *(step.fault for step in task.incident if step.fault)]
    spelled = [form for name in names for form in (name, name.replace("_", "-"), name.replace("_", ""))]
    return list(dict.fromkeys([*(word.lower() for word in spelled), task.truth.mechanism.lower(), *FORBIDDEN_WORDS]))


def leaks(world: World, task: Task) -> list[str]:
    """Where secret words can be read: API objects (Events, rules among them), logs and what Loki has of them, audit,
    journals, spans, metrics, alerts.
    """
    words = secret_words(task)
    found: list[str] = []
    for place, text in readable(world, words):
        lowered = _DISCOVERED.sub("", text.lower())
        found.extend(f"{word!r} stands in {place}" for word in words if word in lowered)
    return found


def readable(world: World, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(place, text) of everything that an agent's surfaces can show and that may hold any of the words, in any case."""
    known: dict[str, bool] = {}
    for resource in world.api.store.resources():
        for obj in world.api.store.objects(resource):
            yield f"{resource} {obj['metadata']['name']}", json.dumps(obj)
    for name, machine in sorted(world.machines.items()):
        for container in machine.runtime.containers():
            place = f"the log of {container.spec.namespace}/{container.spec.pod_name}"
            yield place, "\n".join(_lines(container.log.entries(container.log.start), words, known))
            yield f"the traces in {container.spec.pod_name}", "\n".join(_spoken(container))
        for path, log in machine.program_logs.items():
            yield f"{path} of {name}", "\n".join(_lines(log.entries(log.start), words, known))
        yield f"the journal of {name}", "\n".join(entry.text for entry in machine.journal())
    yield from _measured(world)
    yield from _collected(world, words, known)


def _spoken(container: Container) -> Iterator[str]:
    """Words of all spans that a Jaeger keeps."""
    store = getattr(getattr(container, "program", None), "traces", None)  # one that could not start has no program
    if not isinstance(store, TraceStore):
        return
    for spans in store.find_all():
        for span in spans:
            tags = (*span.tags, *span.source.tags, *(field for log in span.logs for field in log.fields))
            yield from (span.operation, span.source.service, *(f"{key}={value}" for key, value in tags))


def _lines(entries: Iterable[Entry], words: Sequence[str], known: dict[str, bool]) -> Iterator[str]:
    """Lines; of those that nobody has read yet only such as may hold a word, by what they are worded from."""
    for entry in entries:
        if isinstance(entry, LogLine):
            yield entry.text
            continue
        wordings = entry.wordings
        for wording in wordings:
            if wording not in known:
                known[wording] = any(may_contain(wording.lower(), word) for word in words)
        if any(known[wording] for wording in wordings):
            yield from (line.text for line in entry.lines())


def _measured(world: World) -> Iterator[tuple[str, str]]:
    """Names, help texts and labels of every series that Prometheus keeps (what rules recorded and alerted, too)."""
    for place, store in world.programs.databases.stores.items():
        for (target, own), log in store.logs.items():
            words = dict.fromkeys((target, *(word for pair in own for word in pair)))
            for form, layout in log.ever():
                for family in form.families:
                    words[family.name] = words[family.text] = None
                words.update(dict.fromkeys(word for _, labels in form.series for pair in labels for word in pair))
                words.update(dict.fromkeys(word for labels in layout.labels for pair in labels for word in pair))
            yield f"the metrics of {target} (pod {place})", "\n".join(words)


def _collected(world: World, words: Sequence[str], known: dict[str, bool]) -> Iterator[tuple[str, str]]:
    """What Loki keeps: labels and lines, of files that are gone, too; and what Alertmanager knows."""
    for pod, lines in world.programs.logs.stores.items():
        for labels, entries in lines.kept():
            named = " ".join(f"{name}={value}" for name, value in labels)
            yield f"the lines of {named} in Loki (pod {pod})", "\n".join([named, *_lines(entries, words, known)])
    for name, machine in sorted(world.machines.items()):
        for container in machine.runtime.containers():
            manager = getattr(getattr(container, "program", None), "manager", None)
            if isinstance(manager, Alertmanager):
                alerts = (f"{alert.labels} {alert.annotations}" for alert in manager.alerts.values())
                yield f"the alerts of {container.spec.pod_name} on {name}", "\n".join(alerts)
