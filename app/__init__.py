"""The command line of Zhizhi: what a person types, sees live, and reads at the end."""

__version__ = "0.1.0"
