"""GTP matches between any programs: refereed games, openings, clocks, SGF, results, Elo with intervals.

`command` is the command line's and `options` what was said there, `settings` are the match's. `seat` speaks GTP for
one player, `clock` times it, `openings` reads how games begin, `game` arbitrates, `store` keeps files, `tournament` has
the games played, `report` counts, `table` shows, `cli` has it all done and tells how far it is.
"""
