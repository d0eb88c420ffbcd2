"""Logs from where teams keep them: several backends behind one interface, told as the frozen tools tell them."""

from tools.live.logs.tools import tools_of

__all__ = ["tools_of"]
