"""What Social Network brings besides its files."""

from __future__ import annotations

from simcluster.apps.social_network.gateway import GatewayProgram
from simcluster.apps.social_network.service import SocialProgram

PROGRAMS = {"social-network": SocialProgram, "social-network-gateway": GatewayProgram}
