"""Learning: from a model and data to a likelihood, and to the parameters at its maximum."""
