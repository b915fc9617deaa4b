kubectl get cm settings -n shop -o yaml > <path>; kubectl delete -f <path>; kubectl replace -f <path>
