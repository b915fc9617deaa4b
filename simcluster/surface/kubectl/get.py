"""`kubectl get`: tables, documents, templates, watches and raw paths."""

from __future__ import annotations

from itertools import groupby
from typing import Any, NamedTuple

from simcluster.api.objects import Json
from simcluster.api.request import JSON, TABLE, Query, Response
from simcluster.api.resources import Resource
from simcluster.engine import SECOND
from simcluster.surface.kubectl import raw
from simcluster.surface.kubectl.errors import KubectlError, StatusError, plain
from simcluster.surface.kubectl.flags import ALL_NAMESPACES, FILES, OUTPUT, SELECTOR, Arguments, Flag, switch
from simcluster.surface.kubectl.invocation import STEP_NS, Failures, Invocation, query_of
from simcluster.surface.kubectl.printers.output import GET_FORMATS, Output
from simcluster.surface.kubectl.printers.table import TableOptions, TablePrinter, fallback_table
from simcluster.surface.kubectl.selection import Wanted, check_given, explained, kind_name, nest, of_arguments, of_files
from simcluster.surface.kubectl.sorting import NoSuchField, sort_by

#: How long a watch lets the simulated world live on before it ends.
WATCH_NS = 30 * SECOND

FLAGS = (
    ALL_NAMESPACES,
    Flag("chunk-size", kind="int", default="500"),
    Flag("field-selector"),
    *FILES,
    switch("ignore-not-found"),
    Flag("label-columns", "L", "list"),
    switch("no-headers"),
    *OUTPUT,
    switch("output-watch-events"),
    Flag("raw"),
    SELECTOR,
    switch("server-print", default="true"),
    switch("show-kind"),
    switch("show-labels"),
    Flag("sort-by"),
    Flag("subresource"),
    switch("watch", "w"),
    switch("watch-only"),
)

_NO_TYPE = (
    'You must specify the type of resource to get. Use "kubectl api-resources" for a complete list of supported '
    "resources.\n\nerror: Required resource not specified.\n"
    'Use "kubectl explain <resource>" for a detailed description of that resource (e.g. kubectl explain pods).\n'
    "See 'kubectl get -h' for help and examples"
)


class Answer(NamedTuple):
    """What the server sent for one wanted entry (or one page of it)."""

    wanted: Wanted
    body: Json

    @property
    def is_table(self) -> bool:
        """Whether the server printed it."""
        return self.body.get("kind") == "Table"

    def objects(self) -> list[Json]:
        """The objects in it."""
        if self.is_table:
            return [row.get("object") or {} for row in self.body.get("rows") or ()]
        if self.wanted.name or "items" not in self.body:
            return [self.body]
        kind = str(self.body.get("kind", "")).removesuffix("List")
        version = self.body.get("apiVersion")
        items = self.body.get("items") or ()
        return [item if "kind" in item else {"apiVersion": version, "kind": kind, **item} for item in items]


class _Get:
    """One run of `get`."""

    def __init__(self, invocation: Invocation, arguments: Arguments) -> None:
        self.invocation = invocation
        self.arguments = arguments
        self.output = Output(arguments, invocation.files, formats=GET_FORMATS)
        self.everywhere = arguments.on("all-namespaces")
        self.failures = Failures()
        self.answers: list[Answer] = []
        self._documents = 0  # printed by a watch

    def run(self) -> None:
        arguments = self.arguments
        words = arguments.positional
        files = arguments.texts("filename") or arguments.text("kustomize")
        if not words and not files:
            raise KubectlError(_NO_TYPE)
        check_given(arguments, words)
        self._check()
        if files:
            wanted = of_files(self.invocation, arguments, self.failures)
            nest(self.failures)
        else:
            wanted = of_arguments(self.invocation, words, all_namespaces=self.everywhere)
        watching = arguments.on("watch") or arguments.on("watch-only")
        if watching and len(wanted) > 1:
            raise _too_many(wanted)
        for entry in wanted:
            self.failures.attempt(_Reading(self, entry).read)
        if watching:
            self.failures.raise_all()
            self._watch(wanted[0])
            return
        if self.output.is_table:
            self._print_tables(wanted)
        else:
            self._print_documents(wanted)
        self.failures.raise_all()

    def _check(self) -> None:
        """Refuse flags that do not go together."""
        arguments, form = self.arguments, self.arguments.text("output")
        if arguments.on("show-labels") and form not in ("", "wide"):
            raise plain(f"--show-labels option cannot be used with {form} printer")
        if arguments.on("output-watch-events") and not (arguments.on("watch") or arguments.on("watch-only")):
            raise plain("--output-watch-events option can only be used with --watch or --watch-only")

    def query(self, entry: Wanted) -> Query:
        """The parameters of a read."""
        sorting = bool(self.arguments.text("sort-by")) and self.output.is_table
        limit = self.arguments.number("chunk-size")
        return query_of(
            includeObject="Object" if sorting else "",
            labelSelector="" if entry.name else self.arguments.text("selector"),
            fieldSelector="" if entry.name else self.arguments.text("field-selector"),
            limit="" if entry.name or sorting or not limit else limit,
        )

    @property
    def accept(self) -> str:
        """What kind of answer is asked for."""
        return TABLE if self.output.is_table and self.arguments.on("server-print") else JSON

    # Tables.

    def _options(self, resource: Resource, with_kind: bool) -> TableOptions:
        arguments = self.arguments
        return TableOptions(
            wide=self.output.format == "wide",
            no_headers=arguments.on("no-headers"),
            with_namespace=self.everywhere and resource.namespaced,
            show_labels=arguments.on("show-labels"),
            label_columns=tuple(arguments.texts("label-columns")),
            kind=kind_name(resource) if with_kind else "",
        )

    def _table(self, answer: Answer) -> Json:
        if answer.is_table:
            return answer.body
        return fallback_table(answer.objects(), self.invocation.clock.now)

    def _print_tables(self, wanted: list[Wanted]) -> None:
        kinds = {answer.wanted.resource: None for answer in self.answers}
        with_kind = self.arguments.on("show-kind") or len(kinds) > 1
        printed = False
        for resource, group in groupby(self.answers, key=_resource_of):
            tables = [self._table(answer) for answer in group]
            if self.arguments.text("sort-by"):
                tables = [self._sorted(tables)]
            printer = TablePrinter(self._options(resource, with_kind))
            if not sum(printer.add(table) for table in tables):
                continue
            if printed and not self.arguments.on("no-headers"):
                self.invocation.write("\n")
            self.invocation.write(printer.flush())
            printed = True
        if not printed and not self.arguments.on("ignore-not-found") and not self.failures.errors:
            in_namespace = not self.everywhere and all(entry.resource.namespaced for entry in wanted)
            where = f" in {self.invocation.namespace} namespace." if in_namespace else ""
            self.invocation.note(f"No resources found{where}")

    def _sorted(self, tables: list[Json]) -> Json:
        rows = [row for table in tables for row in table.get("rows") or ()]
        try:
            ordered = sort_by(rows, self.arguments.text("sort-by"), _object_of_row)
        except NoSuchField:
            # The real one then prints no rows and fails not.
            ordered = []
        return {"columnDefinitions": tables[0].get("columnDefinitions"), "rows": ordered}

    # Documents.

    def _print_documents(self, wanted: list[Wanted]) -> None:
        single = len(wanted) == 1 and bool(wanted[0].name)
        if single and not self.answers:
            return
        pairs = [(answer.wanted.resource, obj) for answer in self.answers for obj in answer.objects()]
        if self.arguments.text("sort-by"):
            pairs = sort_by(pairs, self.arguments.text("sort-by"), _object_of_pair)
        if not pairs and self.arguments.on("ignore-not-found"):
            return
        names = [f"{kind_name(resource)}/{obj['metadata']['name']}" for resource, obj in pairs]
        text = self.output.text([obj for _, obj in pairs], as_list=not single, names=names)
        self.invocation.write(text)

    # Watching.

    def _watch(self, entry: Wanted) -> None:
        resource = entry.resource
        printer = TablePrinter(self._options(resource, self.arguments.on("show-kind")))
        if not self.arguments.on("watch-only"):
            self._print_present(entry, printer)
        response = self.invocation.ask(
            "GET", Wanted(resource, entry.namespace).path, self._watch_query(entry), accept=self.accept
        )
        deadline = self.invocation.clock.now + WATCH_NS
        while self.invocation.clock.now < deadline:
            self.invocation.clock.advance(min(STEP_NS, deadline - self.invocation.clock.now))
            for event in _events(response):
                self._print_event(event, printer, entry)
        if response.stream is not None:
            response.stream.close()

    def _print_present(self, entry: Wanted, printer: TablePrinter) -> None:
        """What is there when the watch begins, each object for itself."""
        shown = "ADDED" if self.arguments.on("output-watch-events") else ""
        if self.output.is_table:
            for answer in self.answers:
                printer.add(self._table(answer), shown)
            self.invocation.write(printer.flush())
            return
        for answer in self.answers:
            for obj in answer.objects():
                self._print_object(obj, entry)

    def _print_object(self, obj: Json, entry: Wanted) -> None:
        name = f"{kind_name(entry.resource)}/{obj['metadata']['name']}"
        text = self.output.text([obj], as_list=False, names=[name])
        if self.output.format == "yaml" and self._documents:
            text = "---\n" + text
        self._documents += 1
        self.invocation.write(text)

    def _watch_query(self, entry: Wanted) -> Query:
        selector = self.arguments.text("field-selector")
        version = ""
        for answer in self.answers:
            version = str((answer.body.get("metadata") or {}).get("resourceVersion") or version)
        return query_of(
            labelSelector=self.arguments.text("selector"),
            fieldSelector=f"metadata.name={entry.name}" if entry.name else selector,
            resourceVersion=version,
            watch="true",
        )

    def _print_event(self, event: Json, printer: TablePrinter, entry: Wanted) -> None:
        if event["type"] == "BOOKMARK":
            return
        obj = event["object"]
        answer = Answer(entry, obj)
        if self.output.is_table:
            shown = str(event["type"]) if self.arguments.on("output-watch-events") else ""
            printer.add(
                self._table(answer) if answer.is_table else fallback_table([obj], self.invocation.clock.now), shown
            )
            self.invocation.write(printer.flush())
            return
        self._print_object(obj, entry)


class _Reading:
    """Reads one wanted entry, page by page."""

    def __init__(self, run: _Get, entry: Wanted) -> None:
        self.run = run
        self.entry = entry

    def read(self) -> None:
        run, entry = self.run, self.entry
        path = entry.path
        if run.arguments.text("subresource"):
            path += "/" + run.arguments.text("subresource")
        query = run.query(entry)
        while True:
            try:
                body = run.invocation.ask("GET", path, query, accept=run.accept).body
            except StatusError as error:
                if error.reason == "NotFound" and entry.name and run.arguments.on("ignore-not-found"):
                    return
                if entry.name:
                    raise run.invocation.blamed(error, path) from None
                arguments = run.arguments
                raise explained(
                    error, entry.resource, arguments.text("selector"), arguments.text("field-selector")
                ) from None
            run.answers.append(Answer(entry, body))
            token = (body.get("metadata") or {}).get("continue")
            if entry.name or not token:
                return
            query = tuple(sorted({**dict(query), "continue": token}.items()))


def _too_many(wanted: list[Wanted]) -> KubectlError:
    """Why a watch cannot follow them."""
    count = len(wanted) if len({entry.resource for entry in wanted}) == 1 else "more than 1"
    return plain(
        "watch is only supported on individual resources and resource collections - "
        f"{count} resource{'s were' if count != 'more than 1' else ' was'} found"
    )


def _resource_of(answer: Answer) -> Resource:
    return answer.wanted.resource


def _object_of_row(row: Json) -> Json:
    return row.get("object") or {}


def _object_of_pair(pair: tuple[Resource, Json]) -> Json:
    return pair[1]


def _events(response: Response) -> list[dict[str, Any]]:
    return response.stream.poll() if response.stream is not None else []


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl get`."""
    if arguments.text("raw"):
        raw.send(invocation, arguments, "GET")
    else:
        _Get(invocation, arguments).run()
