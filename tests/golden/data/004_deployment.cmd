kubectl get deploy -n shop
