"""Read-only SQL over the enterprise's own tables."""
