"""KataGo's JSON analysis protocol: queries in, one JSON object a line, answers out as they come."""
