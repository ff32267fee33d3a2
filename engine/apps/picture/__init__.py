"""Positions as pictures: `svg` draws them, `cli` is the command that draws one of a record."""
