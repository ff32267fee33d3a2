"""Summarizes the answers of a run: shares solved with intervals, by kind and rank, as tables and as JSON."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.apps.solve.problems import UNKNOWN, rank_order
from engine.apps.solve.settings import SolveSettings
from engine.apps.solve.solver import Answer
from engine.support.elo import Interval, wilson_interval

if TYPE_CHECKING:
    from rich.table import Table

ALL = "all"
_STONES_STEP = 10


@dataclass(frozen=True)
class Row:
    """A group of problems. solved: the share at each number of visits, with its Wilson 95 % interval."""

    label: str
    problems: int
    solved: tuple[Interval, ...]


@dataclass(frozen=True)
class Grouping:
    """The problems of a run, grouped by one of their properties."""

    title: str
    rows: tuple[Row, ...]


def total(answers: Sequence[Answer]) -> Row:
    """Return the row of all answers. There must be at least one."""
    return _row(ALL, answers)


def groupings(answers: Sequence[Answer]) -> list[Grouping]:
    """Group the answers by kind and by rank; if no problem has either, by number of stones and side to move."""
    found = []
    if any(answer.kind for answer in answers):
        found.append(_grouping("kind", answers, lambda answer: answer.kind, lambda kind: (kind == UNKNOWN, kind)))
    if any(answer.rank for answer in answers):
        found.append(_grouping("rank", answers, lambda answer: answer.rank, rank_order))
    if not found:
        found.append(_grouping("stones", answers, _stones_class, lambda label: int(label.split()[0])))
        found.append(_grouping("to play", answers, lambda answer: answer.to_play, str))
    return found


def rank_bands(answers: Sequence[Answer]) -> Grouping:
    """Group the answers with a known rank into five bands of ranks, for plots: one line per rank would be too many."""
    known = [answer for answer in answers if rank_order(answer.rank) < rank_order(UNKNOWN)]
    return _grouping("rank", known, lambda answer: _BANDS[_band(answer.rank)], _BANDS.index)


_BANDS = ["10k and below", "9k to 5k", "4k to 1k", "1d to 3d", "4d and above"]
_BAND_ENDS = ["10k", "5k", "1k", "3d"]


def _band(rank: str) -> int:
    return sum(rank_order(rank) > rank_order(end) for end in _BAND_ENDS)


def _stones_class(answer: Answer) -> str:
    low = answer.stones // _STONES_STEP * _STONES_STEP
    return f"{low} to {low + _STONES_STEP - 1}"


def _grouping(
    title: str, answers: Iterable[Answer], label: Callable[[Answer], str], order: Callable[[str], Any]
) -> Grouping:
    groups: dict[str, list[Answer]] = {}
    for answer in answers:
        groups.setdefault(label(answer), []).append(answer)
    return Grouping(title, tuple(_row(name or "unknown", groups[name]) for name in sorted(groups, key=order)))


def _row(label: str, answers: Sequence[Answer]) -> Row:
    solved = tuple(
        wilson_interval(sum(answer.solved[place] for answer in answers), len(answers))
        for place in range(len(answers[0].visits))
    )
    return Row(label, len(answers), solved)


def progress_text(answers: Sequence[Answer], wanted: int) -> str:
    """Return the results so far in one line."""
    if not answers:
        return f"0/{wanted} problems"
    shares = zip(answers[0].visits, total(answers).solved, strict=True)
    return f"{len(answers)}/{wanted} problems: " + ", ".join(
        f"{share.value:.1%} at {visits}" for visits, share in shares
    )


def summary(answers: Sequence[Answer], settings: SolveSettings) -> dict[str, Any]:
    """Return the content of summary.json: settings, and shares in [0, 1] as [value, low, high] by visits."""

    def entry(row: Row) -> dict[str, Any]:
        shares = zip(settings.visits, row.solved, strict=True)
        return {"problems": row.problems, "solved": {str(visits): list(share) for visits, share in shares}}

    proofs = {
        "wins": sum(answer.proof_wins for answer in answers),
        "correct": sum(answer.proof_solves for answer in answers),
        "fails": sum(bool(answer.proof) and not answer.proof_wins for answer in answers),
    }
    return {
        "settings": settings.to_json(),
        "seconds": round(sum(answer.seconds for answer in answers), 1),
        **({"proofs": proofs} if settings.prove else {}),
        ALL: entry(total(answers)) if answers else {"problems": 0, "solved": {}},
        **{f"by {each.title}": {row.label: entry(row) for row in each.rows} for each in groupings(answers)},
    }


def proofs_text(answers: Sequence[Answer]) -> str:
    """Return in a line how many problems were proved, and by how many correct moves."""
    wins = [answer for answer in answers if answer.proof_wins]
    lost = sum(bool(answer.proof) and not answer.proof_wins for answer in answers)
    right = sum(answer.proof_solves for answer in wins)
    return (
        f"Proved: {len(wins)} of {len(answers)} problems, {right} of them by a correct first move; "
        f"in {lost} more it was proved that the side to move fails."
    )


def tables(answers: Sequence[Answer], title: str) -> "list[Table]":
    """Return a table for each grouping; its last row has all problems."""
    from rich.table import Table

    found = []
    for grouping in groupings(answers):
        table = Table(title=title)
        table.add_column(grouping.title)
        table.add_column("problems", justify="right")
        for visits in answers[0].visits:
            table.add_column(f"{visits} visit{'s' if visits > 1 else ''}", justify="right")
        for row in grouping.rows:
            table.add_row(*_cells(row))
        table.add_section()
        table.add_row(*_cells(total(answers)))
        found.append(table)
    return found


def _cells(row: Row) -> list[str]:
    shares = [f"{100 * each.value:.1f} % [{100 * each.low:.1f}, {100 * each.high:.1f}]" for each in row.solved]
    return [row.label, str(row.problems), *shares]
