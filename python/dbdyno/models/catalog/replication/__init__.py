"""Models of replicas: what their commits wait for, and how far they fall behind."""
