"""The report of `keima learn`: a page of text and a picture, of the test games before and after."""

import math
import shlex
from pathlib import Path

from engine.support.plots import new_figure, png
from engine.train.data.accuracy import Means
from engine.train.fine_tuning.learn import WHOLE_FROM_GAMES, Learned
from engine.train.learning.metrics import read_metrics

_QUANTILE = 1.96


def verdict(learned: Learned) -> str:
    """Return in a sentence whether the new network is the better one for these games."""
    before, after = learned.before.total, learned.after.total
    shares = f"{after.top_1:.1%} of the moves of {learned.after.games} test games, {before.top_1:.1%} before"
    losses = f"policy loss {after.policy_loss:.3f}, {before.policy_loss:.3f} before"
    if after.policy_loss >= before.policy_loss:
        return f"The new network does not predict these players better ({shares}; {losses}): keep the one you have."
    if after.top_1 < before.top_1:
        return f"The new network predicts these players about as well as before ({shares}; {losses})."
    return f"The new network predicts these players better: {shares} ({losses})."


def report_text(learned: Learned, name: str) -> str:
    """Return the report in Markdown. name: of the folder of games."""
    games, before, after = learned.games, learned.before, learned.after
    part = "the heads alone were" if learned.freeze == "trunk" else "the whole network was"
    lines = [
        f"# What {before.network} learned from {name}",
        "",
        verdict(learned),
        "",
        "| on the test games | before | after |",
        "|---|---|---|",
        *(f"| {label} | {_cell(before.total, key)} | {_cell(after.total, key)} |" for label, key in _ROWS),
        "",
        f"- Learned from {learned.played:,} games, {learned.positions:,} positions, in {learned.steps:,} steps; "
        f"{part} trained (from {WHOLE_FROM_GAMES:,} games on, the whole network).",
        f"- Tested on {after.games:,} games, {after.total.positions:,} positions, of which it saw none.",
    ]
    if not learned.finished:
        lines.append("- The time limit ended the training before its last step.")
    if games.repeated:
        lines.append(f"- Records left out because they have the same moves as another, or none: {games.repeated:,}.")
    if games.unranked:
        lines.append(f"- Records left out because they do not have the players' ranks: {games.unranked:,}.")
    if (unplayed := len(games.training) - learned.played) > 0:
        lines.append(f"- Records left out because their moves cannot be played: {unplayed:,}.")
    lines += [f"- Left out: {message}" for message in games.unreadable[:10]]
    if len(games.unreadable) > 10:
        lines.append(f"- {len(games.unreadable) - 10:,} more that cannot be read.")
    network = shlex.quote(str(learned.network))
    whom = " --human-profile rank_5k" if learned.imitates else ""
    lines += [
        "",
        f"Play with it: `keima --net {network}{whom}`. Better predictions of these moves are no proof of "
        f"stronger play: `keima train gate {network} OTHER` plays a match.",
        "",
        "![accuracy by move, and loss](report.png)",
        "",
    ]
    return "\n".join(lines)


_ROWS = (
    ("most likely move was played", "top_1"),
    ("among the five most likely", "top_5"),
    ("policy loss, nats", "policy_loss"),
    ("value loss, nats", "value_loss"),
    ("winner favored", "value_right"),
    ("score error, points", "score_error"),
)
_SHARES = ("top_1", "top_5", "value_right")


def _cell(figures: Means, key: str) -> str:
    value = getattr(figures, key)
    if math.isnan(value):
        return "not known"
    if key not in _SHARES:
        return f"{value:.3f}"
    count = figures.valued if key == "value_right" else figures.positions
    # Positions of one game are alike, so the true interval of value_right is wider.
    half = _QUANTILE * math.sqrt(value * (1 - value) / count)
    return f"{value:.1%} ± {half:.1%}" if key != "value_right" else f"{value:.1%}"


def report_picture(learned: Learned, run: Path) -> bytes:
    """Return a PNG: accuracy by move before and after, and the loss of the training. Raises NoMatplotlib."""
    figure = new_figure(10.0, 4.0)
    left, right = figure.subplots(1, 2)
    for label, accuracy, marker in (("before", learned.before, "s"), ("after", learned.after, "o")):
        rows = accuracy.by_ply
        left.plot([each.label for each in rows], [100 * each.top_1 for each in rows], marker=marker, label=label)
    left.set_xlabel("move")
    left.set_ylabel("most likely move was played, %")
    left.set_ylim(bottom=0)
    left.tick_params(axis="x", rotation=45)
    left.grid(alpha=0.3)
    left.legend()
    lines = read_metrics(run)
    right.plot([line["step"] for line in lines], [line["loss"] for line in lines])
    right.set_xlabel("step")
    right.set_ylabel("loss on the games it learns from")
    right.grid(alpha=0.3)
    return png(figure)
