"""Settings of a game and of the engine's moves: GTP, the terminal, the page, the analysis server."""

from engine.clock import DEFAULT_LAG_BUFFER
from engine.rules import MOST_KOMI
from engine.settings.levels import FULL_LEVEL
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
"""Wherever a person plays: Chinese rules as controllers and servers mean them, with positional superko."""
MATCH_RULES = "tromp-taylor"
"""Where programs play each other: they agree on it without taking dead stones off."""
_PERSPECTIVES = ("SIDETOMOVE", "BLACK", "WHITE")
_PEOPLE = ("person", "engine")

PLAY_ROWS: tuple[Setting, ...] = (
    *under(
        Heading.PLAY,
        ("gtp", "play", "web", "match", FORM),
        size("size", "Board size: 19 for a square board, 13x9 for a rectangle.", (19, 19)),
        real("komi", "Points that White receives.", 7.5, least=-MOST_KOMI, most=MOST_KOMI, unit="points"),
    ),
    *under(
        Heading.PLAY,
        ("gtp", "play", "web", FORM),
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
        ("web", "match", FORM),
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
            reason="At the page two people may play, or the engine against itself; the terminal has one person.",
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
        integer(
            "level",
            "Level of play: 10 is full strength; lower levels do not search, and overlook moves.",
            FULL_LEVEL,
            least=1,
            most=FULL_LEVEL,
        ),
    ),
    *under(
        Heading.PLAY, ("gtp", GTP), flag("ponder", "Search in the opponent's time, too.", katago="ponderingEnabled")
    ),
    *under(
        Heading.EXPERT,
        ("gtp", "play"),
        flag("reflexes", "Move without a search: captures, rescues, else the move with the best prior."),
    ),
    *under(
        Heading.TIME,
        ("gtp", "play", GTP),
        integer("visits", "Most visits of the search for a move.", least=1, unit="visits", katago="maxVisits"),
    ),
    *under(
        Heading.TIME,
        ("analysis", JSON),
        integer(
            "visits",
            "Visits of a query that names none.",
            500,
            least=1,
            unit="visits",
            katago="maxVisits",
            reason="An analysis without any limit would never end; 500 is the number in KataGo's example "
            "configuration.",
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
            reason="Nobody waits at a page for longer than an hour; a GTP session may run unattended.",
        ),
    ),
    *under(
        Heading.TIME,
        ("analysis",),
        real(
            "seconds",
            "Longest search for a position, in seconds.",
            least=0,
            above=True,
            unit="seconds",
            flags=("--time",),
            reason="Positions are analyzed there, no moves played.",
        ),
    ),
    *under(
        Heading.TIME,
        (GTP, JSON),
        real(
            "seconds",
            "Longest search for a move or a position, in seconds.",
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
            "Time of each move left to the controller and the connection, in seconds.",
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
            "Random bonus of utility at the root of an analysis, so that it looks at more moves.",
            0.04,
            least=0.0,
            most=5.0,
            katago="analysisWideRootNoise",
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
        output_file("sgf", "File that the game is saved in.", default_text="keima-DATE-TIME.sgf"),
    ),
    *under(
        Heading.DATA,
        ("gtp", "play"),
        output_file(
            "config", "TOML file with the names of these options as keys, and search parameters in its [search] table."
        ),
    ),
    *under(
        Heading.DATA,
        ("analysis",),
        output_file(
            "configs",
            "Configuration file of KataGo's analysis engine; keys that mean nothing here are listed on stderr.",
            flags=("--config", "-config"),
            many=True,
            reason="`keima analysis` reads KataGo's files, so that programs written for KataGo can start it.",
        ),
        text(
            "override_config",
            "Further lines of that file.",
            flags=("--override-config", "-override-config"),
            metavar="KEY=VALUE,..",
            many=True,
        ),
        input_file(
            "benchmark",
            "Analyze the queries of a file, one per line, one by one and together, and print how fast that was.",
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
        text(
            "human_model",
            "Accepted and not used: controllers of KataGo may pass it; analyze by a human network with --model.",
            flags=("--human-model", "-human-model"),
            metavar="FILE",
        ),
    ),
    *under(
        Heading.EXPERT,
        ("gtp", "play", "analysis", "solve"),
        assignment("settings", "Search parameter, such as c_puct=1.1."),
    ),
    *under(
        Heading.EXPERT,
        ("gtp", "play", "analysis"),
        integer(
            "seed",
            "Seed of all random numbers; makes searches reproducible (leaves are then collected in a fixed order).",
            least=1,
            default_text="another one each time",
        ),
    ),
    *under(
        Heading.EXPERT,
        ("gtp",),
        text(
            "compat_name",
            "Name to answer `name` with: Lizzie and LizzieYzy show some of the analysis to an engine called KataGo "
            "only.",
            metavar="NAME",
        ),
        text("compat_version", "Version to answer `version` with.", metavar="X.Y"),
        flag("live_graphics", "Draw searches in GoGui while they run, by lines on stderr."),
        flag(
            "leela_lines",
            "Sum up each search on stderr as Leela Zero does; gtp2ogs shows that in the chat of a game on OGS.",
        ),
    ),
)
