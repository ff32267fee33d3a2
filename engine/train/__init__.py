"""Learning: samples from self-play, game records and teachers, the training loop, the gate, and their commands.

`samples` is the schema that all of it shares.
"""
