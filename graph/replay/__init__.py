"""A recorded run, made again from what models and sources said: what `graph.verify` compares a record with."""
