"""Alerts from Alertmanager, or from the rules of Prometheus."""
