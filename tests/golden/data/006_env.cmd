kubectl exec -n shop deploy/cart -- printenv LOG_LEVEL
