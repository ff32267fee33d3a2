"""Settings of the commands around games and network files: web, solve, bench, draw, net."""

from engine.settings.setting import Heading, Setting
from engine.settings.table.kinds import (
    choice,
    counts,
    flag,
    integer,
    output_file,
    output_folder,
    real,
    size,
    text,
    under,
)

_JSON_OUTPUT = ("bench", "solve", "net info", "selfplay", "train test", "train gate", "train bench")

PROGRAM_ROWS: tuple[Setting, ...] = (
    *under(
        Heading.PLAY,
        ("web",),
        text(
            "engine",
            "Another GTP program to play against.",
            metavar="COMMAND",
            default_text="Keima",
            reason="A page has one engine; a match takes several by name.",
        ),
    ),
    *under(
        Heading.DATA,
        ("web",),
        output_folder(
            "out",
            "Directory that games are saved in.",
            ".",
            reason="A game at the page is always saved; a match is saved where --out asks for it.",
        ),
    ),
    *under(
        Heading.MACHINE,
        ("web",),
        text(
            "host",
            "Address to serve on; with 0.0.0.0 others on the network can play, too.",
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
            "Visits at which a search is asked for its move.",
            (1, 100, 800, 3200),
            unit="visits",
            reason="Each problem is searched once and asked several times on the way.",
        ),
    ),
    *under(
        Heading.PLAY,
        ("solve",),
        integer("limit", "Number of problems, drawn by the seed.", least=1, unit="problems", default_text="all"),
        flag(
            "framed",
            "Wall off the rest of the board around a problem, so that the problem decides the game.",
            default=True,
            flags=("--frame/--no-frame",),
        ),
    ),
    *under(
        Heading.EXPERT,
        ("solve",),
        integer(
            "seed",
            "Seed of all random numbers, and of the problems that --limit draws; makes searches reproducible.",
            1,
            least=1,
            reason="The same problems and searches every time, so that two runs can be compared.",
        ),
    ),
    *under(
        Heading.DATA,
        ("solve",),
        output_folder(
            "out",
            "Directory of the answers, a summary and a plot; a run goes on where it stopped.",
            reason="A directory of answers; with none they are only printed.",
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
            reason="Speed depends on the board, so several are measured.",
        ),
    ),
    *under(
        Heading.TIME,
        ("bench",),
        flag("cold", "Also measure how long compiling every kernel takes."),
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
            reason="A step of training takes far longer than an evaluation.",
        ),
        real(
            "seconds",
            "Duration of each measured run, in seconds; at least one step is taken.",
            1.0,
            least=0,
            unit="seconds",
            flags=("--seconds",),
            reason="A step of training takes far longer than an evaluation.",
        ),
    ),
    *under(
        Heading.NETWORK,
        ("bench",),
        text(
            "katago",
            "Take turns with KataGo's benchmark on the same --net: 'katago benchmark -config gtp.cfg'. Positions, "
            "threads and length are added; it runs with one thread per core or two, whichever is faster.",
            "",
            metavar="COMMAND",
        ),
    ),
    *under(
        Heading.MACHINE,
        ("bench",),
        integer(
            "memory_visits",
            "Also measure the engine's memory after a move of this many visits on the last --size; takes long.",
            0,
            least=0,
            unit="visits",
        ),
    ),
    *under(Heading.DATA, _JSON_OUTPUT, flag("as_json", "Print one JSON object.", flags=("--json",))),
    *under(
        Heading.DATA,
        ("draw",),
        integer("move", "Draw the position after this move.", least=0, default_text="the last move"),
        integer("numbers", "Number the moves from this one on.", least=1, metavar="FIRST", default_text="no numbers"),
    ),
    *under(
        Heading.DATA,
        ("net info",),
        flag("inputs", "Also name every input plane and global."),
        flag("tensors", "Also list every array of weights."),
        output_file("drawing", "Write a drawing of the architecture as SVG.", flags=("--svg",)),
    ),
    *under(
        Heading.DATA,
        ("net check",),
        output_file("golden", "Golden records to compare the network's answers with.", many=True),
        flag(
            "positions",
            "Ask what every trained network knows, and compare the backends.",
            default=True,
            flags=("--positions/--no-positions",),
        ),
    ),
    *under(
        Heading.DATA,
        ("net convert",),
        choice("to", "Format to write.", choices=("keima", "katago"), default_text="by OUT's suffix"),
    ),
    *under(
        Heading.DATA,
        ("net average",),
        real("shares", "Weight of each file in turn.", flags=("--share",), default_text="equal weights", many=True),
    ),
    *under(
        Heading.DATA,
        ("net convert", "net average"),
        text("name", "Name of the network in OUT.", metavar="NAME", default_text="the name it has"),
        flag("force", "Replace OUT if it exists."),
    ),
)
