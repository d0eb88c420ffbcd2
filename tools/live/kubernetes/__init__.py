"""Live Kubernetes: the ten tools of a frozen cluster over an API server, read-only."""
