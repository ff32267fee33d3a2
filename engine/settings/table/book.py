"""Settings of `keima book`, and of the commands that play from a book."""

from engine.settings.setting import Heading, Setting
from engine.settings.table.kinds import integer, real, size, text, under

BOOK_ROWS: tuple[Setting, ...] = (
    *under(
        Heading.EXPERT,
        ("gtp", "play", "web"),
        text(
            "book",
            "Opening book to play from: a file, or the name of one that ships with Keima, such as 3x3. It is used in "
            "games of its size and rules, and of its komi unless it is exact.",
            metavar="FILE",
            default_text="none",
        ),
    ),
    *under(
        Heading.TIME,
        ("book build",),
        integer(
            "visits",
            "Visits of the search of each position.",
            800,
            least=2,
            unit="visits",
            reason="A book is worth what its searches know more than those of the player who uses it.",
        ),
        integer(
            "positions",
            "Positions after which the book is done; the last step may add more. A larger number goes on.",
            least=1,
            unit="positions",
            default_text="until --hours or Ctrl-C",
            reason="A book grows until it is stopped, by its size or by the time.",
        ),
        real(
            "hours",
            "Time limit of all searches, those of earlier runs included, in hours.",
            least=0,
            above=True,
            unit="hours",
            reason="A book is a single run, without parts.",
        ),
    ),
    *under(
        Heading.EXPERT,
        ("book build",),
        integer(
            "at_once",
            "Positions that are chosen together and searched side by side.",
            64,
            least=1,
            most=4096,
            unit="positions",
        ),
        integer(
            "seed",
            "Seed of all random numbers; the same seed gives the same book.",
            1,
            least=1,
            reason="A run that is continued must find what it would have found without a stop.",
        ),
    ),
    *under(
        Heading.PLAY,
        ("book solve",),
        size(
            "size",
            "Board size: 3 for a square board, 4x2 for a rectangle.",
            (3, 3),
            reason="Its book ships.",
        ),
        integer(
            "plies",
            "Moves from the empty board up to which the book of a board of more than 16 points goes.",
            8,
            least=1,
            most=63,
            unit="moves",
            flags=("--moves",),
        ),
    ),
    *under(
        Heading.EXPERT,
        ("book solve",),
        integer(
            "max_memory",
            "Memory of the table of positions, for a board of more than 16 points, in MiB.",
            least=1,
            unit="MiB",
            default_text="2433, and less for under 20 points",
            reason="A proof remembers positions in a table, and has no tree and no network.",
        ),
    ),
    *under(
        Heading.PLAY,
        ("book show",),
        integer(
            "most",
            "Moves to show, best first.",
            20,
            least=1,
            unit="moves",
            flags=("--moves",),
            reason="These are the moves of one position.",
        ),
    ),
)
