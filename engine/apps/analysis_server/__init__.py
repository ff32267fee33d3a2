"""Analysis of many positions at a time: searches side by side over one evaluator."""
