"""The token controller: fills Secrets of type `kubernetes.io/service-account-token`.

A Secret that names an account which does not exist (any more) is deleted.
Source: kubernetes pkg/controller/serviceaccount/tokens_controller.go. Left out: `secrets` of
accounts (not written since 1.24).
"""

from __future__ import annotations

from base64 import b64encode

from simcluster.api.authentication.tokens import legacy_claims, written
from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, is_terminating, name_of, namespace_of, thaw
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.control.serviceaccount.controller import ROOT_CA
from simcluster.engine import Simulation

TOKEN_TYPE = "kubernetes.io/service-account-token"
_NAME = "kubernetes.io/service-account.name"
_UID = "kubernetes.io/service-account.uid"


class TokenController(Controller):
    """Reconciles token Secrets; keys are those of Secrets."""

    name = "serviceaccount-token-controller"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        # It runs before there are accounts for controllers, so it acts as the manager itself.
        user = User("system:kube-controller-manager", ("system:authenticated",))
        self.client = Client(api, user, "kube-controller-manager")
        self.watch("secrets", self._on_secret)
        self.watch("serviceaccounts", self._on_account)
        self.watch("configmaps", self._on_config_map)

    def _on_secret(self, change: Change) -> None:
        if change.kind != "DELETED" and change.object.get("type") == TOKEN_TYPE:
            self.enqueue_object(change)

    def _on_account(self, change: Change) -> None:
        self._enqueue_tokens(namespace_of(change.object), name_of(change.object))

    def _on_config_map(self, change: Change) -> None:
        if name_of(change.object) == ROOT_CA:
            self._enqueue_tokens(namespace_of(change.object), "")

    def _enqueue_tokens(self, namespace: str, account: str) -> None:
        for secret in self.client.cache.objects("secrets", namespace):
            if secret.get("type") == TOKEN_TYPE and account in ("", _account_of(secret)):
                self.enqueue(namespace, name_of(secret))

    def sync(self, namespace: str, name: str) -> None:
        """Make one Secret what its account says."""
        secret = self.client.cache.get("secrets", namespace, name)
        if secret is None or is_terminating(secret):
            return
        account = self.client.cache.get("serviceaccounts", namespace, _account_of(secret))
        uid = (secret["metadata"].get("annotations") or {}).get(_UID)
        if account is None or uid not in (None, "", account["metadata"]["uid"]):
            try:
                self.client.delete("secrets", namespace, name)
            except ApiError as error:
                if error.code != 404:
                    raise
            return
        changed = thaw(secret)
        changed["metadata"]["annotations"][_UID] = account["metadata"]["uid"]
        data = changed.setdefault("data", {})
        authority = self.client.cache.get("configmaps", namespace, ROOT_CA)
        certificate = None if authority is None else (authority.get("data") or {}).get("ca.crt")
        if certificate is not None:
            data["ca.crt"] = _encoded(certificate)
        data["namespace"] = _encoded(namespace)
        if not data.get("token"):
            data["token"] = _encoded(written(legacy_claims(account, name)))
        if changed != secret:
            self.client.update("secrets", changed)


def _account_of(secret: ApiObject) -> str:
    return str((secret["metadata"].get("annotations") or {}).get(_NAME, ""))


def _encoded(text: str) -> str:
    return b64encode(text.encode()).decode()
