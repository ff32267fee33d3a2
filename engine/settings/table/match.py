"""Settings of `keima match`; size, komi, rules and handicap are those of `play`."""

from engine.settings.setting import Heading, Setting
from engine.settings.table.kinds import flag, input_path, integer, output_folder, real, text, under

MATCH_ROWS: tuple[Setting, ...] = (
    *under(
        Heading.PLAY,
        ("match",),
        text("black", "Player A, a GTP program: plays Black in the first game.", metavar="COMMAND"),
        text("white", "Player B, a GTP program: plays White in the first game.", metavar="COMMAND"),
        text(
            "engines",
            "Player of a round robin, instead of --black and --white; give two or more. Colors always alternate.",
            flags=("--engine",),
            metavar="NAME=COMMAND",
            many=True,
        ),
        integer("games", "Games of every two players.", 1, least=1, unit="games"),
    ),
    *under(
        Heading.TIME,
        ("match",),
        text(
            "clock",
            "Clock, in seconds: absolute:60, canadian:60+25/300 (25 moves in 300 s), byoyomi:60+5x10 (5 periods of "
            "10 s), fischer:10+1, or capped:10+1/60/30 (at most 60 s in all and 30 s a move; a cap may be left out).",
            metavar="TEXT",
            default_text="none: only --hang limits a move",
        ),
        real(
            "seconds_per_move",
            "A clock with this time for each move, in seconds.",
            unit="seconds",
            flags=("--move-time",),
        ),
    ),
    *under(
        Heading.EXPERT,
        ("match",),
        real(
            "time",
            "A clock with this main time, in seconds: absolute, or before --byo.",
            unit="seconds",
            reason="A match has clocks; the main time of gogui-twogtp, which has this option, is meant.",
        ),
        flag("alternate", "Change colors after every game."),
        real("byo", "Canadian overtime for --stones moves, in seconds.", unit="seconds"),
        integer("stones", "Moves in a period of --byo.", unit="moves", default_text="1"),
        real("grace", "Time by which a clock may be exceeded, in seconds.", 0.5, least=0, unit="seconds"),
        integer(
            "opening_moves",
            "Moves of each record that are played.",
            least=1,
            unit="moves",
            default_text="all, at most half the points of the board",
        ),
        integer(
            "seed",
            "Seed of the order of the openings.",
            default_text="0",
            reason="The programs that play have seeds of their own; this one shuffles openings.",
        ),
        text("referee", "GTP program that counts the games.", metavar="COMMAND", default_text="Keima's own rules"),
        integer(
            "max_moves",
            "Moves after which a game ends; 0 for three times the points of the board.",
            0,
            least=0,
            unit="moves",
        ),
        flag("resume", "Go on with the match found in --out.", default=True, flags=("--resume/--no-resume",)),
        text("black_name", "Name shown for player A.", metavar="NAME"),
        text("white_name", "Name shown for player B.", metavar="NAME"),
    ),
    *under(
        Heading.EXPERT,
        ("match", "distill"),
        real(
            "hang", "Longest wait for an answer of a program, in seconds.", 300.0, least=0, above=True, unit="seconds"
        ),
    ),
    *under(
        Heading.DATA,
        ("match",),
        input_path(
            "openings",
            "Records to start games with, each twice with colors changed: SGF, directory, or .sgfl(.bz2) of one SGF "
            "a line.",
            many=True,
        ),
        output_folder("out", "Directory of the games and the results; a match goes on where it stopped."),
    ),
    *under(
        Heading.MACHINE, ("match",), integer("concurrency", "Games played at the same time.", 1, least=1, unit="games")
    ),
)
