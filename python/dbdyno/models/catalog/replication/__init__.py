"""Models of replicas and groups: what their commits wait for."""
