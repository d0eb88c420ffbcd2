"""A live incident: a small shop that is broken on purpose, watched by a real Prometheus, and diagnosed."""
