for n in cart nothing; do kubectl get deploy $n -n shop -o name; done
