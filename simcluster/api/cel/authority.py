"""`authorizer` of CEL: may the user of the request do something else?

Source: k8s.io/apiserver/pkg/cel/library/authz.go. Left out: field and label selectors.
"""

from __future__ import annotations

from typing import Any, Protocol

from simcluster.api.cel.values import Lazy, need_text, no_overload


class Judge(Protocol):
    """Who decides: a user, and what that user wants."""

    def may(self, user: tuple[str, str] | None, asked: dict[str, str]) -> tuple[bool, str]:
        """Whether it is allowed, and why. `user`: namespace and name of a service account, None for the requester."""


class Authority(Lazy):
    """A question on its way: who, and about what.

    Attributes:
        asked: `path`, or `group`, `resource`, `subresource`, `namespace`, `name`.
    """

    def __init__(self, judge: Judge, own: dict[str, str], user: tuple[str, str] | None = None, **asked: str) -> None:
        self.judge = judge
        self.own = own
        self.user = user
        self.asked = asked

    def field(self, name: str) -> Any:
        """`authorizer.requestResource`: what the request itself is about."""
        return self.about(**self.own) if name == "requestResource" and not self.asked else no_overload()

    def has(self, name: str) -> bool:
        """Whether there is such a field."""
        return name == "requestResource" and not self.asked

    def about(self, **asked: str) -> Authority:
        """The same question with more known."""
        return Authority(self.judge, self.own, self.user, **{**self.asked, **asked})


class Verdict(Lazy):
    """The answer to a check."""

    def __init__(self, allowed: bool, reason: str) -> None:
        self.allowed = allowed
        self.reason = reason


def _question(value: Any) -> Authority:
    return value if isinstance(value, Authority) else no_overload()


def _verdict(value: Any) -> Verdict:
    return value if isinstance(value, Verdict) else no_overload()


def path(value: Any, text: Any) -> Authority:
    """`authorizer.path("/healthz")`."""
    return _question(value).about(path=need_text(text))


def group(value: Any, text: Any) -> Authority:
    """`authorizer.group("apps")`."""
    return _question(value).about(group=need_text(text))


def resource(value: Any, text: Any) -> Authority:
    """`.resource("deployments")`."""
    return _question(value).about(resource=need_text(text))


def subresource(value: Any, text: Any) -> Authority:
    """`.subresource("scale")`."""
    return _question(value).about(subresource=need_text(text))


def namespace(value: Any, text: Any) -> Authority:
    """`.namespace("shop")`."""
    return _question(value).about(namespace=need_text(text))


def name(value: Any, text: Any) -> Authority:
    """`.name("geo")`."""
    return _question(value).about(name=need_text(text))


def service_account(value: Any, space: Any, account: Any) -> Authority:
    """`authorizer.serviceAccount("shop", "geo")`."""
    question = _question(value)
    return Authority(question.judge, question.own, (need_text(space), need_text(account)), **question.asked)


def check(value: Any, verb: Any) -> Verdict:
    """`.check("create")`."""
    question = _question(value)
    return Verdict(*question.judge.may(question.user, {**question.asked, "verb": need_text(verb)}))


def allowed(value: Any) -> bool:
    """`decision.allowed()`."""
    return _verdict(value).allowed


def reason(value: Any) -> str:
    """`decision.reason()`."""
    return _verdict(value).reason


def errored(value: Any) -> bool:
    """`decision.errored()`: the authorizers of the cluster do not fail."""
    _verdict(value)
    return False


def error(value: Any) -> str:
    """`decision.error()`."""
    _verdict(value)
    return ""
