"""What the policy webhook brings besides its files: the judge of reviews."""

from __future__ import annotations

from simcluster.apps.policy_webhook.webhook import PolicyWebhookProgram

PROGRAMS = {"policy-webhook": PolicyWebhookProgram}
