"""Logs from where teams keep them: several backends behind one interface, told as the frozen tools tell them."""
