"""GTP matches between any programs: refereed games, openings, clocks, SGF records, results, Elo with intervals.

`settings` describes a match, `engine_process` speaks GTP with one player, `clock` measures its time, `openings` reads
how games begin, `game` arbitrates, `store` writes the files, `tournament` runs the games, `report` computes the
statistics, `table` lays them out. The command line is `engine/apps/match`.
"""
