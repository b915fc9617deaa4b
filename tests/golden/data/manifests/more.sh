#!/bin/sh
sed -i "s/replicas: 2/replicas: 3/" "$1"
