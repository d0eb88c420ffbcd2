"""The prompts of every component that asks a model, and their loader."""

from prompts.loader import PromptName, digest, render

__all__ = ["PromptName", "digest", "render"]
