"""The steps of a generation, from the files of the run folder to its files.

    nets/gen-0000.safetensors ...   the first network, and the candidate of every generation
    samples/gen-0001/               its games and samples, see `engine.train.games.selfplay_store`
    train/                          the training run, see `engine.train.learning.train`
    gate.jsonl, ratings.jsonl, matches/   results, and their games

Torch is imported only for training.
"""

import math
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from engine.evaluation.evaluator import Evaluator
from engine.evaluators.factory import Computing, make_evaluator
from engine.rules import parse_rules
from engine.search.params import SearchParams, with_settings
from engine.support.files import whole_lines, write_atomically
from engine.train.data.samples import SUFFIX, shard_info
from engine.train.games.arena import ArenaPlayer, ArenaSettings, arena
from engine.train.games.selfplay import decisive_settings
from engine.train.games.selfplay_game import Effort
from engine.train.games.selfplay_settings import SelfplaySettings, of_sizes
from engine.train.games.selfplay_stats import SelfplayStats
from engine.train.games.selfplay_store import RECORDS
from engine.train.games.selfplay_workers import SelfplayWorkers
from engine.train.generations.adaptation import RESIGN_GENERATIONS, is_even, next_komi, records_of, resign_threshold
from engine.train.generations.gate import Gate, gate, needs_match, noted, read_gates, without_match, write_gate
from engine.train.generations.rating import by_size, is_rated, next_opponent, player_of, read_lines, write_line
from engine.train.generations.rating_matches import RatingMatches
from engine.train.generations.ray_selfplay import INBOX, Intake, computing_of
from engine.train.generations.ray_workers import RayWorkers
from engine.train.generations.zero import StepStatistics, Stopped
from engine.train.generations.zero_config import ZeroConfig
from engine.train.generations.zero_state import RunError, State, read_steps
from weights import native
from weights.registry import load
from weights.sized import packed, read_sized, write_sized

Show = Callable[[str], None]
"""Shows the current activity as a line of text."""
_WAIT_SECONDS = 0.5
_GATES = "gate.jsonl"
_WINNER = re.compile(r"RE\[([BW])\+")
# Not the inbox of games of a cluster, see `Intake`.
_SIZE_FOLDER = re.compile(r"\d+x\d+")
_MOVE = re.compile(r";\s*[BW]\[")
# In the summary of a game's efforts, see `SelfplayGame.summary`.
_DECIDED = f"{Effort.DECIDED.value}="
# Purposes of random numbers: each gets its own seed. The second one is that of the batches, in `training`.
_SELFPLAY, _, _GATE, _RATING = range(4)


class LocalSteps:
    """Performs the steps in this process; only self-play may run in the workers of a Ray cluster."""

    def __init__(
        self,
        folder: Path,
        config: ZeroConfig,
        stop: threading.Event,
        show: Show,
        hours: Callable[[], float],
        workers: SelfplayWorkers,
        ray_workers: RayWorkers | None = None,
    ) -> None:
        """folder: with the first network in it. hours: returns the run time. workers: play unless `ray_workers` do."""
        self._folder, self._config, self._stop = folder, config, stop
        self._show, self._hours, self._workers, self._ray_workers = show, hours, workers, ray_workers
        for name in ("nets", "samples", "matches"):
            (folder / name).mkdir(parents=True, exist_ok=True)

    def network(self, generation: int) -> Path:
        """Return the network file of a generation."""
        return network_file(self._folder, generation)

    def _games(self, generation: int) -> Path:
        return self._folder / "samples" / player_of(generation)

    def _seed(self, purpose: int, *numbers: int) -> int:
        """Return a different seed for each purpose and generation."""
        sequence = np.random.SeedSequence([self._config.run.seed, purpose, *numbers])
        return int(sequence.generate_state(1)[0])

    @contextmanager
    def _evaluator(self, generation: int) -> Iterator[Evaluator]:
        with closing(_open(self.network(generation), computing_of(self._config.evaluator))) as evaluator:
            yield evaluator

    def _check_stop(self) -> None:
        if self._stop.is_set():
            raise Stopped

    def selfplay(self, state: State) -> StepStatistics:
        """Play the games of a generation with the best network."""
        all_sizes, folder = self._settings(state.generation), self._games(state.generation)
        settings = of_sizes(all_sizes, self._config.sizes_at(state.generation))
        games = self._config.run.games_of(state.generation)
        seed = self._seed(_SELFPLAY, state.generation)
        if self._ray_workers is not None:
            figures = self._collect(self._ray_workers, state, games, seed)
        else:
            if (folder / INBOX).exists():
                # Takes in the games that a cluster had sent when the run was stopped.
                Intake(self._folder / "spool", folder, decisive_settings(settings, seed), settings.shard_samples)
            stats = self._workers.play(
                settings,
                partial(_open, self.network(state.best), computing_of(self._config.evaluator)),
                folder,
                games,
                seed,
                stop=self._stop,
                report=self._show_play,
                provenance={"network": player_of(state.best)},
            )
            if stats.done < games:
                raise Stopped
            figures = play_figures(stats) | {"komi": settings.mean_komi(settings.sizes[0])}
            figures |= {"komis": list(all_sizes.komis)} if settings.komis else {}
            figures |= {"resign_threshold": settings.resign_threshold} if self._config.run.resign_false_rate else {}
        return {"games": games, "samples": samples_in(folder), **game_figures(folder), **figures}

    def _settings(self, generation: int) -> SelfplaySettings:
        """Return the self-play settings of a generation, of all sizes, adapted to the games of those before."""
        run, settings = self._config.run, self._config.selfplay
        lines = [line for line in read_steps(self._folder / "steps.jsonl") if line["step"] == "selfplay"]
        last = next((line for line in lines if line["generation"] == generation - 1), {})
        if run.komi_gain:
            most = settings.mean_komi(settings.sizes[0])
            settings = replace(settings, komi=run.next_komi(last.get("komi"), last.get("black_win_rate"), most))
        if run.fair_komi_rate:
            komis = last.get("komis") or [settings.mean_komi(side) for side in settings.sizes]
            records = records_of([self._games(generation - 1)])
            sizes = zip(komis, settings.sizes, strict=True)
            fair = tuple(next_komi(komi, records, side, run.fair_komi_rate) for komi, side in sizes)
            settings = replace(settings, komis=fair)
        if run.fork_share and generation > 1:
            forks = (str(self._games(generation - 1) / RECORDS),)
            settings = replace(settings, forks=forks, fork_share=run.fork_share)
        if run.resign_false_rate:
            counted = range(max(1, generation - RESIGN_GENERATIONS), generation)
            records = records_of(self._games(each) for each in counted)
            threshold = resign_threshold(records, run.resign_false_rate, settings.resign_threshold)
            settings = replace(settings, resign_threshold=threshold, notes_winrates=True)
        return settings

    def _show_play(self, stats: SelfplayStats) -> None:
        self._show(stats.progress())

    def _collect(self, ray_workers: RayWorkers, state: State, games: int, seed: int) -> StepStatistics:
        """Let the workers of a cluster play with the best network, and collect games until there are enough."""
        settings = self._config.selfplay
        ray_workers.check()
        ray_workers.publish(packed(self.network(state.best)), state.best)
        folder = self._games(state.generation)
        intake = Intake(self._folder / "spool", folder, decisive_settings(settings, seed), settings.shard_samples)
        # By promotions: however many candidates the gate has refused, games of the best network are new.
        played = [0, *(line["candidate"] for line in read_gates(self._folder / _GATES) if line["promoted"])]
        played = [generation for generation in played if generation <= state.best]
        begun, oldest = intake.games, played[-1 - self._config.cluster.max_age :][0]
        while intake.games < games:
            ray_workers.check()
            self._check_stop()
            if not intake.take(games - intake.games, oldest):
                time.sleep(_WAIT_SECONDS)
            self._show(f"{intake.games} of {games} games, {ray_workers.size} workers")
        intake.finish()
        return {
            "sitting_games": intake.games - begun,
            "sitting_samples": intake.samples,
            "workers": ray_workers.size,
            "stale": intake.stale,
            "began_with": {str(each): count for each, count in sorted(intake.generations.items())},
        }

    def train(self, state: State) -> StepStatistics:
        """Train on a number of samples in proportion to the generation's new ones, and store the candidate."""
        from engine.train.generations.trainers import together
        from engine.train.generations.training import begun_at, check_device, train_until, trainers_of
        from engine.train.learning.run_folder import NET_FILE
        from engine.train.learning.train import Progress

        run, world = self._folder / "train", trainers_of(self._config)
        target = self._steps_before(state.generation) + self._steps_of(state.generation, world)
        if not target:
            raise RunError(
                f"generation {state.generation} has no samples: begin another run with selfplay.full_share or "
                "selfplay.quick_weight above 0, or with more games"
            )
        begun = begun_at(run)
        figures: dict[str, Any] = {}

        def show(progress: Progress) -> None:
            figures.update(progress.figures)
            self._show(replace(progress, steps=target).text)

        if begun < target:
            # The step counts over all generations, so the optimizer and the schedule continue from the last one.
            work = partial(train_until, self._folder, self._config, target, world)
            with together(world, partial(check_device, self._config), work):
                result = work(report=show, stop=self._stop)
            figures.update(result.figures)
            if result.step < target:
                raise Stopped
        spec = native.read(run / NET_FILE)
        name, file = player_of(state.generation), self.network(state.generation)
        write_sized(file, name, read_sized(run / NET_FILE, spec.name))
        native.write(replace(spec, name=name), file)
        losses: dict[str, Any] = {
            name: round(figures[name], 5) for name in ("loss", "policy", "value") if name in figures
        }
        # With more processes than before, a generation needs fewer steps than it may have made already.
        reached = max(target, begun)
        samples = (reached - begun) * self._config.train.batch_size * world
        return {"steps": reached, "sitting_samples": samples, **losses}

    def _steps_before(self, generation: int) -> int:
        """Return the training step at which a generation starts."""
        lines = [line for line in read_steps(self._folder / "steps.jsonl") if line["step"] == "train"]
        return max((line["steps"] for line in lines if line["generation"] < generation), default=0)

    def _steps_of(self, generation: int, world: int) -> int:
        samples = samples_in(self._games(generation))
        return math.ceil(self._config.run.reuse * samples / (self._config.train.batch_size * world))

    def _params(self) -> SearchParams:
        return with_settings(SearchParams(), dict(self._config.selfplay.search))

    def _arena(self, seed: int, side: int) -> ArenaSettings:
        """Return the settings of matches on a board of a side, with the first area rules of self-play."""
        play = self._config.selfplay
        rules = next((each for each in play.rules if parse_rules(each).is_area), ArenaSettings.rules)
        return ArenaSettings(side, rules, play.komi, games_at_once=play.games_at_once, longest=play.longest, seed=seed)

    def gate(self, state: State) -> Gate:
        """Play the candidate against the best network, unless no match is needed or it has been played."""
        path, settings = self._folder / _GATES, self._config.gate
        # Already there if the run was killed between this line and the next state.
        for line in read_gates(path):
            if line["candidate"] == state.generation:
                return Gate(**{name: line[name] for name in Gate.__dataclass_fields__})
        start = time.monotonic()
        if needs_match(state.generation, settings):
            outcome = self._match(state)
        else:
            outcome = without_match(state.generation, state.best)
        write_gate(path, outcome, seconds=round(time.monotonic() - start, 3))
        return outcome

    def _match(self, state: State) -> Gate:
        settings, records = self._config.gate, list[str]()
        with self._evaluator(state.generation) as new, self._evaluator(state.best) as old:
            name = player_of(state.generation)
            candidate = ArenaPlayer(new, settings.visits, self._params(), name)
            best = ArenaPlayer(old, settings.visits, self._params(), player_of(state.best))
            side = self._config.sizes_at(state.generation)[0]
            games = arena(self._arena(self._seed(_GATE, state.generation), side), candidate, best, settings.games)
            with closing(games):
                outcome = gate(
                    state.generation,
                    state.best,
                    noted(games, records, self._check_stop),
                    settings,
                    lambda current: self._show(str(current)),
                )
        self._keep(f"gate-{name}", records)
        return outcome

    def _keep(self, name: str, records: list[str]) -> None:
        write_atomically(self._folder / "matches" / f"{name}.sgfl", "".join(f"{record}\n" for record in records))

    def rate(self, state: State) -> StepStatistics:
        """Play the newest generation against earlier ones and fixed opponents, if it is due."""
        settings, path = self._config.rating, self._folder / "ratings.jsonl"
        if not is_rated(state.generation, settings):
            return {}
        matches = RatingMatches(
            self._folder,
            self._config,
            self._params(),
            self.network,
            self._evaluator,
            self._hours,
            partial(noted, check=self._check_stop),
            self._stop.is_set,
        )
        played = 0
        for side in self._config.rated_sizes(state.generation):
            board = f"{side}x{side}"
            while (opponent := self._opponent(state.generation, side, path)) is not None:
                self._check_stop()
                self._show(f"{player_of(state.generation)} against {opponent} on {board}")
                how = self._arena(self._seed(_RATING, state.generation, side, *opponent.encode()), side)
                line, records = matches.play(state.generation, opponent, how)
                if records:
                    self._keep(f"{line.first}-{line.second}-{board}", records)
                write_line(path, line)
                played += line.games
        return {"games": played}

    def _opponent(self, generation: int, side: int, path: Path) -> str | None:
        """Return the next opponent of a generation on a board, None if its rating there is complete."""
        lines = by_size(read_lines(path), self._config.selfplay.sizes[0]).get(side, [])
        return next_opponent(generation, lines, self._config.rating)


def _open(file: Path, computing: Computing, threads: int | None = None) -> Evaluator:
    """Open an evaluator for a network file. threads: override those of `computing`."""
    return make_evaluator(load(file), computing if threads is None else replace(computing, threads=threads), file)


def network_file(folder: Path, generation: int) -> Path:
    """Return the network file of a generation in a run folder."""
    return folder / "nets" / (player_of(generation) + SUFFIX)


def play_figures(stats: SelfplayStats) -> dict[str, Any]:
    """Return the statistics of self-play that are recorded; they cover only the current session."""
    figures = stats.to_json()
    kept = ("games", "samples", "evaluations", "busy_share", "would_resign", "false_resign_rate")
    return {f"sitting_{name}": figures[name] for name in kept}


def game_figures(folder: Path) -> dict[str, float | None]:
    """Return statistics of a generation's games over all sessions, each None without such games.

    black_win_rate: Black's share of the even games with a winner. mean_length: moves, passes included.
    decided_share: of games that were played out quickly, because a side would have resigned.
    """
    records = whole_lines(folder / RECORDS)
    winners = [match[1] for record in records if is_even(record) and (match := _WINNER.search(record))]
    return {
        "black_win_rate": round(winners.count("B") / len(winners), 4) if winners else None,
        "mean_length": round(mean(len(_MOVE.findall(record)) for record in records), 2) if records else None,
        "decided_share": round(mean(_DECIDED in record for record in records), 4) if records else None,
    }


def samples_in(folder: Path) -> int:
    """Return the number of samples in the shards of a generation."""
    files = (path for path in folder.glob(f"*x*/*{SUFFIX}") if _SIZE_FOLDER.fullmatch(path.parent.name))
    return sum(shard_info(path).count for path in files)
