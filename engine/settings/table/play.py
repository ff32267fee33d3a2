"""Settings of a game and of the engine's moves: GTP, terminal, web page, analysis server."""

from engine.clock import DEFAULT_LAG_BUFFER
from engine.rules import MOST_KOMI
from engine.settings.levels import FULL, RANKS
from engine.settings.setting import Heading, Setting
from engine.settings.table.kinds import (
    assignment,
    choice,
    flag,
    input_file,
    integer,
    output_file,
    real,
    rules,
    size,
    text,
    under,
)
from engine.settings.table.surfaces import FORM, GTP, JSON

DEFAULT_RULES = "chinese-kgs"
"""Default wherever a person plays: Chinese rules as controllers and servers use them, with positional superko."""
MATCH_RULES = "tromp-taylor"
"""Default where programs play each other: scoring needs no agreement on dead stones."""
_PERSPECTIVES = ("SIDETOMOVE", "BLACK", "WHITE")
_PEOPLE = ("person", "engine")

PLAY_ROWS: tuple[Setting, ...] = (
    *under(
        Heading.PLAY,
        ("gtp", "play", "web", "match", "book build", FORM),
        size("size", "Board size: 19 for a square board, 13x9 for a rectangle.", (19, 19)),
        real("komi", "Points that White receives.", 7.5, least=-MOST_KOMI, most=MOST_KOMI, unit="points"),
    ),
    *under(
        Heading.PLAY,
        ("gtp", "play", "web", "book build", "book solve", FORM),
        rules(
            "rules",
            "Rules of the game: a name such as chinese, japanese or tromp-taylor, or a JSON object.",
            DEFAULT_RULES,
        ),
    ),
    *under(
        Heading.PLAY,
        ("match",),
        rules(
            "rules",
            "Rules of the game: a name such as chinese, japanese or tromp-taylor, or a JSON object.",
            MATCH_RULES,
            reason="Programs agree on Tromp-Taylor rules: what stands on the board counts, and nobody has to judge "
            "dead stones.",
        ),
    ),
    *under(
        Heading.PLAY,
        ("play", "web", "match", FORM),
        integer(
            "handicap",
            "Handicap stones on the fixed points; 0 for none, else 2 or more.",
            0,
            least=0,
            most=9,
            unit="stones",
        ),
    ),
    *under(
        Heading.PLAY, ("play",), choice("color", "Your color: black or white.", "black", choices=("black", "white"))
    ),
    *under(
        Heading.PLAY,
        ("web",),
        choice(
            "color",
            "Your color: black, white, both (you play both sides) or none (the engine does).",
            "black",
            choices=("black", "white", "both", "none"),
            reason="On the web page two people may play, or the engine against itself; the terminal has one person.",
        ),
    ),
    *under(
        Heading.EXPERT,
        (FORM,),
        choice("black", "Who plays Black.", "person", choices=_PEOPLE),
        choice("white", "Who plays White.", "engine", choices=_PEOPLE),
    ),
    *under(
        Heading.PLAY,
        ("gtp", "play", "web", FORM, GTP),
        choice(
            "rank",
            "Rank of a weaker opponent, 21k to 6d: a short search and, below the strongest ranks, a move drawn among "
            "likely ones that lose few points.",
            FULL,
            choices=(*RANKS, FULL),
            metavar="RANK",
        ),
    ),
    *under(
        Heading.PLAY, ("gtp", GTP), flag("ponder", "Also search in the opponent's time.", katago="ponderingEnabled")
    ),
    *under(
        Heading.EXPERT,
        ("gtp", "play"),
        flag("reflexes", "Play without search: captures and rescues first, else the move with the best prior."),
    ),
    *under(
        Heading.TIME,
        ("gtp", "play", FORM, GTP),
        integer("visits", "Limit of the search for each move, in visits.", least=1, unit="visits", katago="maxVisits"),
    ),
    *under(
        Heading.TIME,
        ("analysis", JSON),
        integer(
            "visits",
            "Visits of a query without maxVisits.",
            500,
            least=1,
            unit="visits",
            katago="maxVisits",
            reason="An analysis without a limit would never end; KataGo's example configuration has 500.",
        ),
    ),
    *under(
        Heading.TIME,
        ("gtp", "play"),
        real(
            "seconds",
            "Engine thinking time per move, in seconds.",
            least=0,
            above=True,
            unit="seconds",
            flags=("--time",),
            default_text="by the clock, else 5",
        ),
    ),
    *under(
        Heading.TIME,
        ("web", FORM),
        real(
            "seconds",
            "Engine thinking time per move, in seconds.",
            least=0,
            most=3600,
            above=True,
            unit="seconds",
            flags=("--time",),
            default_text="the engine decides",
            reason="Nobody waits longer than an hour at a web page; a GTP session may run unattended.",
        ),
    ),
    *under(
        Heading.TIME,
        ("web", FORM),
        text(
            "clock",
            "Clock of both players, in seconds: byoyomi:600+5x30 (5 periods of 30 s), fischer:300+10 or absolute:900.",
            default_text="none",
        ),
    ),
    *under(
        Heading.TIME,
        (FORM,),
        real(
            "review_seconds",
            "Seconds for each position of a review.",
            1.0,
            least=0,
            most=3600,
            above=True,
            unit="seconds",
        ),
    ),
    *under(
        Heading.TIME,
        ("analysis",),
        real(
            "seconds",
            "Limit of the search for each position, in seconds.",
            least=0,
            above=True,
            unit="seconds",
            flags=("--time",),
            reason="This command analyzes positions; it plays no moves.",
        ),
    ),
    *under(
        Heading.TIME,
        (GTP, JSON),
        real(
            "seconds",
            "Limit of the search for each move or position, in seconds.",
            least=0.0,
            unit="seconds",
            katago="maxTime",
            reason="KataGo's maxTime may be 0.",
        ),
    ),
    *under(
        Heading.TIME,
        (GTP,),
        real(
            "lag_buffer",
            "Time of each move reserved for the controller and the connection, in seconds; a lag that `time_left` "
            "shows is added.",
            DEFAULT_LAG_BUFFER,
            least=0.0,
            most=3600.0,
            unit="seconds",
            katago="lagBuffer",
        ),
    ),
    *under(
        Heading.EXPERT,
        (GTP,),
        choice(
            "perspective",
            "Whose winrate and score lead an analysis reports.",
            "SIDETOMOVE",
            choices=_PERSPECTIVES,
            katago="reportAnalysisWinratesAs",
        ),
        real(
            "analysis_noise",
            "Random bonus of utility at the root of an analysis; a larger one makes it search more moves.",
            0.04,
            least=0.0,
            most=5.0,
            katago="analysisWideRootNoise",
        ),
        flag(
            "analysis_ignores_past",
            "Hide the moves before the analyzed position from the evaluator.",
            katago="analysisIgnorePreRootHistory",
        ),
    ),
    *under(
        Heading.EXPERT,
        (JSON,),
        choice(
            "perspective",
            "Whose winrate and score lead an analysis reports.",
            "BLACK",
            choices=_PERSPECTIVES,
            katago="reportAnalysisWinratesAs",
            reason="GTP controllers expect the side to move; KataGo's example configuration of the analysis engine "
            "has BLACK.",
        ),
    ),
    *under(
        Heading.EXPERT,
        (GTP, JSON),
        integer(
            "pv_length",
            "Moves of a principal variation after its first one.",
            15,
            least=1,
            most=1000,
            unit="moves",
            katago="analysisPVLen",
        ),
    ),
    *under(
        Heading.DATA,
        ("play",),
        input_file("record", "Game record (SGF) to continue from its end, with its size, komi and rules."),
        output_file("sgf", "File to save the game in.", default_text="keima-DATE-TIME.sgf"),
    ),
    *under(
        Heading.EXPERT,
        ("play",),
        output_file("config", "TOML file: option names as keys, and search parameters in a [search] table."),
    ),
    *under(
        Heading.DATA,
        ("gtp",),
        output_file(
            "config",
            "A .toml file with option names as keys and search parameters in a [search] table, or a configuration "
            "file of KataGo's GTP engine, whose keys without effect here are listed on stderr.",
            flags=("--config", "-config"),
            many=True,
            reason="`keima gtp` reads KataGo's files, so that programs written for KataGo can start it.",
        ),
    ),
    *under(
        Heading.DATA,
        ("analysis",),
        output_file(
            "configs",
            "Configuration file of KataGo's analysis engine; keys without effect here are listed on stderr.",
            flags=("--config", "-config"),
            many=True,
            reason="`keima analysis` reads KataGo's files, so that programs written for KataGo can start it.",
        ),
    ),
    *under(
        Heading.DATA,
        ("gtp", "analysis"),
        text(
            "override_config",
            "More settings for -config, on the command line.",
            flags=("--override-config", "-override-config"),
            metavar="KEY=VALUE,..",
            many=True,
        ),
    ),
    *under(
        Heading.EXPERT,
        ("gtp", "play", "analysis"),
        output_file(
            "eval_cache",
            "File in which searches remember positions for later sessions; turns useEvalCache on.",
            flags=("--eval-cache",),
        ),
    ),
    *under(
        Heading.DATA,
        ("analysis",),
        input_file(
            "benchmark",
            "Analyze the queries in a file (one a line) one by one and then together, and print both speeds.",
        ),
    ),
    *under(
        Heading.EXPERT,
        ("analysis",),
        flag(
            "quit_without_waiting",
            "Quit at the end of input without finishing the queries.",
            flags=("--quit-without-waiting", "-quit-without-waiting"),
        ),
    ),
    *under(
        Heading.EXPERT,
        ("gtp", "play", "analysis", "solve", "review", "explain", "bench", "book build"),
        assignment("settings", "Search parameter, such as c_puct=1.1."),
    ),
    *under(
        Heading.EXPERT,
        ("gtp", "play", "analysis"),
        integer(
            "seed",
            "Seed of all random numbers; makes searches reproducible (leaves are then collected in a fixed order).",
            least=1,
            default_text="a new one each time",
        ),
    ),
    *under(
        Heading.EXPERT,
        ("gtp",),
        text(
            "compat_name",
            "Reply to `name`: Lizzie and LizzieYzy show some parts of an analysis only if the engine is called KataGo.",
            metavar="NAME",
        ),
        text("compat_version", "Reply to `version`.", metavar="X.Y", flags=("--compat-version", "-override-version")),
        flag("live_graphics", "Show running searches in GoGui, by lines on stderr."),
        flag(
            "leela_lines",
            "Summarize each search on stderr as Leela Zero does; gtp2ogs shows it in the chat of a game on OGS.",
        ),
    ),
)
