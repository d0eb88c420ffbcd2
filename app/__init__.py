"""The command line of Zhizhi: what a person types, sees live, and reads at the end."""

__version__ = "0.1.0"

CANCELLED = 130
"""The exit code of a run that was interrupted, as shells give it for SIGINT."""
