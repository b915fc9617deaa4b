kubectl get nodes -L topology.kubernetes.io/zone --no-headers | sort
