"""Settings of training runs and self-play: train run, bench and gate, selfplay, zero."""

from engine.settings.setting import Heading, Setting
from engine.settings.table.kinds import (
    assignment,
    choice,
    flag,
    input_file,
    integer,
    output_folder,
    real,
    rules,
    text,
    under,
)
from engine.settings.table.play import MATCH_RULES

TRAINING_ROWS: tuple[Setting, ...] = (
    *under(
        Heading.NETWORK,
        ("selfplay",),
        integer("blocks", "Residual blocks of the random network of --net none.", 4, least=1),
        integer("channels", "Channels of the random network of --net none.", 48, least=1),
    ),
    *under(
        Heading.PLAY,
        ("selfplay",),
        integer(
            "games",
            "Total number of games; a larger number continues a finished run.",
            least=1,
            unit="games",
            default_text="no limit",
            reason="Self-play runs until it is stopped.",
        ),
        integer(
            "size",
            "Side of the board; give several to play on each.",
            least=2,
            most=25,
            default_text="9",
            many=True,
            reason="Training uses square boards only, and networks learn several sizes at once.",
        ),
        text(
            "teacher",
            "GTP program that suggests moves for exploration; --set exploration.start sets their share.",
            metavar="COMMAND",
        ),
    ),
    *under(
        Heading.EXPERT,
        ("selfplay",),
        integer(
            "seed",
            "Seed of all random numbers of the games and of the random network.",
            1,
            least=0,
            reason="A continued run must use the seed that it began with, so there is always one.",
        ),
        flag(
            "measures",
            "Also measure the evaluator alone, before and after the games, with the same batch size.",
            flags=("--raw",),
        ),
    ),
    *under(
        Heading.PLAY,
        ("train gate",),
        integer(
            "size",
            "Side of the board to play on.",
            9,
            least=3,
            most=25,
            reason="Training uses square boards only; a gate plays on one size.",
        ),
        rules(
            "rules",
            "Rules with area scoring: a name such as chinese or tromp-taylor, or a JSON object.",
            MATCH_RULES,
            reason="Games between networks end without an agreement on dead stones.",
        ),
        integer(
            "games",
            "Maximum number of games; even.",
            400,
            least=2,
            unit="games",
            reason="AlphaGo Zero's gate had 400 games.",
        ),
        real("threshold", "Share of the points that the candidate must reach.", 0.55),
        real(
            "margin",
            "Stop early once the share is certainly this far above or below the threshold; 0 plays every game.",
            0.05,
        ),
    ),
    *under(
        Heading.TIME,
        ("train gate",),
        integer(
            "visits",
            "Visits for each move.",
            100,
            least=1,
            unit="visits",
            reason="Both sides of a gate search the same number of visits, and a gate has many games.",
        ),
    ),
    *under(
        Heading.EXPERT,
        ("train gate",),
        integer(
            "seed", "Seed of the openings and the moves.", 1, least=0, reason="The same gate gives the same result."
        ),
    ),
    *under(
        Heading.TRAINING,
        ("train run", "train bench"),
        assignment(
            "settings",
            "Training setting, such as blocks=10 or schedule=step.",
            reason="Each command has its own settings behind --set: here those of training.",
        ),
    ),
    *under(
        Heading.TRAINING,
        ("train dqn",),
        assignment(
            "settings",
            "Q-learning setting, such as games=4000 or size=5.",
            reason="Each command has its own settings behind --set: here those of Q-learning.",
        ),
        integer(
            "every",
            "Games between two tests; a few more where several end at the same move.",
            250,
            least=1,
            unit="games",
        ),
        integer("test_games", "Games in each test.", 100, least=2, unit="games"),
    ),
    *under(
        Heading.TRAINING,
        ("selfplay",),
        assignment(
            "settings",
            "Self-play setting, with a TOML value: full_visits=200, rules=['chinese','aga'], search.c_puct=1.1.",
            reason="Each command has its own settings behind --set: here those of self-play.",
        ),
    ),
    *under(
        Heading.TRAINING,
        ("zero",),
        assignment(
            "settings",
            "Configuration setting, with a TOML value: train.blocks=6, selfplay.sizes='[9, 13]'.",
            metavar="SECTION.KEY=VALUE",
            reason="Each command has its own settings behind --set: here all sections of a run's configuration.",
        ),
        text(
            "preset",
            "Configuration to start from: 9x9-cpu, 9x9-gpu, 19x19-cpu, 19x19-gpu, agz-study, tiny, or a .toml file.",
            metavar="NAME|FILE",
        ),
        integer("generations", "Last generation of the run.", least=0, default_text="no limit"),
    ),
    *under(Heading.TRAINING, ("zero", "train run"), flag("status", "Print the progress of the run and exit.")),
    *under(
        Heading.TRAINING,
        ("train run",),
        input_file(
            "config",
            "TOML file of training settings.",
            reason="Its keys are training settings, not the options of the command.",
        ),
        real(
            "prioritize",
            "Draw --samples with probability proportional to this power of their loss; 0 draws uniformly.",
            0.0,
            least=0,
        ),
        choice(
            "freeze",
            "Part of the network to leave untrained: with trunk, only the heads are trained.",
            choices=("trunk",),
            default_text="nothing",
        ),
        integer(
            "steps",
            "Last step of the run; a larger number continues a finished run.",
            least=1,
            unit="steps",
            default_text="100000",
        ),
    ),
    *under(
        Heading.TRAINING,
        ("learn",),
        choice(
            "freeze",
            "Part of the network to leave untrained: with trunk, only the heads are trained.",
            choices=("trunk", "none"),
            default_text="trunk with fewer than 2000 games",
            reason="A few games can spoil the trunk, so it is frozen unless there are many.",
        ),
    ),
    *under(
        Heading.DATA,
        ("learn",),
        output_folder(
            "out",
            "Directory for the network, the report and the run; a stopped run continues from there.",
            default_text="the name of GAMES with -net, here",
            reason="One command must do without options, so there is a default.",
        ),
    ),
    *under(
        Heading.TRAINING,
        ("train run", "zero", "learn"),
        real(
            "hours",
            "Time limit of the run, all its parts together, in hours.",
            least=0,
            above=True,
            unit="hours",
            default_text="no limit",
        ),
    ),
    *under(
        Heading.MACHINE,
        ("zero",),
        text(
            "address",
            "Ray cluster that plays the games: host:port, auto, or local.",
            flags=("--ray",),
            metavar="ADDRESS",
        ),
    ),
    *under(
        Heading.MACHINE,
        ("train run", "train bench"),
        choice(
            "device",
            "Device to train on.",
            choices=("auto", "cpu", "cuda"),
            default_text="a GPU where there is one",
            reason="Training needs PyTorch, and its memory is planned for CUDA and the CPU alone.",
        ),
    ),
    *under(
        Heading.TRAINING,
        ("train bench",),
        integer(
            "sizes",
            "Side of a square board to measure.",
            least=2,
            most=25,
            flags=("--size",),
            default_text="9 and 19",
            many=True,
            reason="Training uses square boards only.",
        ),
        integer(
            "batches",
            "Samples in a training step.",
            least=1,
            unit="samples",
            flags=("--batch",),
            default_text="64",
            many=True,
        ),
        choice(
            "precisions",
            "Number format of training.",
            choices=("fp32", "bf16"),
            flags=("--precision",),
            default_text="both",
            many=True,
            reason="Training supports two formats, inference more.",
        ),
    ),
)
