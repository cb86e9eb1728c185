"""What can go wrong in a fit, said so that the asker can act."""

from ..errors import InferenceError


class NoMaximumError(InferenceError):
    """The mean of the statistics is not inside the set of means: no maximum exists."""


class OutsideSupportError(InferenceError):
    """An observation that has density zero whatever the parameters."""


class NotConvergedError(InferenceError):
    """Newton's method stopped without a certificate."""


class NoClosedFormError(InferenceError):
    """The conjugate prior of this family has no normaliser in closed form."""
