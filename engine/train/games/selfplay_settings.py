"""The settings of self-play, with the source of each default.

KataGo: Wu, "Accelerating self-play learning in Go" (2019), and the configurations of its later runs
(cpp/configs/training, docs/KataGoMethods.md). AGZ: Silver et al., "Mastering the game of Go without human
knowledge" (2017).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from engine.errors import BadRules, GoError
from engine.rules import MOST_KOMI, parse_rules
from engine.search.params import SearchParams, with_settings
from engine.train.teaching.hints import ExplorationSettings

FAIR_KOMI = {4: 2.0, 5: 25.0, 6: 4.0, 7: 9.0, 8: 10.0, 9: 7.0}
"""Fair komi by board side under area rules, where perfect play is known or strong programs agree."""
_FAIR_ELSEWHERE = 7.0
_FULL_SIDE = 19
_SHARES = (
    "full_share",
    "quick_weight",
    "noise_fraction",
    "resign_threshold",
    "no_resign_share",
    "komi_wide_share",
    "starts_share",
)

# Search parameters that self-play controls, and the settings that control them.
_OF_SELFPLAY = {
    "noise_fraction": "noise_fraction",
    "noise_concentration": "noise_concentration",
    "forced_playouts": "forced_playouts",
    "root_policy_temperature": "root_temperature",
    "temperature": "temperature",
    "temperature_moves": "temperature_moves",
    "resign_threshold": "resign_threshold",
    "resign_turns": "resign_turns",
}


@dataclass(frozen=True)
class SelfplaySettings:
    """How games are played and recorded.

    sizes, size_weights: board sides and their relative frequencies; without weights, all are equally frequent.
    rules: rule sets by name or as JSON, equally frequent; they must score area.
    games_at_once: of one board size and rule set in each process; their leaves fill a batch.
    batches: number of groups of games; one group's batch is filled while those of the others are evaluated. 0 for as
        many as keep the evaluator busy. With 1, results are bit-identical on all machines of a kind.
    leaves: leaves of one game in a batch; more than one needs virtual losses.
    turns: moves per game after which another board size is played for a while.

    full_visits, quick_visits, full_share: playout-cap randomization (KataGo 3.1: 600 and 100, later 1000 and 200;
        a quarter of the moves). A share of 1 searches every move fully (AGZ: 1600).
    quick_weight: weight of quick searches' positions in all targets but the policy (KataGo: 0, not recorded).
    search: parameters of `engine.search.params` that differ from the defaults.
    noise_fraction, noise_concentration: Dirichlet noise at the root of full searches (AGZ: 0.25, 0.03 * 361 over the
        legal moves).
    forced_playouts: k of forced playouts in full searches (KataGo 3.2: 2); 0 for none.
    root_temperature, root_temperature_end: of the root's policy in full searches, early and late (KataGo: 1.25, 1.1).
    temperature, temperature_end, temperature_halflife: of the choice of moves; it approaches the end value with this
        halflife in moves on 19x19, and in proportion to the side on other boards (KataGo: 0.8 to 0.2; 19). The root's
        policy has the same halflife.
    temperature_moves: moves after which the temperature is 0 (AGZ: 30); 0 for never.
    tempers_targets: whether a move's temperature also applies to its policy target (AGZ); else the target has 1.
    reuses_trees: whether a search continues the tree of the one before.

    opening_share: mean number of opening moves drawn from the policy without a search, as a share of the board's
        points (KataGo: 0.04, exponentially distributed). opening_temperature: of that policy.
    starts: record files, folders of them, or files with one record per line, from whose positions games start with
        probability starts_share.
    komi: the mean; None for a fair one, see FAIR_KOMI. komi_stdev: around it, in points (KataGo: 1).
        komi_wide_share, komi_wide_stdev: share of games with a komi far from fair, and its deviation on 19x19, in
        proportion to the side on other boards (KataGo: 0.06, 12). Komi is rounded to half points.
    exploration: moves chosen at random or by an adviser, see `engine.train.teaching.hints`.

    resign_threshold, resign_turns: a side resigns after this many own turns in a row with a winrate below the
        threshold (AGZ: 0.05); 0 never resigns. resign_from: share of the board's points that must have been played.
    no_resign_share: share of games that are played on, to measure false resignations (AGZ: 0.1).
    ends_settled: whether a game ends when every point is pass-alive territory (KataGo).
    avoids_settled: whether to exclude moves in pass-alive territory, which gain nothing (KataGo).
    longest: maximum moves of a game, as a multiple of the board's points; then it is counted as it stands.

    encoder: of the samples; must be that of the network to be trained. shard_samples: samples per file.
    """

    sizes: tuple[int, ...] = (9,)
    size_weights: tuple[float, ...] = ()
    rules: tuple[str, ...] = ("tromp-taylor",)
    games_at_once: int = 64
    batches: int = 0
    leaves: int = 1
    turns: int = 16

    full_visits: int = 600
    quick_visits: int = 100
    full_share: float = 0.25
    quick_weight: float = 0.0
    search: Mapping[str, str] = field(default_factory=dict)
    noise_fraction: float = 0.25
    noise_concentration: float = 10.83
    forced_playouts: float = 2.0
    root_temperature: float = 1.25
    root_temperature_end: float = 1.1
    temperature: float = 0.8
    temperature_end: float = 0.2
    temperature_halflife: float = 19.0
    temperature_moves: int = 0
    tempers_targets: bool = False
    reuses_trees: bool = True

    opening_share: float = 0.04
    opening_temperature: float = 1.0
    starts: tuple[str, ...] = ()
    starts_share: float = 0.0
    komi: float | None = None
    komi_stdev: float = 1.0
    komi_wide_share: float = 0.06
    komi_wide_stdev: float = 12.0
    exploration: ExplorationSettings = field(default_factory=ExplorationSettings)

    resign_threshold: float = 0.05
    resign_turns: int = 3
    resign_from: float = 0.25
    no_resign_share: float = 0.1
    ends_settled: bool = True
    avoids_settled: bool = True
    longest: float = 3.0

    encoder: str = "katago-v7"
    shard_samples: int = 4096

    def __post_init__(self) -> None:
        """Raise ValueError with the field's name on a value out of range."""
        _require_finite(self)
        for name in (
            "games_at_once",
            "leaves",
            "turns",
            "full_visits",
            "quick_visits",
            "resign_turns",
            "shard_samples",
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: expected 1 or more, got {getattr(self, name)}")
        for name in _SHARES:
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name}: expected 0 to 1, got {getattr(self, name)}")
        for name in (
            "root_temperature",
            "root_temperature_end",
            "temperature_halflife",
            "opening_temperature",
            "longest",
        ):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"{name}: expected more than 0, got {getattr(self, name)}")
        for name in (
            "batches",
            "forced_playouts",
            "temperature",
            "temperature_end",
            "temperature_moves",
            "opening_share",
            "komi_stdev",
            "komi_wide_stdev",
            "resign_from",
        ):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}: expected 0 or more, got {getattr(self, name)}")
        if not self.sizes or not all(2 <= size <= 25 for size in self.sizes):
            raise ValueError(f"sizes: expected sides from 2 to 25, got {list(self.sizes)}")
        if self.size_weights and (len(self.size_weights) != len(self.sizes) or min(self.size_weights) < 0):
            raise ValueError(f"size_weights: expected {len(self.sizes)} of them, 0 or more, got {self.size_weights}")
        if self.size_weights and not any(self.size_weights):
            raise ValueError("size_weights: expected one above 0")
        self._check_rules()
        self._check_search()
        if self.starts_share > 0 and not self.starts:
            raise ValueError("starts_share: expected records in starts")

    def _check_rules(self) -> None:
        if self.komi is not None and abs(self.komi) > MOST_KOMI:
            raise ValueError(f"komi: expected {-MOST_KOMI:g} to {MOST_KOMI:g}, got {self.komi}")
        if not self.rules:
            raise ValueError("rules: expected at least one rule set")
        for text in self.rules:
            try:
                is_area = parse_rules(text).is_area
            except BadRules as error:
                raise ValueError(f"rules: {error}") from error
            if not is_area:
                raise ValueError(
                    f"rules: {text!r} scores territory, which needs agreement on dead stones; use area rules"
                )

    def _check_search(self) -> None:
        try:
            search, default = self.quick_search, SearchParams()
        except GoError as error:
            raise ValueError(f"search: {error}") from error
        for name, setting in _OF_SELFPLAY.items():
            if getattr(search, name) != getattr(default, name):
                raise ValueError(f"search: {name} has no effect there, set {setting} of self-play instead")

    @property
    def quick_search(self) -> SearchParams:
        """The parameters of quick searches; full ones add noise, forced playouts and temperature."""
        # Optimism and pruned symmetric moves would distort the policy targets.
        plain = SearchParams(policy_optimism=0.0, root_policy_optimism=0.0, prunes_symmetric_moves=False)
        return with_settings(plain, dict(self.search))

    def temperature_at(self, move_number: int, side: int) -> float:
        """Return the temperature of the choice of a move."""
        if self.temperature_moves and move_number >= self.temperature_moves:
            return 0.0
        return self._falling(self.temperature, self.temperature_end, move_number, side)

    def root_temperature_at(self, move_number: int, side: int) -> float:
        """Return the temperature of the root's policy in full searches."""
        return self._falling(self.root_temperature, self.root_temperature_end, move_number, side)

    def _falling(self, start: float, end: float, move_number: int, side: int) -> float:
        halflife = self.temperature_halflife * side / _FULL_SIDE
        return float(end + (start - end) * 0.5 ** (move_number / halflife))

    def mean_komi(self, side: int) -> float:
        """Return the mean komi on a board of this side."""
        return FAIR_KOMI.get(side, _FAIR_ELSEWHERE) if self.komi is None else self.komi

    def wide_stdev(self, side: int) -> float:
        """Return the standard deviation of a komi far from fair, in points."""
        return self.komi_wide_stdev * side / _FULL_SIDE

    def most_moves(self, side: int) -> int:
        """Return the maximum moves of a game, including the opening."""
        return max(1, round(self.longest * side * side))

    def earliest_resignation(self, side: int) -> int:
        """Return the number of moves before which no side resigns."""
        return round(self.resign_from * side * side)


def _require_finite(settings: Any) -> None:
    """Raise ValueError with the field's name unless all numbers of a dataclass are finite."""
    for each in fields(settings):
        value = getattr(settings, each.name)
        numbers = value if isinstance(value, tuple) else (value,)
        if any(isinstance(number, float) and not math.isfinite(number) for number in numbers):
            raise ValueError(f"{each.name}: expected finite numbers, got {value}")
