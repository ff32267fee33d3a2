"""Settings of training runs and self-play: train run, bench and gate, selfplay, zero."""

from engine.settings.setting import Heading, Setting
from engine.settings.table.kinds import assignment, choice, flag, input_file, integer, real, rules, text, under
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
            "Games in all; with more of them a finished run goes on.",
            least=1,
            unit="games",
            default_text="no limit",
            reason="Self-play goes on until it is stopped.",
        ),
        integer(
            "size",
            "Side of the board; give several to play on each.",
            least=2,
            most=25,
            default_text="9",
            many=True,
            reason="Training takes square boards only, and networks learn several sizes at once.",
        ),
        text(
            "teacher",
            "GTP program whose moves are among those played to explore; --set exploration.start says how many.",
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
            reason="A run goes on with the seed that it began with, so there is always one.",
        ),
        flag(
            "measures",
            "Measure the evaluator alone, too, before and after the games, with the same batch size.",
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
            reason="Training takes square boards only; a gate plays on one.",
        ),
        rules(
            "rules",
            "Rules that score area: a name such as chinese or tromp-taylor, or a JSON object.",
            MATCH_RULES,
            reason="Games between networks end without an agreement on dead stones.",
        ),
        integer(
            "games",
            "Most games of the match; an even number.",
            400,
            least=2,
            unit="games",
            reason="AlphaGo Zero's gate had 400 games.",
        ),
        real("threshold", "Share of the points that the candidate needs.", 0.55),
        real(
            "margin",
            "End the match once the share is surely this far above or below the threshold; 0 plays every game.",
            0.05,
        ),
    ),
    *under(
        Heading.TIME,
        ("train gate",),
        integer(
            "visits",
            "Visits of the search for each move.",
            100,
            least=1,
            unit="visits",
            reason="Both sides of a gate search equally much, and quickly.",
        ),
    ),
    *under(
        Heading.EXPERT,
        ("train gate",),
        integer(
            "seed", "Seed of the openings and the moves.", 1, least=0, reason="The same gate gives the same answer."
        ),
    ),
    *under(
        Heading.TRAINING,
        ("train run", "train bench"),
        assignment(
            "settings",
            "Setting of training, such as blocks=10 or schedule=step.",
            reason="--set reaches the settings of the command: here those of training.",
        ),
    ),
    *under(
        Heading.TRAINING,
        ("train dqn",),
        assignment(
            "settings",
            "Setting of Q-learning, such as games=4000 or size=5.",
            reason="--set reaches the settings of the command: here those of Q-learning.",
        ),
        integer("every", "Games between two tests.", 250, least=1, unit="games"),
        integer("test_games", "Games in each test.", 100, least=2, unit="games"),
    ),
    *under(
        Heading.TRAINING,
        ("selfplay",),
        assignment(
            "settings",
            "Setting of self-play, its value as in TOML: full_visits=200, rules=['chinese','aga'], search.c_puct=1.1.",
            reason="--set reaches the settings of the command: here those of self-play.",
        ),
    ),
    *under(
        Heading.TRAINING,
        ("zero",),
        assignment(
            "settings",
            "Setting of the configuration, its value as in TOML: train.blocks=6, selfplay.sizes='[9, 13]'.",
            metavar="SECTION.KEY=VALUE",
            reason="--set reaches the settings of the command: here all sections of a run's configuration.",
        ),
        text(
            "preset",
            "Configuration to begin with: 9x9-cpu, 9x9-gpu, 19x19-gpu, agz-study, tiny, or a .toml file.",
            metavar="NAME|FILE",
        ),
        integer("generations", "Generation after which the run ends.", least=0, default_text="no limit"),
        flag("status", "Show the progress of the run, and do nothing else."),
    ),
    *under(
        Heading.TRAINING,
        ("train run",),
        input_file(
            "config",
            "TOML file of training settings.",
            reason="Its keys are the settings of training, not the options of the command.",
        ),
        real(
            "prioritize",
            "Draw --samples with probability proportional to this power of their loss; 0 draws all alike.",
            0.0,
            least=0,
        ),
        choice(
            "freeze",
            "Part of the network that is not trained: with trunk, only the heads are.",
            choices=("trunk",),
            default_text="nothing",
        ),
        integer(
            "steps",
            "Step at which the run ends; with a larger number it goes on.",
            least=1,
            unit="steps",
            default_text="100000",
        ),
    ),
    *under(
        Heading.TRAINING,
        ("train run", "zero"),
        real(
            "hours",
            "Time after which the run ends, all its resumptions together, in hours.",
            least=0,
            above=True,
            unit="hours",
            default_text="no limit",
        ),
    ),
    *under(
        Heading.MACHINE,
        ("zero",),
        text("address", "Let a Ray cluster play: host:port, auto, or local.", flags=("--ray",), metavar="ADDRESS"),
    ),
    *under(
        Heading.MACHINE,
        ("train run", "train bench"),
        choice(
            "device", "Device to train on.", choices=("auto", "cpu", "cuda"), default_text="a GPU where there is one"
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
            reason="Training takes square boards only.",
        ),
        integer(
            "batches",
            "Samples in a step of training.",
            least=1,
            unit="samples",
            flags=("--batch",),
            default_text="64",
            many=True,
        ),
        choice(
            "precisions",
            "Number format of the training.",
            choices=("fp32", "bf16"),
            flags=("--precision",),
            default_text="both",
            many=True,
            reason="Training knows two formats; inference knows more.",
        ),
    ),
)
