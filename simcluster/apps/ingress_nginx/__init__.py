"""ingress-nginx: its manifests, how its process behaves, and the controller in it."""
