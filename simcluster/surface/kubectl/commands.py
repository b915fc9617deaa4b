"""The commands of kubectl: their names, flags and what runs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from simcluster.surface.kubectl import (
    apply,
    attaching,
    autoscale,
    bystanders,
    certificate,
    clusterdump,
    clusterinfo,
    copying,
    cordon,
    create,
    create_access,
    create_kinds,
    create_network,
    debug,
    delete,
    diff,
    drain,
    edit,
    events,
    explain,
    expose,
    get,
    kubeconfig,
    label,
    lastapplied,
    logs,
    patch,
    permissions,
    portforward,
    reconcile,
    replace,
    rollout,
    scale,
    set_subject,
    setfields,
    taint,
    top,
    wait,
)
from simcluster.surface.kubectl import exec as execution
from simcluster.surface.kubectl import run as running
from simcluster.surface.kubectl.describe import command as describe
from simcluster.surface.kubectl.flags import Arguments, Flag
from simcluster.surface.kubectl.invocation import Invocation

Runner = Callable[[Invocation, Arguments], None]


class Command(NamedTuple):
    """One command, or a group of them.

    Attributes:
        run: None for a pure group.
    """

    flags: Sequence[Flag] = ()
    run: Runner | None = None
    subcommands: Mapping[str, Command] = {}


#: Other names of subcommands, by their group; errors name the first one.
ALIASES: dict[str, dict[str, str]] = {
    "create": create_kinds.ALIASES | create_access.ALIASES | create_network.ALIASES | {"svc": "service"},
    "set": {"sa": "serviceaccount"},
    "top": {"no": "node", "nodes": "node", "po": "pod", "pods": "pod"},
}


def _created(creators: Mapping[str, create_kinds.Creator]) -> dict[str, Command]:
    return {name: Command(creator.flags, creator.run) for name, creator in creators.items()}


def _create() -> Command:
    kinds = _created(create_kinds.KINDS)
    kinds["secret"] = Command(subcommands=_created(create_kinds.SECRETS | create_network.SECRETS))
    kinds["service"] = Command(subcommands=_created(create_kinds.SERVICES))
    kinds.update(_created(create_access.KINDS | create_network.KINDS))
    kinds["token"] = Command(create_access.TOKEN_FLAGS, create_access.token)
    for alias, name in ALIASES["create"].items():
        kinds[alias] = kinds[name]
    return Command(create.FLAGS, create.run, kinds)


_TOP_POD = Command(top.POD_FLAGS, top.pods)
_TOP_NODE = Command(top.NODE_FLAGS, top.nodes)
_SET = Command(
    subcommands={
        "env": Command(setfields.ENV_FLAGS, setfields.env),
        "image": Command(setfields.IMAGE_FLAGS, setfields.image),
        "resources": Command(setfields.RESOURCES_FLAGS, setfields.resources),
        "selector": Command(setfields.SELECTOR_FLAGS, setfields.selector),
        "serviceaccount": Command(setfields.ACCOUNT_FLAGS, setfields.service_account),
        "subject": Command(set_subject.FLAGS, set_subject.run),
        "sa": Command(setfields.ACCOUNT_FLAGS, setfields.service_account),
    }
)
_ROLLOUT = Command(
    subcommands={
        "history": Command(rollout.HISTORY_FLAGS, rollout.history),
        "pause": Command(rollout.RESTART_FLAGS, rollout.pause),
        "restart": Command(rollout.RESTART_FLAGS, rollout.restart),
        "resume": Command(rollout.RESTART_FLAGS, rollout.resume),
        "status": Command(rollout.STATUS_FLAGS, rollout.status),
        "undo": Command(rollout.UNDO_FLAGS, rollout.undo),
    }
)
_TOP = Command(
    subcommands={
        "node": _TOP_NODE,
        "nodes": _TOP_NODE,
        "no": _TOP_NODE,
        "pod": _TOP_POD,
        "pods": _TOP_POD,
        "po": _TOP_POD,
    }
)
_AUTH = Command(
    subcommands={
        "can-i": Command(permissions.CAN_I_FLAGS, permissions.can_i),
        "reconcile": Command(reconcile.FLAGS, reconcile.run),
        "whoami": Command(permissions.WHOAMI_FLAGS, permissions.whoami),
    }
)
_APPLY = Command(
    apply.FLAGS,
    apply.run,
    {
        "edit-last-applied": Command(lastapplied.EDIT_FLAGS, lastapplied.edit),
        "set-last-applied": Command(lastapplied.SET_FLAGS, lastapplied.set_from_files),
        "view-last-applied": Command(lastapplied.VIEW_FLAGS, lastapplied.view),
    },
)
_CONFIG = Command(
    subcommands={
        "current-context": Command((), kubeconfig.current_context),
        "delete-cluster": Command((), kubeconfig.refuse_to_write),
        "delete-context": Command((), kubeconfig.refuse_to_write),
        "delete-user": Command((), kubeconfig.refuse_to_write),
        "get-clusters": Command((), kubeconfig.get_clusters),
        "get-contexts": Command(kubeconfig.CONTEXTS_FLAGS, kubeconfig.get_contexts),
        "get-users": Command((), kubeconfig.get_users),
        "rename-context": Command((), kubeconfig.refuse_to_write),
        "set": Command((), kubeconfig.refuse_to_write),
        "set-cluster": Command((), kubeconfig.refuse_to_write),
        "set-context": Command(kubeconfig.SET_CONTEXT_FLAGS, kubeconfig.set_context),
        "set-credentials": Command((), kubeconfig.refuse_to_write),
        "unset": Command((), kubeconfig.refuse_to_write),
        "use-context": Command((), kubeconfig.use_context),
        "view": Command(kubeconfig.VIEW_FLAGS, kubeconfig.view),
    }
)

_CERTIFICATE = Command(
    subcommands={
        "approve": Command(certificate.FLAGS, certificate.approve),
        "deny": Command(certificate.FLAGS, certificate.deny),
    }
)
_CLUSTER_INFO = Command((), clusterinfo.cluster_info, {"dump": Command(clusterdump.FLAGS, clusterdump.run)})
_PLUGIN = Command(subcommands={"list": Command(bystanders.PLUGIN_FLAGS, bystanders.plugin_list)})

#: In the order in which kubectl adds them: suggestions come in this order.
COMMANDS: dict[str, Command] = {
    "create": _create(),
    "expose": Command(expose.FLAGS, expose.run),
    "run": Command(running.FLAGS, running.run),
    "set": _SET,
    "explain": Command(explain.FLAGS, explain.run),
    "get": Command(get.FLAGS, get.run),
    "edit": Command(edit.FLAGS, edit.run),
    "delete": Command(delete.FLAGS, delete.run),
    "rollout": _ROLLOUT,
    "scale": Command(scale.FLAGS, scale.run),
    "autoscale": Command(autoscale.FLAGS, autoscale.run),
    "certificate": _CERTIFICATE,
    "cluster-info": _CLUSTER_INFO,
    "top": _TOP,
    "cordon": Command(cordon.FLAGS, cordon.cordon),
    "uncordon": Command(cordon.FLAGS, cordon.uncordon),
    "drain": Command(drain.FLAGS, drain.run),
    "taint": Command(taint.FLAGS, taint.run),
    "describe": Command(describe.FLAGS, describe.run),
    "logs": Command(logs.FLAGS, logs.run),
    "attach": Command(attaching.FLAGS, attaching.run),
    "exec": Command(execution.FLAGS, execution.run),
    "port-forward": Command(portforward.FLAGS, portforward.run),
    "proxy": Command(bystanders.PROXY_FLAGS, bystanders.proxy),
    "cp": Command(copying.FLAGS, copying.run),
    "auth": _AUTH,
    "debug": Command(debug.FLAGS, debug.run),
    "events": Command(events.FLAGS, events.run),
    "diff": Command(diff.FLAGS, diff.run),
    "apply": _APPLY,
    "patch": Command(patch.FLAGS, patch.run),
    "replace": Command(replace.FLAGS, replace.run),
    "wait": Command(wait.FLAGS, wait.run),
    "kustomize": Command(bystanders.KUSTOMIZE_FLAGS, bystanders.build_kustomization),
    "label": Command(label.LABEL_FLAGS, label.label),
    "annotate": Command(label.ANNOTATE_FLAGS, label.annotate),
    "completion": Command((), bystanders.completion),
    "config": _CONFIG,
    "plugin": _PLUGIN,
    "version": Command(clusterinfo.VERSION_FLAGS, clusterinfo.version),
    "api-versions": Command((), clusterinfo.api_versions),
    "api-resources": Command(clusterinfo.RESOURCES_FLAGS, clusterinfo.api_resources),
    "options": Command((), clusterinfo.options),
}
