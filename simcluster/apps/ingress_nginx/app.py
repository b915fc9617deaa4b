"""What ingress-nginx brings besides its files: the controller."""

from __future__ import annotations

from simcluster.apps.ingress_nginx.controller import IngressController

OPERATORS = {"ingress-nginx": IngressController}
