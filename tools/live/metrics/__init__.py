"""Metrics from servers of Prometheus' HTTP API."""
