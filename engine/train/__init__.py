"""Training, in layers: `data` <- `teaching` <- `games`, `learning` <- `generations`; `study` is independent.

`data.samples` defines the schema of samples that all of them share.
"""
