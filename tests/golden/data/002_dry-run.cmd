cat shop.yaml | kubectl apply --dry-run=client -o name -f - -f <(sed 's/shop/other/' shop.yaml | head -3)
