"""KataGo's JSON analysis protocol: one JSON object a line, queries in, answers out as they finish."""
