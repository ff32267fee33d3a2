"""The command line of `keima book`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engine.settings.command import Command, Group, refuse_given, search_keys
from engine.settings.options import options_of
from engine.settings.searching import read_settings, refuse_unused, search_params

if TYPE_CHECKING:
    from engine.rules import Rules

BOOK_FILE = "opening.book"
"""The book in the directory of its run."""
_OF_THE_BOOK = ("--size", "--rules", "--komi", "--book")


@click.group(cls=Group)
def book() -> None:
    """Build opening books by searches, show what they have, play from them."""


@book.command(cls=Command, keys=search_keys)
@click.argument("out", type=click.Path(file_okay=False, path_type=Path))
@options_of("book build", settings=read_settings)
def build(out: Path, **options: Any) -> None:
    """Build a book, or make one larger: the engine searches the positions after the moves that matter most.

    OUT is the directory of the run; the book in it is opening.book, for --book. A run that was stopped at any moment,
    even killed, goes on with the same command.
    """
    sys.exit(_build(out, options))


def _build(out: Path, options: dict[str, Any]) -> int:
    from contextlib import closing

    from engine.apps.book.build import SECONDS_PER_HOUR, BookSettings, Builder
    from engine.evaluators.named import open_named_evaluator
    from engine.rules import parse_rules
    from engine.support.progress import ProgressBar
    from engine.support.run_kinds import BOOK, claimed_run
    from engine.support.stopping import INTERRUPTED, stopping

    refuse_unused(options)
    params = search_params(options["net"], {}, options["settings"], seed=options["seed"])
    wanted, hours = options["positions"], options["hours"]
    opened = open_named_evaluator(options, out)
    width, height = options["size"]
    asked = BookSettings(
        width,
        height,
        parse_rules(options["rules"]),
        network=opened.identity,
        seed=params.seed,
        search=tuple(sorted(options["settings"].items())),
        **{name: options[name] for name in ("komi", "visits", "at_once")},
    )
    with closing(opened.evaluator), claimed_run(out, BOOK), stopping() as stop, ProgressBar(sys.stderr, wanted) as bar:
        builder, size = Builder(opened.evaluator, params, asked, out), f"{asked.width}x{asked.height}"

        def report(done: int) -> None:
            left = None if hours is None else max(0.0, hours * SECONDS_PER_HOUR - builder.seconds)
            of = "" if wanted is None else f" of {wanted:,}"
            bar.update(size, done, left=left, line=f"{size}: {done:,}{of} positions")
            if stop.is_set():
                raise _Stopped

        has_more = True
        try:
            while (wanted is None or len(builder) < wanted) and (
                hours is None or builder.seconds < hours * SECONDS_PER_HOUR
            ):
                if not builder.step(report):
                    has_more = False
                    break
        except _Stopped:
            pass
        if len(builder):
            builder.write(out / BOOK_FILE)
            bar.print(f"{out / BOOK_FILE}: {len(builder)} positions")
        if not has_more:
            bar.print(
                "no position is left to search: at the end of each line the search passes or looks at no other move"
            )
        return INTERRUPTED if stop.is_set() else 0


class _Stopped(Exception):
    """The run was asked to stop."""


@book.command(cls=Command)
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@options_of("book solve")
def solve(out: Path, size: tuple[int, int], rules: str, plies: int, max_memory: int | None) -> None:
    """Solve a board of at most 25 points, and write the scores of positions with best play as a book.

    OUT is the book. Of boards of at most 9 points it has all positions, of those of at most 16 points the positions
    that occur if at least one side plays its best moves; positions whose score depends on what a ban on repetition
    forbids are left out. On larger boards Keima tries to prove that Black, who begins in the center, takes all points,
    and the book has his moves against all answers of White.
    """
    from engine.apps.book.small_board import MOST_POINTS
    from engine.rules import parse_rules
    from engine.support.files import require_writable

    is_small = size[0] * size[1] <= MOST_POINTS
    if is_small:
        refuse_given({"plies", "max_memory"}, f"is only for boards of more than {MOST_POINTS} points")
    require_writable(out)
    read_rules = parse_rules(rules)
    _require_no_other(out, size, read_rules)
    if is_small:
        _solve_by_rounds(out, size, read_rules)
    else:
        sys.exit(_prove_whole_board(out, size, read_rules, plies, max_memory))


def _require_no_other(out: Path, size: tuple[int, int], rules: "Rules") -> None:
    """Raise GoError if OUT is a file other than the book of an earlier solution of this board under these rules."""
    from engine.book.file import read_about
    from engine.errors import GoError
    from engine.rules import rules_text

    # Pipes, devices and empty files have nothing to lose.
    if not out.is_file() or not out.stat().st_size:
        return
    about = read_about(out)
    for expected, got in (
        ("exact values", "searches" if about.visits else "exact values"),
        (f"{size[0]}x{size[1]}", f"{about.width}x{about.height}"),
        (f"rules {rules_text(rules)}", f"rules {rules_text(about.rules)}"),
    ):
        if expected != got:
            raise GoError(f"{out}: would be overwritten: expected a book of {expected}, got one of {got}")


def _solve_by_rounds(out: Path, size: tuple[int, int], rules: "Rules") -> None:
    from engine.apps.book.exact import Exact, write_exact
    from engine.apps.book.rows import EMPTY_BOARD
    from engine.support.progress import ProgressBar

    name = f"{size[0]}x{size[1]}"
    with ProgressBar(sys.stderr) as bar:
        exact = Exact(*size, rules, lambda number, left: bar.update(f"{name}: round {number}, {left:,} scores changed"))
    low, high = exact.bounds_of(EMPTY_BOARD)
    if low == high:
        click.echo(f"{name}: Black {low:+d} without komi")
    else:
        click.echo(f"{name}: repetition decides; Black {low:+d} to {high:+d} without komi")
    write_exact(out, exact, rules)


def _prove_whole_board(out: Path, size: tuple[int, int], rules: "Rules", plies: int, max_memory: int | None) -> int:
    from engine.apps.book.proof_table import ENTRY_BYTES
    from engine.apps.book.whole_board import Progress, WholeBoard, write_whole_board
    from engine.support.progress import ProgressBar
    from engine.support.stopping import INTERRUPTED, stopping

    entries = None if max_memory is None else max_memory * 2**20 // ENTRY_BYTES
    name, board = f"{size[0]}x{size[1]}", WholeBoard(*size, rules, entries)
    with ProgressBar(sys.stderr) as bar, stopping() as stop:

        def report(progress: Progress) -> bool:
            done = f"{progress.refuted} of {progress.answers} answers of White refuted"
            bar.update(f"{name}: {done}, {progress.visits:,} positions", progress.refuted, progress.answers)
            return not stop.is_set()

        height = board.prove(report)
        if stop.is_set():
            return INTERRUPTED
    if height is None:
        click.echo(f"{name}: no proof that Black takes the whole board")
        return 1
    click.echo(f"{name}: Black {size[0] * size[1]:+d} without komi, decided after {height + 1} moves at most")
    write_whole_board(out, board, rules, plies)
    return 0


@book.command(cls=Command)
@click.argument("file", type=click.Path())
@click.argument("moves", nargs=-1)
@options_of("book show")
def show(file: str, moves: tuple[str, ...], most: int) -> None:
    """Show a position of a book: the board, its value, and the book's moves with winrate, points and visits.

    FILE is a book or the name of one that ships with Keima. MOVES lead to the position, Black's first: b4 c3.
    """
    from engine.apps.book.show import heading, moves_table, position, text
    from engine.book.book import Book
    from engine.support.tables import print_tables

    opened = Book.open(file)
    game = position(opened, moves)
    found = opened.find(game)
    click.echo(f"{heading(opened)}\n{text(game, found)}")
    if found is not None and found.moves:
        print_tables(sys.stdout, [moves_table(game, found._replace(moves=found.moves[:most]))])


@book.command(cls=Command, context_settings={"ignore_unknown_options": True})
@click.argument("file", type=click.Path())
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def use(ctx: click.Context, file: str, options: tuple[str, ...]) -> None:
    """Speak GTP and play from a book, in games of its size, rules and komi.

    OPTIONS are those of keima gtp, whose --size, --rules, --komi and --book come from the book.
    """
    from engine.book.book import Book

    about = Book.open(file).about
    for word in options:
        if word.partition("=")[0] in _OF_THE_BOOK:
            raise click.UsageError(f"{word}: the book decides this; keima book show names its size, rules and komi")
    words = ["--book", file, "--size", f"{about.width}x{about.height}", "--rules", about.rules.to_json()]
    program = ctx.find_root().command
    gtp = program.get_command(ctx, "gtp") if isinstance(program, click.Group) else None
    assert gtp is not None
    gtp.main([*words, "--komi", f"{about.komi:g}", *options], prog_name=f"{ctx.find_root().command_path} gtp")
