"""What `langgraph.json` names: the graph over the settings. The server brings its own checkpointer and store.

Importing this module builds it, with whatever sources are configured; who only wants to build one imports
`graph.wiring`.
"""

from graph.wiring import build_graph

__all__ = ["build_graph", "graph"]

graph = build_graph()
