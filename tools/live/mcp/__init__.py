"""Tools of MCP servers as evidence tools, through declarations that somebody wrote and read."""
