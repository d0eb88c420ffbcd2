"""The rules of the cluster diagnostician, as data."""
