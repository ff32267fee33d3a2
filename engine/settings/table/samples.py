"""Settings of training data: game records, samples and teachers, for train, selfplay and distill."""

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
            "Game records: SGF, directory, archive (.zip, .tar.*), or .sgfl(.bz2) with one SGF a line. Held-out games "
            "are skipped.",
            many=True,
            reason="Training has no records of its own to fall back on, as `keima bench --quality` does.",
        ),
    ),
    *under(
        Heading.DATA,
        _DRAWING,
        input_path(
            "records",
            "Game records: SGF, directory, archive (.zip, .tar.*), or .sgfl(.bz2) with one SGF a line.",
            many=True,
            required=True,
            reason="These commands need records, and may use held-out games.",
        ),
    ),
    *under(
        Heading.DATA,
        ("train gate",),
        output_file(
            "records",
            "File to write the games to, one SGF a line.",
            reason="A gate writes records and reads none.",
        ),
        output_file("promote", "File to copy the network to if it is promoted."),
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
            "Directory of self-play; its games are read, not its samples.",
            many=True,
            reason="Positions are labelled anew, so the games are read and not the samples.",
        ),
        integer(
            "positions",
            "Total number of positions; a larger number continues a finished run.",
            least=1,
            unit="positions",
            default_text="all",
            reason="Here it is the number of positions to label; `keima net check` has a switch of this name.",
        ),
    ),
    *under(
        Heading.DATA,
        ("train samples",),
        output_folder(
            "out",
            "Directory for the training shards.",
            default_text="none: only the speed is measured",
            reason="Shards are written only with --out; without it the speed is measured.",
        ),
        integer(
            "games",
            "Number of games to read, from the first on.",
            least=1,
            unit="games",
            default_text="all",
            reason="By default all games are used.",
        ),
        flag("held_out", "Read only the held-out games, which training never uses."),
    ),
    *under(
        Heading.DATA,
        ("train convert",),
        output_folder(
            "out",
            "Directory for the samples, or for the rows of KataGo.",
            required=True,
            reason="What is converted must be kept somewhere.",
        ),
    ),
    *under(
        Heading.DATA,
        ("train plot",),
        output_file(
            "out",
            "File to write the plot to (PNG).",
            default_text="RUN/metrics.png, RUN/progress.png of keima zero",
            reason="A plot is one file.",
        ),
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
            reason="Testing all held-out games takes long, so a random part of them is used.",
        ),
        integer("bucket", "Moves of a game in each row of the table.", 30, least=1, unit="moves"),
        flag("all_games", "Use all games, not only the held-out ones."),
        text(
            "against",
            "Another network, to compare how often the first move is right on the same positions.",
            metavar="FILE",
        ),
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
            "Seed of the random choice of games and positions.",
            1,
            least=0,
            reason="Every run draws the same samples, so that results can be compared.",
        ),
    ),
    *under(
        Heading.TRAINING,
        ("train samples", "distill"),
        text("encoder", "Input format of the samples and of the network to train.", "katago-v7", metavar="NAME"),
    ),
    *under(
        Heading.EXPERT, ("train samples",), integer("shard", "Samples in each file.", 16384, least=1, unit="samples")
    ),
    *under(
        Heading.MACHINE,
        ("train samples",),
        integer("processes", "Worker processes; 0 for none, in this process.", least=0, default_text="one per core"),
    ),
    *under(
        Heading.MACHINE,
        ("selfplay",),
        integer(
            "processes",
            "Processes that play games.",
            least=1,
            default_text="one per thread",
            reason="Self-play divides --threads among its processes.",
        ),
    ),
    *under(
        Heading.NETWORK,
        ("distill",),
        text(
            "teacher",
            "Teacher: a network file or a directory of them, the command of a GTP program, or Keima's playouts.",
            metavar="FILE|COMMAND|playouts",
            required=True,
            reason="In self-play a teacher suggests moves; in `keima distill` it labels positions.",
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
            reason="In the same time, single evaluations label many more positions than searches.",
        ),
    ),
    *under(
        Heading.EXPERT,
        ("distill",),
        integer("symmetries", "Number of symmetries to average each evaluation over.", 1, least=1, most=8),
        real("own_move", "Share of the played move in the policy target.", 0.0, least=0, most=1),
        real(
            "shaping",
            "Share of tanh(score / 20) in the outcome if the teacher has no winrate; falls to 0 over --positions.",
            0.0,
            least=0,
            most=0.5,
        ),
        integer("programs", "GTP programs that run at the same time.", 1, least=1),
    ),
)
