timeout 2 kubectl get deploy -n shop -w --no-headers | sed 's/ .*//'
