"""Reports of a run of `keima zero`: tables for a terminal, and report.md in the run folder.

Reads the files of the run folder and writes nothing but the report.
"""

from typing import TYPE_CHECKING, Any

from engine.support.files import write_atomically
from engine.train.generations.rating import curve, generation_of, origin, player_of, ratings
from engine.train.generations.zero_progress import (
    Progress,
    by_generation,
    hours_each,
    hours_left,
    learned,
    on_board,
    rate,
    warnings,
)
from engine.train.generations.zero_state import STEPS
from engine.train.run_status import Sheet, headline, moved, until

if TYPE_CHECKING:
    from rich.table import Table

# Number of generations shown on a terminal.
_NEWEST = 12


def sheets(progress: Progress, newest: int | None = None) -> list[Sheet]:
    """Return the tables of totals, of generations (only the `newest`, None for all), and of fixed opponents."""
    return [_totals(progress), _generations(progress, newest), *_opponents(progress)]


def status(progress: Progress) -> list["str | Table"]:
    """Return what a terminal shows: a headline, the tables with only the newest generations, and warnings."""
    folder = progress.folder
    first = headline(folder, f"keima zero {folder}", complete=progress.complete, heartbeat=folder / "clock.json")
    shown: list[str | Table] = [first, *(sheet.table() for sheet in sheets(progress, _NEWEST))]
    return shown + [f"Warning: {text}." for text in warnings(progress)]


def write_report(progress: Progress, title: str) -> None:
    """Write report.md."""
    parts = [f"# {title}\n", *(sheet.markdown() for sheet in sheets(progress))]
    parts += [f"- Warning: {text}.\n" for text in warnings(progress)]
    write_atomically(progress.folder / "report.md", "\n".join(parts))


_RATES = (
    ("games/s", "selfplay", "sitting_games"),
    ("evaluations/s", "selfplay", "sitting_evaluations"),
    ("new samples/s", "selfplay", "sitting_samples"),
    ("trained samples/s", "train", "sitting_samples"),
)


def _totals(progress: Progress) -> Sheet:
    # Of a complete run nothing is under way.
    rows = [*([] if progress.complete else [("now", _now(progress))]), *_time(progress)]
    if progress.config is not None and progress.config.run.net:
        rows.append(("began with", progress.config.run.net))
    for figure in ("games", "samples"):
        count = sum(line.get(figure, 0) for line in progress.lines("selfplay"))
        rows.append((figure, f"{count:,}"))
    for name, step, figure in _RATES:
        value = rate(progress.steps, step, figure)
        if value is not None:
            rows.append((name, f"{value:,.2f}" if value < 100 else f"{value:,.0f}"))
    return Sheet("Run", ("what", "how much"), (*rows, *_games(progress), *_learning(progress), *_strength(progress)))


def _now(progress: Progress) -> str:
    """Return the next step, how far it is, and who plays."""
    state, config = progress.state, progress.config
    text = f"{state.step} of generation {state.generation}"
    if state.step == "selfplay" and config is not None:
        text += f", {progress.finished:,} of {config.run.games_of(state.generation):,} games"
    return f"{text}; generation {state.best} plays"


def _time(progress: Progress) -> list[tuple[str, str]]:
    """Return the hours so far, and those left."""
    total, left, each = progress.hours, hours_left(progress), hours_each(progress)
    rows = [("hours", f"{total:.2f}")]
    if total:
        shares = ", ".join(f"{step} {progress.seconds[step] / total / 36:.0f} %" for step in STEPS)
        rows.append(("of which", shares))
    if each is not None:
        rows.append(("hours a generation", f"{each:.2f}" if each >= 0.1 else f"{each:.4f}"))
    # 0 while a generation takes longer than those before it: nothing is known then.
    if left and not progress.complete:
        rows.append(("left", until(3600 * left)))
    return rows


def _games(progress: Progress) -> list[tuple[str, str]]:
    """Return how the games of the newest generation went."""
    lines, rows = progress.lines("selfplay"), list[tuple[str, str]]()
    lengths = [line["mean_length"] for line in lines if line.get("mean_length") is not None]
    if lengths:
        rows.append(("game length", moved(lengths, 1, " moves")))
    last = lines[-1] if lines else {}
    if last.get("decided_share") is not None:
        wrong = last.get("sitting_false_resign_rate")
        note = "" if wrong is None else f", wrong {wrong:.1%} of {last['sitting_would_resign']}"
        rows.append(("resignations", f"{last['decided_share']:.1%}{note}"))
    if last.get("black_win_rate") is not None:
        rows.append(("Black won", f"{last['black_win_rate']:.1%}{_komi_text(progress, last)}"))
    return rows


def _komi_text(progress: Progress, line: dict[str, Any]) -> str:
    """Return the mean komi of a generation's games, or of those on each board."""
    config = progress.config
    if config is not None and line.get("komis") and len(boards := config.sizes_at(line["generation"])) > 1:
        komis = dict(zip(config.selfplay.sizes, line["komis"], strict=True))
        return ", mean komi " + ", ".join(f"{komis[side]:.1f}{on_board(side, boards)}" for side in boards)
    return "" if line.get("komi") is None else f", mean komi {line['komi']:.1f}"


_METRICS = (("loss", "loss"), ("policy loss", "policy"), ("value loss", "value"), ("policy entropy", "entropy"))


def _learning(progress: Progress) -> list[tuple[str, str]]:
    """Return the losses of the newest generation, and how they moved."""
    lines = learned(progress)
    values = [(name, list(by_generation(lines, key).values())) for name, key in _METRICS]
    return [(name, moved(each)) for name, each in values if each]


def _strength(progress: Progress) -> list[tuple[str, str]]:
    """Return the newest rating on each board, and the last gate that was played."""
    rows, boards = list[tuple[str, str]](), progress.matches_by_size
    for side, matches in boards.items():
        points = curve(matches)
        if len(points) > 1:
            before, now = points[-2:]
            text = f"{now.rating.elo:+.0f} ({now.rating.low:+.0f} to {now.rating.high:+.0f}) for generation "
            text += f"{now.generation}, {now.rating.elo - before.rating.elo:+.0f} since {before.generation}"
            rows.append((f"Elo above {origin(matches)}{on_board(side, boards)}", text))
    played = [gate for gate in progress.gates if gate["games"]]
    if played:
        rows.append(("last gate", f"generation {played[-1]['candidate']}: {_gate_text(played[-1])}"))
    return rows


def _generations(progress: Progress, newest: int | None) -> Sheet:
    lines: dict[int, dict[str, dict[str, Any]]] = {}
    for line in progress.steps:
        lines.setdefault(line["generation"], {})[line["step"]] = line
    gates = {line["candidate"]: line for line in progress.gates}
    losses, boards = by_generation(learned(progress), "loss"), progress.matches_by_size
    fitted = [ratings(matches) for matches in boards.values()] or [{}]
    columns = [f"Elo{on_board(side, boards)}" for side in boards] or ["Elo"]
    rows = []
    for generation in sorted(lines)[-newest if newest else None :]:
        steps = lines[generation]
        played, trained = steps.get("selfplay", {}), steps.get("train", {})
        loss = losses.get(generation, trained.get("loss"))
        found = [each.get(player_of(generation)) for each in fitted]
        rows.append(
            (
                str(generation),
                f"{max(line['hours'] for line in steps.values()):.2f}",
                _count(played.get("games")),
                _count(played.get("samples")),
                "" if loss is None else f"{loss:.4f}",
                _gate_text(gates.get(generation)),
                *("" if rating is None else f"{rating.elo:+.0f}" for rating in found),
            )
        )
    return Sheet("Generations", ("generation", "hours", "games", "samples", "loss", "gate", *columns), tuple(rows))


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _gate_text(line: dict[str, Any] | None) -> str:
    if line is None or line["ended"] == "no gate":
        return ""
    share, low, high = (100 * value for value in line["share"])
    return f"{share:.0f} % of {line['games']} ({low:.0f}-{high:.0f}) {'yes' if line['promoted'] else 'no'}"


def _opponents(progress: Progress) -> list[Sheet]:
    """Return a table of fixed opponents with the latest result against each, for each board on which there are any."""
    found, boards = list[Sheet](), progress.matches_by_size
    for side, matches in boards.items():
        fitted, rows = ratings(matches), list[tuple[str, ...]]()
        for opponent, line in {line.second: line for line in matches if generation_of(line.second) is None}.items():
            result = line.skipped or f"+{line.wins} -{line.losses} ={line.draws}"
            elo = f"{fitted[opponent].elo:+.0f}" if opponent in fitted else ""
            rows.append((opponent, line.first, result, elo))
        title = f"Fixed opponents{on_board(side, boards)} (Elo above {origin(matches)})"
        found += [Sheet(title, ("opponent", "met last by", "result", "Elo"), tuple(rows))] if rows else []
    return found
