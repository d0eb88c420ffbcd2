"""Evidence from where teams keep it: live backends behind the names and scopes of the frozen tools."""
