kubectl apply -f shop.yaml
