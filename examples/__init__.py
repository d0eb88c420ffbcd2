"""Incidents of our own making, and the script that writes them."""
