"""Settings of `keima tune`."""

from engine.settings.setting import Heading, Setting
from engine.settings.table.kinds import (
    assignment,
    choice,
    counts,
    input_path,
    integer,
    output_folder,
    real,
    size,
    under,
)

_TUNE = ("tune",)

TUNING_ROWS: tuple[Setting, ...] = (
    *under(
        Heading.PLAY,
        _TUNE,
        assignment(
            "ranges",
            "Search parameter to tune, in a range such as c_puct=0.5..3:log or in all that --help-all lists; fixed "
            "with one value; may be repeated.",
            metavar="KEY[=LOW..HIGH]",
            reason="Parameters that are tuned have ranges.",
        ),
        size(
            "size",
            "Board size: 9 for a square board, 13x9 for a rectangle.",
            (9, 9),
            reason="A hundred sets are tried, which takes a night on 9x9.",
        ),
        integer(
            "trials",
            "Sets of parameters to try.",
            100,
            least=1,
            unit="trials",
        ),
        integer(
            "positions",
            "Positions to tune on.",
            200,
            least=2,
            unit="positions",
            reason="Every set is tried on all of them.",
        ),
        integer(
            "confirm",
            "Games at each number of --visits between the best set and the default, fewer where a sequential test "
            "decides; 0 for none.",
            0,
            least=0,
            unit="games",
        ),
    ),
    *under(
        Heading.TIME,
        _TUNE,
        counts(
            "visits",
            "Numbers of visits of the searches; the mean loss over all of them is minimized.",
            (100, 400),
            unit="visits",
            reason="Sets are compared at equal visits.",
        ),
    ),
    *under(
        Heading.DATA,
        _TUNE,
        output_folder(
            "out",
            "Directory for the trials, the judged moves, the games, a report and a plot; a stopped run continues from "
            "there.",
            required=True,
            reason="A run takes hours, so it is always kept.",
        ),
    ),
    *under(
        Heading.MACHINE,
        _TUNE,
        integer(
            "jobs",
            "Processes that search side by side and share --threads; the results are the same.",
            1,
            least=1,
            unit="processes",
        ),
    ),
    *under(
        Heading.EXPERT,
        _TUNE,
        integer(
            "held", "Positions to compare the best set on, which are not tuned on.", 200, least=0, unit="positions"
        ),
        choice(
            "objective",
            "What is minimized: the loss in winrate or in points.",
            "winrate",
            choices=("winrate", "points"),
        ),
        real(
            "gain",
            "Share of the points above a half that the games of --confirm test for against none.",
            0.05,
            least=0.001,
            most=0.4,
        ),
        integer(
            "reference_visits",
            "Visits of the deep searches that judge moves.",
            10_000,
            least=1,
            unit="visits",
            reason="Here every run judges moves, in `bench` those with --quality.",
        ),
        input_path(
            "records",
            "Game records to take positions from; may be repeated.",
            (),
            metavar="PATH",
            many=True,
            default_text="three collections in $KEIMA_SHARED/games",
            reason="Positions are searched, not learned.",
        ),
        integer(
            "seed",
            "Seed of the proposed sets and of the games.",
            1,
            least=1,
            reason="A stopped run continues as if it had not been stopped.",
        ),
    ),
)
