"""What a caller did wrong."""


class EstimatorError(ValueError):
    """A program that cannot be estimated as asked; the message says what to do."""
