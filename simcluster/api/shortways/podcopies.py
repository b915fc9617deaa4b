"""Pods that one controller makes of one template: the first is admitted in full, the others are its copies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api.authorization.question import Question
from simcluster.api.objects import ApiObject
from simcluster.api.request import User
from simcluster.api.serving import Serving
from simcluster.api.shortways.eligibility import commit, is_eligible


def create_copy(api: Serving, user: User, manager: str, owner: Mapping[str, Any]) -> ApiObject | None:
    """Store another pod of the owner's template; None if the request must be made."""
    model = api.pod_models.of(owner, manager)
    if model is None:
        return None
    question = Question("create", "", "pods", "", model.pod["metadata"]["namespace"], "", "v1")
    if not is_eligible(api, user, question):
        return None
    return commit(api, question, api.pod_models.copied(model, api.registry.now_text()))
