"""The command line of Zhizhi: what a person types, sees live, and reads at the end."""

from graph import __version__ as __version__

CANCELLED = 130
"""The exit code of a run that was interrupted, as shells give it for SIGINT."""
