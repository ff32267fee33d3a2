"""Learning, a room a part: `data` <- `teaching` <- `games`, `learning` <- `generations`; `study` stands aside.

`data.samples` is the schema that all of it shares.
"""
