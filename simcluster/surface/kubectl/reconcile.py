"""`kubectl auth reconcile -f FILE`: roles and bindings get what they lack.

Source: kubectl/pkg/cmd/auth/reconcile.go and component-helpers/auth/rbac/reconciliation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from simcluster.api.objects import Json, thaw
from simcluster.surface.kubectl.changing import Change
from simcluster.surface.kubectl.errors import StatusError, plain
from simcluster.surface.kubectl.flags import DRY_RUN, FILES, OUTPUT, Arguments, switch
from simcluster.surface.kubectl.invocation import Failures, Invocation, object_path
from simcluster.surface.kubectl.printers.go_value import go_text
from simcluster.surface.kubectl.selection import Wanted, of_files

FLAGS = (*FILES, *OUTPUT, DRY_RUN, switch("remove-extra-permissions"), switch("remove-extra-subjects"))
_GROUP = "rbac.authorization.k8s.io"
_PROTECTED = "rbac.authorization.kubernetes.io/autoupdate"
_RULE_FIELDS = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")


class Outcome(NamedTuple):
    """What reconciling one object comes to."""

    operation: str  # "", create, update, recreate
    obj: Json
    missing: list[Json]
    extra: list[Json]


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl auth reconcile`."""
    if arguments.positional:
        raise plain("no arguments are allowed")
    failures = Failures()
    wanted = of_files(invocation, arguments, failures)
    for entry in wanted:
        if entry.resource.group == _GROUP and entry.resource.version != "v1":
            raise plain(f"only rbac.authorization.k8s.io/v1 is supported: not {entry.resource.api_version}")
        if entry.resource.group == _GROUP:
            failures.attempt(_Reconciliation(Change(invocation, arguments), entry).run)
    failures.raise_all()


class _Reconciliation:
    """One role or binding."""

    def __init__(self, change: Change, entry: Wanted) -> None:
        self.change = change
        self.entry = entry
        self.binding = entry.resource.kind.endswith("Binding")
        flag = "remove-extra-subjects" if self.binding else "remove-extra-permissions"
        self.removes = change.arguments.on(flag)

    def run(self) -> None:
        wanted = thaw(self.entry.manifest or {})
        if self.entry.namespace:
            wanted.setdefault("metadata", {})["namespace"] = self.entry.namespace
        try:
            live: Json | None = self.change.invocation.get(self.entry.path)
        except StatusError as error:
            if error.reason != "NotFound":
                raise
            live = None
        outcome = self._compare(live, wanted)
        annotations = ((live or {}).get("metadata") or {}).get("annotations") or {}
        protected = annotations.get(_PROTECTED) == "false"
        if self.change.mode != "client" and not protected:
            self._write(outcome)
        self._report(outcome, protected)

    def _compare(self, live: Json | None, wanted: Json) -> Outcome:
        field = "subjects" if self.binding else "rules"
        if live is None:
            return Outcome("create", wanted, list(wanted.get(field) or ()), [])
        if self.binding and live.get("roleRef") != wanted.get("roleRef"):
            return Outcome("recreate", wanted, list(wanted.get("subjects") or ()), [])
        have, want = list(live.get(field) or ()), list(wanted.get(field) or ())
        if self.binding:
            missing = [subject for subject in want if subject not in have]
            extra = [subject for subject in have if subject not in want]
        else:
            missing, extra = uncovered(have, want), uncovered(want, have)
        after = thaw(live)
        changed = _merge_metadata(after, wanted)
        if self.removes and extra:
            after[field], changed = want, True
        elif missing:
            after[field], changed = [*have, *missing], True
        return Outcome("update" if changed else "", after, missing, extra)

    def _write(self, outcome: Outcome) -> None:
        invocation, query = self.change.invocation, self.change.query()
        collection = object_path(self.entry.resource, self.entry.namespace)
        if outcome.operation == "recreate":
            invocation.ask("DELETE", self.entry.path, query)
        if outcome.operation in ("create", "recreate"):
            invocation.ask("POST", collection, query, body=outcome.obj)
        elif outcome.operation:
            invocation.ask("PUT", self.entry.path, query, body=outcome.obj)

    def _report(self, outcome: Outcome, protected: bool) -> None:
        self.change.report(self.entry.resource, outcome.obj, "reconciled")
        if not outcome.operation:
            return
        opted_out = f", but object opted out ({_PROTECTED}: false)" if protected else ""
        note = self.change.invocation.note
        note(f"\treconciliation required {outcome.operation}{opted_out}")
        what = "subjects" if self.binding else "rules"
        shown = _subject if self.binding else _rule
        if outcome.missing:
            note(f"\tmissing {what} added:")
            for item in outcome.missing:
                note(f"\t\t{shown(item)}")
        if self.removes and outcome.extra:
            note(f"\textra {what} removed:")
            for item in outcome.extra:
                note(f"\t\t{shown(item)}")


def _merge_metadata(after: Json, wanted: Json) -> bool:
    changed = False
    for field in ("labels", "annotations"):
        before = after["metadata"].get(field) or {}
        both = {**((wanted.get("metadata") or {}).get(field) or {}), **before}
        if both != before:
            after["metadata"][field], changed = both, True
    return changed


def uncovered(owner: list[Json], servant: list[Json]) -> list[Json]:
    """The simple rules of `servant` that no rule of `owner` grants."""
    return [rule for whole in servant for rule in _broken_down(whole) if not any(_covers(o, rule) for o in owner)]


def _broken_down(rule: Mapping[str, Any]) -> list[Json]:
    simple: list[Json] = []
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in rule.get("verbs") or ():
                base: Json = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                names = rule.get("resourceNames") or ()
                simple.extend({**base, "resourceNames": [name]} for name in names)
                if not names:
                    simple.append(base)
    for url in rule.get("nonResourceURLs") or ():
        simple.extend({"nonResourceURLs": [url], "verbs": [verb]} for verb in rule.get("verbs") or ())
    return simple


def _covers(owner: Mapping[str, Any], rule: Json) -> bool:
    for field in ("verbs", "apiGroups", "resources"):
        granted = owner.get(field) or ()
        if any(value not in granted and "*" not in granted for value in rule.get(field) or ()):
            return False
    for url in rule.get("nonResourceURLs") or ():
        granted = owner.get("nonResourceURLs") or ()
        if not any(url == g or (g.endswith("*") and url.startswith(g[:-1])) for g in granted):
            return False
    names = owner.get("resourceNames") or ()
    asked = rule.get("resourceNames") or ()
    return not names or (bool(asked) and all(name in names for name in asked))


def _rule(rule: Json) -> str:
    titles = ("Verbs", "APIGroups", "Resources", "ResourceNames", "NonResourceURLs")
    pairs = zip(titles, _RULE_FIELDS, strict=True)
    return "{" + " ".join(f"{title}:{go_text(list(rule.get(field) or ()))}" for title, field in pairs) + "}"


def _subject(subject: Json) -> str:
    pairs = (("Kind", "kind"), ("APIGroup", "apiGroup"), ("Name", "name"), ("Namespace", "namespace"))
    return "{" + " ".join(f"{title}:{subject.get(field, '')}" for title, field in pairs) + "}"
