KUBE_EDITOR=./more.sh kubectl edit deploy cart -n shop
