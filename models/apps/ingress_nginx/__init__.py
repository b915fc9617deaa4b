"""ingress-nginx: its manifests and how its process behaves; what it does stands in `control.ingress`."""
