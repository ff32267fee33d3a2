"""Settings of `keima match`, except size, komi, rules and handicap, which are in `play`, and of `keima levels`."""

from engine.settings.setting import Heading, Setting
from engine.settings.table.kinds import flag, input_path, integer, output_folder, real, text, under

MATCH_ROWS: tuple[Setting, ...] = (
    *under(
        Heading.PLAY,
        ("match",),
        text("black", "Command of player A, a GTP program; plays Black in the first game.", metavar="COMMAND"),
        text("white", "Command of player B, a GTP program; plays White in the first game.", metavar="COMMAND"),
        text(
            "engines",
            "Player of a round robin, instead of --black and --white; give two or more. Colors alternate.",
            flags=("--engine",),
            metavar="NAME=COMMAND",
            many=True,
        ),
        integer("games", "Games for each pair of players.", 1, least=1, unit="games"),
    ),
    *under(
        Heading.TIME,
        ("match",),
        text(
            "clock",
            "Clock, in seconds: absolute:60, canadian:60+25/300 (25 moves in 300 s), byoyomi:60+5x10 (5 periods of "
            "10 s), fischer:10+1, or capped:10+1/60/30 (at most 60 s on the clock and 30 s a move; both optional).",
            metavar="TEXT",
            default_text="none: only --hang limits a move",
            reason="The web page draws three time systems; programs play by any.",
        ),
        real(
            "seconds_per_move",
            "Fixed time for each move, in seconds, instead of --clock.",
            unit="seconds",
            flags=("--move-time",),
        ),
    ),
    *under(
        Heading.EXPERT,
        ("match",),
        real(
            "time",
            "Main time, in seconds: absolute, or followed by --byo.",
            unit="seconds",
            reason="In a match --time is the main time of the clock, as in gogui-twogtp.",
        ),
        flag(
            "alternate",
            "Change colors after every game, or let --black play Black in all of them.",
            default=True,
            flags=("--alternate/--fixed-colors",),
        ),
        real("byo", "Canadian overtime for --stones moves, in seconds.", unit="seconds"),
        integer("stones", "Moves to play in each period of --byo.", unit="moves", default_text="1"),
        real(
            "grace",
            "Overrun of the clock that does not lose the game, in seconds.",
            0.5,
            least=0,
            unit="seconds",
        ),
        integer(
            "opening_moves",
            "Moves to play from each record of --openings.",
            least=1,
            unit="moves",
            default_text="all, at most half the points of the board",
        ),
        integer(
            "seed",
            "Seed that shuffles the openings.",
            default_text="0",
            reason="It shuffles openings only; the seeds of the players are in their commands.",
        ),
        text("referee", "GTP program that scores the games.", metavar="COMMAND", default_text="Keima's own rules"),
        integer(
            "max_moves",
            "Moves after which a game ends; 0 for three times the points of the board.",
            0,
            least=0,
            unit="moves",
        ),
        flag("resume", "Continue the match found in --out.", default=True, flags=("--resume/--no-resume",)),
        text("black_name", "Name shown for player A.", metavar="NAME"),
        text("white_name", "Name shown for player B.", metavar="NAME"),
    ),
    *under(
        Heading.EXPERT,
        ("match", "distill"),
        real("hang", "Longest wait for a program's answer, in seconds.", 300.0, least=0, above=True, unit="seconds"),
    ),
    *under(
        Heading.DATA,
        ("match",),
        input_path(
            "openings",
            "Records to start games from, each used twice with colors swapped: SGF file, directory, or .sgfl(.bz2) "
            "with one SGF a line.",
            many=True,
        ),
        output_folder("out", "Directory for the games and the results; a stopped match continues from there."),
    ),
    *under(
        Heading.MACHINE, ("match",), integer("concurrency", "Games played at the same time.", 1, least=1, unit="games")
    ),
    *under(
        Heading.PLAY,
        ("levels",),
        integer(
            "size",
            "Side of the board: 9, 13 or 19.",
            9,
            least=9,
            most=19,
            reason="Ranks are measured on square boards of these sizes.",
        ),
        flag("measures", "Measure the ranks by matches.", flags=("--measure",)),
        integer(
            "games",
            "Games of each pairing; a larger number continues a finished run.",
            100,
            least=1,
            unit="games",
            reason="An interval of 70 Elo for a step between two ranks takes some 100 games.",
        ),
        text(
            "ranks",
            "Play only games between these ranks, such as 4k-1d, to measure their steps more precisely.",
            "",
            metavar="FIRST-LAST",
            default_text="all",
        ),
        text(
            "gnugo",
            "Command of GNU Go, which some ranks meet at its levels 1, 4, 7 and 10.",
            "",
            metavar="COMMAND",
            default_text="none",
            reason="Here GNU Go is the anchor of the scale.",
        ),
        text(
            "katago",
            "Command of KataGo, which some ranks meet with 8 and 32 visits a move: 'katago gtp -model FILE -config "
            "gtp.cfg'.",
            "",
            metavar="COMMAND",
            default_text="none",
        ),
    ),
    *under(
        Heading.DATA,
        ("levels",),
        output_folder(
            "out",
            "Directory for the results; a stopped run continues from there.",
            reason="Without a directory the results are only printed.",
        ),
    ),
)
