"""Analyzes many positions at the same time, with several searches over one evaluator."""
