"""Settings of the commands under net."""

from engine.settings.levels import RANKS
from engine.settings.setting import Heading, Setting
from engine.settings.table.kinds import (
    choice,
    flag,
    integer,
    output_file,
    real,
    rules,
    size,
    text,
    under,
)

NET_ROWS: tuple[Setting, ...] = (
    *under(
        Heading.DATA,
        ("net info",),
        flag("inputs", "Also list the names of input planes and globals, and which globals have no effect."),
        flag("tensors", "Also list the arrays of weights."),
        output_file("drawing", "Write a drawing of the architecture as SVG.", flags=("--svg",)),
    ),
    *under(
        Heading.DATA,
        ("net check",),
        output_file("golden", "Golden records to compare the network's outputs with.", many=True),
        flag(
            "positions",
            "Test positions that every trained network knows, and compare the backends.",
            default=True,
            flags=("--positions/--no-positions",),
        ),
        integer(
            "size",
            "Side of the board to test positions on; give several for several.",
            least=2,
            most=25,
            default_text="9, 13 and 19, as far as the network supports them",
            many=True,
            reason="The positions are of square boards, and a network may know only some of those that it supports.",
        ),
    ),
    *under(
        Heading.DATA,
        ("net convert",),
        choice("to", "Format to write.", choices=("keima", "katago", "onnx"), default_text="by the suffix of OUT"),
        size(
            "size",
            "Board of an ONNX file: 19 for a square board, 13x9 for a rectangle.",
            default_text="19, or the nearest that the network supports",
            reason="An ONNX file is for one board; the other files are for every board.",
        ),
    ),
    *under(
        Heading.DATA,
        ("net average",),
        real(
            "shares",
            "Weight of a file in the average; give one for each, in order.",
            flags=("--share",),
            default_text="equal weights",
            many=True,
        ),
    ),
    *under(
        Heading.DATA,
        ("net convert",),
        text("name", "Name of the network in OUT.", metavar="NAME", default_text="its present name"),
        rules(
            "known_rules",
            "Area rules of the only games that the network has seen: OUT treats all area rules as these.",
            None,
            default_text="as in IN",
            reason="Inputs that never varied in training make answers random elsewhere; `train` and `zero` see to it.",
        ),
        choice(
            "weakest_people",
            "Rank of the weakest people that a human network knows; with --rank, lower ranks play their moves.",
            None,
            choices=RANKS[1:],
            metavar="RANK",
            default_text="as in IN",
        ),
        choice(
            "flatter_below",
            "Rank below which --rank draws from a flatter policy of a human network that plays better than people do.",
            None,
            choices=RANKS,
            metavar="RANK",
            default_text="as in IN, or the weakest people",
        ),
    ),
    *under(
        Heading.DATA,
        ("net average",),
        text(
            "name",
            "Name of the network in OUT.",
            metavar="NAME",
            default_text="the name of the file",
            reason="An average is a new network.",
        ),
    ),
    *under(
        Heading.DATA,
        ("net convert", "net average"),
        flag("force", "Replace OUT if it exists."),
    ),
)
