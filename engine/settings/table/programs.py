"""Settings of the commands web, solve, review, explain, bench and draw."""

from engine.settings.setting import Heading, Setting
from engine.settings.table.kinds import (
    counts,
    flag,
    input_path,
    integer,
    output_folder,
    real,
    size,
    text,
    under,
)

_JSON_OUTPUT = (
    *("bench", "doctor", "solve", "explain", "tune", "net info"),
    *("selfplay", "train test", "train gate", "train bench"),
)

PROGRAM_ROWS: tuple[Setting, ...] = (
    *under(
        Heading.PLAY,
        ("web",),
        text(
            "engine",
            "GTP program to play against.",
            metavar="COMMAND",
            default_text="Keima",
            reason="The web page has one engine; a match has several, each with a name.",
        ),
    ),
    *under(
        Heading.DATA,
        ("web",),
        output_folder(
            "out",
            "Directory to save games in.",
            ".",
            reason="Games on the web page are always saved; a match is saved only with --out.",
        ),
    ),
    *under(
        Heading.MACHINE,
        ("web",),
        text(
            "host",
            "Address to serve on; 0.0.0.0 lets others on the network play.",
            "127.0.0.1",
            metavar="ADDRESS",
        ),
        integer("port", "Port to serve on.", least=0, most=65535, default_text="8361, or a free one"),
        flag("browser", "Open the page in a browser.", default=True, flags=("--browser/--no-browser",)),
    ),
    *under(
        Heading.TIME,
        ("solve",),
        counts(
            "visits",
            "Numbers of visits at which the search's move is recorded.",
            (1, 100, 800, 3200),
            unit="visits",
            reason="Each problem is searched once; the move is recorded several times on the way.",
        ),
    ),
    *under(
        Heading.PLAY,
        ("solve",),
        integer(
            "limit", "Number of problems, drawn at random by --seed.", least=1, unit="problems", default_text="all"
        ),
        flag(
            "framed",
            "Fill the rest of the board so that the problem decides the game.",
            default=True,
            flags=("--frame/--no-frame",),
        ),
        flag(
            "prove",
            "Also look for proofs that the surrounded stones live or die, and count them.",
            flags=("--prove",),
        ),
    ),
    *under(
        Heading.EXPERT,
        ("solve",),
        integer(
            "seed",
            "Seed of all random numbers, and of the choice of problems by --limit; makes searches reproducible.",
            1,
            least=1,
            reason="Every run has the same problems and searches, so that two runs can be compared.",
        ),
    ),
    *under(
        Heading.DATA,
        ("solve",),
        output_folder(
            "out",
            "Directory for the answers, a summary and a plot; a stopped run continues from there.",
            reason="Without a directory the results are only printed.",
        ),
    ),
    *under(
        Heading.TIME,
        ("review",),
        integer(
            "visits",
            "Limit of the search for each position, in visits.",
            least=2,
            unit="visits",
            default_text="100, none with --time-per-game, 40 with --rank estimate",
            reason="A review analyzes positions; it plays no moves, and a game has hundreds of positions. One visit "
            "evaluates the position and no move.",
        ),
        real(
            "seconds",
            "Thinking time for each game, in seconds, divided among its positions.",
            least=0,
            above=True,
            unit="seconds",
            flags=("--time-per-game",),
            reason="A game has a known number of positions, so the time for all of them can be given.",
        ),
    ),
    *under(
        Heading.PLAY,
        ("review",),
        text(
            "player",
            "Report on the moves of this player only, and skip games of others.",
            flags=("--only-player",),
            metavar="NAME",
            default_text="both players",
        ),
        text(
            "rank",
            "Rank of the players, such as 12k, 3d or 9p, by which mistakes are judged; estimate, or --rank "
            "alone after the paths: find out their ranks.",
            metavar="RANK",
            default_text="from the record",
            bare="estimate",
            reason="A review judges people, whose ranks go beyond those that Keima plays at.",
        ),
    ),
    *under(
        Heading.DATA,
        ("review",),
        output_folder(
            "out",
            "Directory for reports, annotated records and analyses; a stopped review continues from there.",
            required=True,
            reason="A review always writes files.",
        ),
    ),
    *under(
        Heading.TIME,
        ("explain",),
        integer(
            "visits",
            "Limit of the search for each position, in visits.",
            500,
            least=1,
            unit="visits",
            reason="An explanation searches up to four positions; it plays no moves.",
        ),
        real(
            "seconds",
            "Thinking time for each position, in seconds; at most --visits are searched in it.",
            least=0,
            above=True,
            unit="seconds",
            flags=("--time",),
            reason="An explanation has no clock.",
        ),
    ),
    *under(
        Heading.PLAY,
        ("explain",),
        integer(
            "move",
            "Explain this move of the record, and the position after it.",
            least=0,
            default_text="the last move",
            reason="An explanation is of one move.",
        ),
        text(
            "play",
            "Explain a move that is not in the record, such as D4, played after --move.",
            flags=("--play",),
            metavar="POINT",
        ),
    ),
    *under(
        Heading.PLAY,
        ("bench",),
        size(
            "sizes",
            "Board size to measure: 19 for a square board, 13x9 for a rectangle.",
            flags=("--size",),
            default_text="9 and 19",
            many=True,
            reason="Speed depends on the board size, so several are measured.",
        ),
        flag(
            "quality",
            "Measure the quality of the search's moves instead of its speed: what they lose by a deep search of the "
            "same network.",
        ),
    ),
    *under(
        Heading.PLAY,
        ("bench",),
        flag(
            "shapes",
            "Measure networks of the shapes that people use, from b6c96 to b28c512nbt, with random weights: "
            "evaluations, share of the machine's arithmetic peak, memory. Takes minutes.",
        ),
    ),
    *under(
        Heading.EXPERT,
        ("bench",),
        flag(
            "chooses",
            "Measure for a second which backend and precision computes --net fastest on the --size (19), and keep the "
            "answer for auto. A GTP session does so while it waits for the opponent.",
            flags=("--choose",),
        ),
        flag("once", "With --choose: measure only a board that has not been measured before, and print what was."),
        text(
            "shape_names",
            "With --shapes: the shape to measure, such as b18c384nbt; may be repeated.",
            (),
            flags=("--shape",),
            metavar="NAME",
            many=True,
            default_text="all",
        ),
        integer(
            "positions",
            "With --quality: number of positions, on all boards (9, 13 and 19) together.",
            1000,
            least=1,
            unit="positions",
        ),
        counts(
            "visits",
            "With --quality: limits of the searches, in visits.",
            unit="visits",
            default_text="50,200,800,3200, or none with --move-time",
            reason="A speed is measured without a limit; the quality of moves at several.",
        ),
        real(
            "move_seconds",
            "With --quality: limit of the searches, in seconds; may be repeated.",
            (),
            least=0,
            above=True,
            unit="seconds",
            flags=("--move-time",),
            many=True,
            default_text="0.1, 0.5 and 2, or none with --visits",
            reason="The quality of moves is measured at several times.",
        ),
        text(
            "compared",
            "With --quality: search parameters to compare with those of --set in the same positions, such as "
            "batch_size=8,c_puct=1.1; may be repeated.",
            (),
            flags=("--compare",),
            metavar="KEY=VALUE,..",
            many=True,
        ),
        integer(
            "reference_visits",
            "With --quality: visits of the deep searches that judge moves.",
            10_000,
            least=1,
            unit="visits",
        ),
        input_path(
            "records",
            "With --quality: game records to take positions from; may be repeated.",
            (),
            metavar="PATH",
            many=True,
            default_text="three collections in $KEIMA_SHARED/games",
            reason="Positions are measured, not learned.",
        ),
        output_folder(
            "out",
            "With --quality: directory that keeps the values of judged moves for later runs; a stopped run continues.",
            reason="Nothing else that is measured is kept.",
        ),
    ),
    *under(
        Heading.TIME,
        ("bench",),
        flag("cold", "Also measure the time to compile every kernel."),
        integer("runs", "Repetitions of each measurement; the median is reported.", 5, least=1),
        real(
            "seconds",
            "Duration of each measured run, in seconds.",
            0.5,
            least=0,
            above=True,
            unit="seconds",
            flags=("--seconds",),
        ),
    ),
    *under(
        Heading.TIME,
        ("train bench",),
        integer(
            "runs",
            "Repetitions of each measurement; the median is reported.",
            3,
            least=1,
            reason="A training step takes far longer than an evaluation.",
        ),
        real(
            "seconds",
            "Duration of each measured run, in seconds; at least one step is taken.",
            1.0,
            least=0,
            unit="seconds",
            flags=("--seconds",),
            reason="A training step takes far longer than an evaluation.",
        ),
    ),
    *under(
        Heading.NETWORK,
        ("bench",),
        text(
            "katago",
            "Also measure KataGo, in turns, on the same --net: 'katago benchmark -config gtp.cfg'. Options for "
            "positions, visits and threads (one or two per core, whichever is faster) are added. With --quality: "
            "'katago gtp -config gtp.cfg'.",
            "",
            metavar="COMMAND",
            reason="Speed is measured, or moves are judged; ranks play games with it.",
        ),
    ),
    *under(
        Heading.MACHINE,
        ("bench",),
        integer(
            "memory_visits",
            "Also measure the engine's memory after one move with this many visits on the last --size; slow.",
            0,
            least=0,
            unit="visits",
        ),
    ),
    *under(Heading.DATA, _JSON_OUTPUT, flag("as_json", "Print one JSON object.", flags=("--json",))),
    *under(
        Heading.DATA,
        ("draw",),
        integer(
            "move",
            "Draw the position after this move.",
            least=0,
            default_text="the last move",
            reason="A picture is of one position.",
        ),
        integer("numbers", "Number the stones from this move on.", least=1, metavar="FIRST", default_text="no numbers"),
    ),
)
