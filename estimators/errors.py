"""What a caller did wrong."""

from __future__ import annotations


class EstimatorError(ValueError):
    """A program that cannot be estimated as it was asked for; the message says what to do
    instead.
    """
