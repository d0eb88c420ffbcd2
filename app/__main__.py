"""`python -m app`: the command line. An interrupt while it is still loading ends it without a traceback."""

import os
import sys

from app import CANCELLED

# Only types of the graph's own schemas may come out of a checkpoint; langgraph reads this when it is imported.
os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")


def start() -> None:
    """Load the command line and hand over to it; loading takes about a second, and may be interrupted, too."""
    try:
        from app.cli import main

        main()
    except KeyboardInterrupt:
        sys.exit(CANCELLED)


if __name__ == "__main__":
    start()
