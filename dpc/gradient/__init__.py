"""Objectives with random parts: which estimator each draw gets, and the program as steps that
estimators can run.
"""
