"""`python -m app`: the command line. An interrupt while it is still loading ends it without a traceback."""

import sys

from app import CANCELLED


def start() -> None:
    """Load the command line and hand over to it; loading takes about a second, and may be interrupted, too."""
    try:
        from app.cli import main

        main()
    except KeyboardInterrupt:
        sys.exit(CANCELLED)


if __name__ == "__main__":
    start()
