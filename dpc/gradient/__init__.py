"""Objectives with random parts: an estimator for each draw, and steps that estimators run."""
