"""Traces from live backends: Jaeger (and what answers like it) and SkyWalking."""
