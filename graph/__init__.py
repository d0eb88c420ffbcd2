"""The diagnosis: a LangGraph graph that collects evidence, knows when to stop, and publishes what it can prove."""

__version__ = "0.1.0"
"""Zhizhi's version. It stands here, for a checkout that is run in place has no installed distribution to ask."""
