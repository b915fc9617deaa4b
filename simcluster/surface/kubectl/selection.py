"""Which objects a command means: `pod x`, `deploy/a svc/b`, `pods,svc -l app=x`, `-f file`.

The rules and error texts of k8s.io/cli-runtime/pkg/resource (Builder).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from simcluster.api.objects import Json, thaw
from simcluster.api.resources import BUILT_IN, Resource
from simcluster.surface.kubectl import kustomize, labelselector, manifests
from simcluster.surface.kubectl.discovery import no_kind
from simcluster.surface.kubectl.errors import Aggregate, KubectlError, StatusError, plain
from simcluster.surface.kubectl.flags import Arguments
from simcluster.surface.kubectl.invocation import Failures, Invocation, object_path, query_of

NOTHING_GIVEN = (
    "You must provide one or more resources by argument or filename.\n"
    "Example resource specifications include:\n"
    "   '-f rsrc.yaml'\n"
    "   '--filename=rsrc.json'\n"
    "   '<resource> <name>'\n"
    "   '<resource>'"
)


#: Commands whose `--selector` is that of the object they make.
_OWN_SELECTORS = ("expose",)


class Wanted(NamedTuple):
    """One name, or one collection.

    Attributes:
        name: empty for a collection.
        namespace: empty for cluster-scoped resources and for all namespaces.
        source: the file it came from, if any.
        manifest: the document of the file, if any.
    """

    resource: Resource
    namespace: str
    name: str = ""
    source: str = ""
    manifest: Json | None = None

    @property
    def path(self) -> str:
        """The URL path. Raises KubectlError for a manifest without a name."""
        if not self.name and self.manifest is not None:
            raise plain("resource name may not be empty")
        return object_path(self.resource, self.namespace, self.name)

    def placed(self) -> Json:
        """The manifest, which may be changed, with the namespace it goes to."""
        manifest: Json = thaw(self.manifest or {})
        if self.resource.namespaced and self.namespace:
            manifest["metadata"] = {**metadata_of(manifest), "namespace": self.namespace}
        return manifest


class Target(NamedTuple):
    """One existing object."""

    resource: Resource
    namespace: str
    name: str
    obj: Json
    source: str = ""

    @property
    def path(self) -> str:
        """The URL path of the object."""
        return object_path(self.resource, self.namespace, self.name)

    @property
    def shown(self) -> str:
        """`deployment.apps/geo`."""
        return f"{kind_name(self.resource)}/{self.name}"


def metadata_of(manifest: Json) -> Json:
    """The metadata of what somebody wrote; empty if they are no object."""
    metadata = manifest.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def kind_name(resource: Resource) -> str:
    """`deployment.apps`, `pod`: how kubectl names an object's type."""
    kind = resource.kind.lower()
    return f"{kind}.{resource.group}" if resource.group else kind


def of_arguments(invocation: Invocation, words: list[str], *, all_namespaces: bool = False) -> list[Wanted]:
    """What positional arguments name: collections if they are types only.

    Raises:
        KubectlError: unknown type, mixed forms.
    """
    if any("/" in word for word in words):
        return _slashed(invocation, words, all_namespaces)
    resources = _types(invocation, words[0])
    names = words[1:]
    if not names:
        return [_place(invocation, resource, "", all_namespaces) for resource in resources]
    if all_namespaces:
        raise plain("a resource cannot be retrieved by name across all namespaces")
    if "" in names:
        raise plain("resource name may not be empty")
    return [_place(invocation, resource, name, False) for resource in resources for name in names]


def _slashed(invocation: Invocation, words: list[str], all_namespaces: bool) -> list[Wanted]:
    for word in words:
        if "/" not in word:
            raise plain(
                "there is no need to specify a resource type as a separate argument when passing arguments in "
                "resource/name form (e.g. 'kubectl get resource/<resource_name>' instead of 'kubectl get resource "
                "resource/<resource_name>'"
            )
    found = []
    for word in words:
        kind, _, name = word.partition("/")
        if not kind or not name or "/" in name:
            raise plain(
                "arguments in resource/name form may not have more than one slash"
                if "/" in name
                else "arguments in resource/name form must have a single resource and name"
            )
        if all_namespaces:
            raise plain("a resource cannot be retrieved by name across all namespaces")
        if "," in kind:
            raise plain("arguments in resource/name form must have a single resource and name")
        found.append(_place(invocation, invocation.find(kind), name, False))
    return found


def _types(invocation: Invocation, word: str) -> list[Resource]:
    found: dict[Resource, None] = {}
    for part in word.split(","):
        if not part:
            raise plain("arguments in resource/name form must have a single resource and name")
        for resource in invocation.discovery.category(invocation.send_free, part) or [invocation.find(part)]:
            found[resource] = None
    return list(found)


def _place(invocation: Invocation, resource: Resource, name: str, all_namespaces: bool) -> Wanted:
    namespace = invocation.namespace if resource.namespaced and not all_namespaces else ""
    return Wanted(resource, namespace, name)


def check_files(arguments: Arguments) -> None:
    """Refuse commands on manifests without any, or with both sorts. Raises KubectlError."""
    files, folder = arguments.texts("filename"), arguments.text("kustomize")
    if not files and not folder:
        raise plain("must specify one of -f and -k")
    if files and folder:
        raise plain("only one of -f or -k can be specified")


def of_files(invocation: Invocation, arguments: Arguments, failures: Failures | None = None) -> list[Wanted]:
    """What `-f` names and `-l` selects; errors of single documents go to `failures`, or are raised."""
    kept = failures if failures is not None else Failures()
    found = []
    for entry in _documents(invocation, arguments):
        if isinstance(entry, KubectlError):
            kept.errors.append(entry)
        else:
            found.append(entry)
    if failures is None:
        kept.raise_all()
    return found


def _documents(invocation: Invocation, arguments: Arguments) -> Iterator[Wanted | KubectlError]:
    """What the documents of `-f` or `-k` name, and their errors, in order. Raises KubectlError."""
    local = arguments.has("local") and arguments.on("local")
    text = _selector(arguments) if not local else ""
    requirements = labelselector.parsed(text)
    folder = arguments.text("kustomize")
    if folder and arguments.texts("filename"):
        raise plain("only one of '--filename' or '--kustomize' allowed")
    found: Iterable[manifests.Manifest | KubectlError]
    if folder:
        built = kustomize.build(invocation.files, folder, legacy=False)
        found = [manifests.Manifest(folder, obj) for obj in built]
    else:
        found = manifests.load(invocation, arguments)
    for document in found:
        if isinstance(document, KubectlError):
            yield document
        elif labelselector.selected(requirements, document.obj):
            try:
                yield _of_local(document) if local else of_manifest(invocation, document)
            except KubectlError as error:
                yield error


def nest(failures: Failures) -> None:
    """Errors of manifests as `get` and `describe` print them: without `error:`, even a single one."""
    if failures.errors:
        failures.errors = [Aggregate(failures.errors)]


def of_manifest(invocation: Invocation, document: manifests.Manifest) -> Wanted:
    """The place of a manifest. Raises KubectlError for unknown kinds and other namespaces."""
    obj = document.obj
    metadata = metadata_of(obj)
    name, namespace = str(metadata.get("name") or ""), str(metadata.get("namespace") or "")
    resource = invocation.discovery.of_kind(invocation.send_free, str(obj["apiVersion"]), str(obj["kind"]))
    if resource is None:
        raise no_kind(name, namespace, document.source, str(obj["kind"]), str(obj["apiVersion"]))
    if not resource.namespaced:
        return Wanted(resource, "", name, document.source, obj)
    if namespace and invocation.explicit_namespace and namespace != invocation.namespace:
        raise plain(
            f'the namespace from the provided object "{namespace}" does not match the namespace '
            f"\"{invocation.namespace}\". You must pass '--namespace={namespace}' to perform this operation."
        )
    return Wanted(resource, namespace or invocation.namespace, name, document.source, obj)


def _of_local(document: manifests.Manifest) -> Wanted:
    """A manifest as `--local` takes it: no server is asked what kinds there are, or for a namespace."""
    obj = document.obj
    group, _, version = str(obj["apiVersion"]).rpartition("/")
    kind, name = str(obj["kind"]), str(metadata_of(obj).get("name") or "")
    known = (entry for entry in BUILT_IN.all if (entry.group, entry.version, entry.kind) == (group, version, kind))
    resource = next(known, Resource(group, version, kind, f"{kind.lower()}s", kind.lower(), True))
    return Wanted(resource, "", name, document.source, obj)


def check_given(arguments: Arguments, words: list[str]) -> None:
    """Refuse a command without types, names or files; or with too much."""
    files = arguments.texts("filename") if arguments.has("filename") else []
    if arguments.has("kustomize") and arguments.text("kustomize"):
        files = [*files, arguments.text("kustomize")]
    if not words and not files:
        raise plain(NOTHING_GIVEN)
    if words and files:
        raise plain("when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well")
    selector = _selector(arguments)
    named = len(words) > 1 or any("/" in word for word in words)
    if selector and named:
        raise plain("name cannot be provided when a selector is specified")
    if selector and arguments.has("all") and arguments.on("all"):
        raise plain("setting 'all' parameter but found a non empty selector. ")
    if arguments.has("all") and arguments.on("all") and named:
        raise plain("name cannot be provided when a selector is specified")


def _selector(arguments: Arguments) -> str:
    """What objects are chosen by, unless the flag of that name is the command's own."""
    return "" if arguments.path in _OWN_SELECTORS else arguments.text_or("selector")


def fetch(
    invocation: Invocation,
    arguments: Arguments,
    words: list[str],
    *,
    need_name: bool = True,
    latest: bool = True,
) -> tuple[list[Target], Failures]:
    """The objects a command works on, and errors of those that could not be had.

    Args:
        need_name: whether a bare type without `--all` or a selector is an error.
        latest: whether what a file names is read from the server; otherwise, as with `--local`, the file is taken.
    """
    check_given(arguments, words)
    latest = latest and not (arguments.has("local") and arguments.on("local"))
    selector = _selector(arguments)
    field_selector = arguments.text_or("field-selector")
    failures = Failures()
    targets: list[Target] = []
    if not words:
        for entry in _documents(invocation, arguments):
            if isinstance(entry, KubectlError):
                failures.errors.append(entry)
            elif latest:
                failures.attempt(_Fetch(invocation, entry, targets).one)
            else:
                targets.append(Target(entry.resource, entry.namespace, entry.name, entry.placed(), entry.source))
        return targets, failures
    everywhere = arguments.has("all-namespaces") and arguments.on("all-namespaces")
    everything = arguments.has("all") and arguments.on("all")
    for entry in of_arguments(invocation, words, all_namespaces=everywhere):
        if entry.name:
            failures.attempt(_Fetch(invocation, entry, targets).one)
        elif need_name and not (selector or field_selector or everything):
            raise plain("resource(s) were provided, but no name was specified")
        else:
            failures.attempt(_Fetch(invocation, entry, targets, selector, field_selector).many)
    return targets, failures


class _Fetch:
    """Reads one entry into a list of targets."""

    def __init__(
        self, invocation: Invocation, entry: Wanted, targets: list[Target], selector: str = "", field_selector: str = ""
    ) -> None:
        self.invocation = invocation
        self.entry = entry
        self.targets = targets
        self.selectors = (selector, field_selector)
        self.query = query_of(labelSelector=selector, fieldSelector=field_selector, limit=500)

    def one(self) -> None:
        entry = self.entry
        obj = self.invocation.named(entry.path)
        self.targets.append(Target(entry.resource, entry.namespace, entry.name, obj, entry.source))

    def many(self) -> None:
        entry = self.entry
        try:
            items = self.invocation.items(entry.path, self.query)
        except StatusError as error:
            raise explained(error, entry.resource, *self.selectors) from None
        for obj in items:
            metadata = obj["metadata"]
            self.targets.append(Target(entry.resource, metadata.get("namespace", ""), metadata["name"], obj))


def explained(error: StatusError, resource: Resource, selector: str, field_selector: str) -> StatusError:
    """The error of a list as the builder words it: which resource and selectors it was about."""
    if error.reason not in ("BadRequest", "NotFound"):
        return error
    what = f'"{resource.group}/{resource.version}, Resource={resource.plural}"'
    if selector or field_selector:
        text = f'Unable to find {what} that match label selector "{selector}", field selector "{field_selector}"'
    else:
        text = f"Unable to list {what}"
    return StatusError({**error.status, "message": f"{text}: {error.message}"})
