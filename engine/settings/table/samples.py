"""Settings of training data: records, samples and teachers, for train, selfplay and distill."""

from engine.settings.setting import Heading, Setting
from engine.settings.table.kinds import (
    flag,
    input_folder,
    input_path,
    integer,
    output_file,
    output_folder,
    real,
    text,
    under,
)

_DRAWING = ("train test", "train samples")

SAMPLE_ROWS: tuple[Setting, ...] = (
    *under(
        Heading.DATA,
        ("train run", "distill"),
        input_path(
            "records",
            "Game records: SGF, directory, archive (.zip, .tar.*), or .sgfl(.bz2) of one SGF a line. Held-out games "
            "are passed over.",
            many=True,
        ),
    ),
    *under(
        Heading.DATA,
        _DRAWING,
        input_path(
            "records",
            "Game records: SGF, directory, archive (.zip, .tar.*), or .sgfl(.bz2) of one SGF a line.",
            many=True,
            required=True,
            reason="Without records these commands have nothing to do; held-out games are what they are for.",
        ),
    ),
    *under(
        Heading.DATA,
        ("train gate",),
        output_file(
            "records",
            "File that the games are written to, one SGF a line.",
            reason="A gate plays games and reads none.",
        ),
        output_file("promote", "File that a promoted network is copied to."),
    ),
    *under(
        Heading.DATA,
        ("train run",),
        output_folder(
            "samples", "Directory of training shards (written by `keima selfplay` or `keima distill`).", many=True
        ),
    ),
    *under(
        Heading.DATA,
        ("distill",),
        input_folder(
            "samples",
            "Directory of self-play: the games that its samples come from.",
            many=True,
            reason="Positions are labelled anew, so their games are read and not the samples.",
        ),
        integer(
            "positions",
            "Positions in all; with more of them a finished run goes on.",
            least=1,
            unit="positions",
            default_text="all",
            reason="How many positions are labelled; `keima net check` has known positions to ask.",
        ),
    ),
    *under(
        Heading.DATA,
        ("train samples",),
        output_folder(
            "out",
            "Directory of the training shards.",
            default_text="none: only the speed is measured",
            reason="Shards are written only where --out asks for them; without it the speed is measured.",
        ),
        integer(
            "games",
            "Number of games to read, from the first on.",
            least=1,
            unit="games",
            default_text="all",
            reason="Samples are made of all games where no number is given.",
        ),
        flag("held_out", "Take the games that no training sees, and only those."),
    ),
    *under(
        Heading.DATA,
        ("train plot",),
        output_file("out", "File of the picture (PNG).", default_text="RUN/metrics.png", reason="A plot is one file."),
        integer("window", "Most lines that a moving average covers.", 20, least=1),
    ),
    *under(
        Heading.DATA,
        ("train test",),
        output_file("plot", "Write a plot to this file (PNG)."),
        integer(
            "games",
            "Games drawn at random.",
            500,
            least=1,
            unit="games",
            reason="A random part of the held-out games, because all of them take long.",
        ),
        integer("bucket", "Moves of a game in each row of the table.", 30, least=1, unit="moves"),
        flag("all_games", "Take any games, not only those that no training sees."),
    ),
    *under(
        Heading.DATA,
        (*_DRAWING, "distill"),
        integer("per_game", "Positions drawn from each game at random.", least=1, unit="positions", default_text="all"),
    ),
    *under(
        Heading.EXPERT,
        (*_DRAWING, "distill"),
        integer(
            "seed",
            "Seed of the games and positions that are drawn.",
            1,
            least=0,
            reason="The same samples every time, so that results can be compared; nothing is searched at random.",
        ),
    ),
    *under(
        Heading.TRAINING,
        ("train samples", "distill"),
        text("encoder", "Input format of the samples, that of the network to be trained.", "katago-v7", metavar="NAME"),
    ),
    *under(
        Heading.EXPERT, ("train samples",), integer("shard", "Samples in each file.", 16384, least=1, unit="samples")
    ),
    *under(
        Heading.MACHINE,
        ("train samples",),
        integer("processes", "Worker processes; 0 works in this one.", least=0, default_text="one per core"),
    ),
    *under(
        Heading.MACHINE,
        ("selfplay",),
        integer(
            "processes",
            "Processes that play.",
            least=1,
            default_text="one per thread",
            reason="Self-play shares the threads of the evaluator out to its processes.",
        ),
    ),
    *under(
        Heading.NETWORK,
        ("distill",),
        text(
            "teacher",
            "Teacher: a network file or a directory of them, the command line of a GTP program, or Keima's playouts.",
            metavar="FILE|COMMAND|playouts",
            required=True,
            reason="A teacher of self-play suggests moves; one of `keima distill` labels positions.",
        ),
    ),
    *under(
        Heading.TIME,
        ("distill",),
        integer(
            "visits",
            "Visits of the teacher's search.",
            least=2,
            unit="visits",
            default_text="one evaluation, no search",
            reason="A single evaluation labels many more positions than a search.",
        ),
    ),
    *under(
        Heading.EXPERT,
        ("distill",),
        integer("symmetries", "Symmetries over which an evaluation is averaged.", 1, least=1, most=8),
        real("own_move", "Share of the move that was played in the policy target.", 0.0, least=0, most=1),
        real(
            "shaping",
            "Share of tanh(score / 20) in the outcome of a teacher without a winrate; falls to 0 over --positions.",
            0.0,
            least=0,
            most=0.5,
        ),
        integer("programs", "GTP programs that run at the same time.", 1, least=1),
    ),
)
