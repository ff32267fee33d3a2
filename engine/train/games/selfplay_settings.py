"""The settings of self-play, with the source of each default.

KataGo: Wu, "Accelerating self-play learning in Go" (2019), and the configurations of its later runs
(cpp/configs/training, docs/KataGoMethods.md). AGZ: Silver et al., "Mastering the game of Go without human
knowledge" (2017).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.errors import BadRules, GoError
from engine.rules import MOST_KOMI, parse_rules
from engine.search.params import SearchParams, with_settings
from engine.settings.setting import Kind, assignments, check_fields, number, numbers, option, truth
from engine.train.teaching.exploration_settings import ExplorationSettings

FAIR_KOMI = {4: 2.0, 5: 25.0, 6: 4.0, 7: 9.0, 8: 10.0, 9: 7.0}
"""Fair komi by board side under area rules, where perfect play is known or strong programs agree."""
_FAIR_ELSEWHERE = 7.0
_FULL_SIDE = 19
# Search parameters that self-play controls, and the settings that control them.
_OF_SELFPLAY = {
    "adds_noise": "noise_fraction",
    "noise_fraction": "noise_fraction",
    "noise_concentration": "noise_concentration",
    "forced_playouts": "forced_playouts",
    "root_policy_temperature": "root_temperature",
    "early_root_policy_temperature": "root_temperature",
    "temperature": "temperature_end",
    "early_temperature": "temperature",
    "temperature_halflife": "temperature_halflife",
    "resign_threshold": "resign_threshold",
    "resign_turns": "resign_turns",
}


@dataclass(frozen=True)
class SelfplaySettings:
    """How games are played and recorded. Playout-cap randomization and forced playouts: KataGo 3.1 and 3.2."""

    sizes: tuple[int, ...] = numbers((9,), "Sides of the boards to play on.", 2, 25)
    size_weights: tuple[float, ...] = numbers((), "Relative frequencies of the sizes; without any, all are alike.", 0)
    rules: tuple[str, ...] = option(
        Kind.RULES,
        ("tromp-taylor",),
        "Rule sets by name or as JSON, equally frequent. Under rules that score territory, two clean-up phases capture "
        "dead stones (KataGo).",
    )
    games_at_once: int = number(
        64, "Games of one board size and rule set in each process; their leaves fill a batch.", 1, unit="games"
    )
    batches: int = number(
        0,
        "Groups of games: one fills its batch while those of the others are evaluated. 0 for as many as keep the "
        "evaluator busy. With 1, results are bit-identical on all machines of a kind.",
        0,
    )
    leaves: int = number(1, "Leaves of one game in a batch; more than one needs virtual losses.", 1)
    turns: int = number(16, "Moves of each game after which another board size is played for a while.", 1, unit="moves")

    full_visits: int = number(600, "Visits of a full search (KataGo: 600, later 1000; AGZ: 1600).", 1, unit="visits")
    quick_visits: int = number(100, "Visits of a quick search (KataGo: 100, later 200).", 1, unit="visits")
    full_share: float = number(0.25, "Share of the moves with a full search (KataGo: 0.25; AGZ: 1).", 0, 1)
    quick_weight: float = number(
        0.0,
        "Weight of the positions of quick searches in all targets but the policy (KataGo: 0, which does not record "
        "them).",
        0,
        1,
    )
    search: Mapping[str, str] = assignments(
        "Search parameters that differ from the defaults, such as search.c_puct=1.1.", "search.KEY=VALUE"
    )
    noise_fraction: float = number(0.25, "Share of Dirichlet noise at the root of full searches (AGZ: 0.25).", 0, 1)
    noise_concentration: float = number(
        10.83, "Concentration of the noise, shared by the legal moves (AGZ: 0.03 * 361).", 0, above=True
    )
    forced_playouts: float = number(2.0, "Factor k of forced playouts in full searches (KataGo: 2); 0 for none.", 0)
    root_temperature: float = number(
        1.25, "Temperature of the root's policy in full searches at the start of a game (KataGo: 1.25).", 0, above=True
    )
    root_temperature_end: float = number(1.1, "The same at the end of a game (KataGo: 1.1).", 0, above=True)
    temperature: float = number(0.8, "Temperature of the choice of moves at the start (KataGo: 0.8).", 0)
    temperature_end: float = number(0.2, "The value that it approaches (KataGo: 0.2).", 0)
    temperature_halflife: float = number(
        19.0,
        "Halflife of both temperatures on 19x19, in moves; in proportion to the side on other boards (KataGo: 19).",
        0,
        above=True,
        unit="moves",
    )
    gumbel_moves: int = number(
        0,
        "Moves that the root of a full search considers, by sequential halving with Gumbel noise, in place of PUCT "
        "with noise and temperature (Danihelka et al. 2022: 16); 0 for PUCT.",
        0,
        unit="moves",
    )
    temperature_moves: int = number(
        0, "Moves after which the temperature is 0 (AGZ: 30); 0 for never.", 0, unit="moves"
    )
    tempers_targets: bool = truth(
        False, "Whether the temperature of a move applies to its policy target, too (AGZ); else the target has 1."
    )
    reuses_trees: bool = truth(True, "Whether a search continues the tree of the one before.")

    opening_share: float = number(
        0.04,
        "Mean number of opening moves drawn from the policy without a search, as a share of the board's points "
        "(KataGo: 0.04, exponentially distributed).",
        0,
    )
    opening_temperature: float = number(1.0, "Temperature of the policy of the opening moves.", 0, above=True)
    starts: tuple[str, ...] = option(
        Kind.TEXT, (), "Record files, directories of them, or files of one record a line, to start games from."
    )
    starts_share: float = number(0.0, "Share of the games that start from a position of `starts`.", 0, 1)
    forks: tuple[str, ...] = option(
        Kind.TEXT, (), "Record files of self-play that games fork from; keima zero sets them with run.fork_share."
    )
    fork_share: float = number(
        0.0,
        "Share of the games that fork from an earlier one, mostly in its opening, by the policy's favorite among some "
        "random moves (KataGo: 0.05).",
        0,
        1,
    )
    handicap_share: float = number(0.0, "Share of the games in which Black has more stones (KataGo: 0.1).", 0, 1)
    handicap_stones: int = number(
        3, "Most handicap stones, at most a third of the board's points; the policy places them.", 1, unit="stones"
    )
    handicap_fair_share: float = number(
        0.5, "Share of the handicap games with a komi that makes up for the stones (KataGo: 0.5).", 0, 1
    )
    asymmetric_share: float = number(
        0.0,
        "Share of the games in which one side searches with more visits, of which the network knows (KataGo: 0.01).",
        0,
        1,
    )
    asymmetric_ratio: float = number(4.0, "Its visits as a multiple of the other side's (KataGo: up to 8).", 1, 64)
    komi: float | None = option(
        Kind.NUMBER,
        None,
        "Mean komi, rounded to half points.",
        least=-MOST_KOMI,
        most=MOST_KOMI,
        unit="points",
        default_text="fair for the board size",
    )
    komis: tuple[float, ...] = numbers(
        (), "Mean komi of each of the sizes, in place of komi; keima zero sets them with run.fair_komi_rate."
    )
    komi_stdev: float = number(1.0, "Standard deviation of the komi (KataGo: 1).", 0, unit="points")
    komi_wide_share: float = number(0.06, "Share of the games with a komi far from fair (KataGo: 0.06).", 0, 1)
    komi_wide_stdev: float = number(
        12.0,
        "Standard deviation of their komi on 19x19; in proportion to the side on other boards (KataGo: 12).",
        0,
        unit="points",
    )
    exploration: ExplorationSettings = field(default_factory=ExplorationSettings)

    resign_threshold: float = number(
        0.05,
        "A side with a winrate below this has lost, and the rest of the game is played out quickly (AGZ: it resigns at "
        "0.05); 0 for never.",
        0,
        1,
    )
    resign_turns: int = number(
        3, "Turns of a side in a row with such a winrate before the game is decided.", 1, unit="turns"
    )
    resign_from: float = number(0.25, "Moves before which no game is decided, as a share of the board's points.", 0)
    no_resign_share: float = number(
        0.1, "Share of the games that are always played in full, to measure wrong decisions (AGZ: 0.1).", 0, 1
    )
    notes_winrates: bool = truth(
        False,
        "Whether the records of games that are always played in full name the lowest winrate of the winner; keima zero "
        "sets it with run.resign_false_rate.",
    )
    decided_visits: int = number(
        16,
        "Visits of a move in a decided game, at most those of a quick search; such moves are not recorded.",
        1,
        unit="visits",
    )
    ends_settled: bool = truth(True, "Whether a game ends when every point is pass-alive territory (KataGo).")
    avoids_settled: bool = truth(True, "Whether to exclude moves in pass-alive territory, which gain nothing (KataGo).")
    longest: float = number(
        3.0,
        "Most moves of a game, as a multiple of the board's points; then it is counted as it stands.",
        0,
        above=True,
    )

    surprise_share: float = number(
        0.0,
        "Share of a game's samples that are drawn in proportion to the surprise of the policy by the search, quick "
        "searches included where it is large (KataGo: 0.5).",
        0,
        1,
    )
    value_surprise_share: float = number(
        0.0,
        "Share of a game's samples that are drawn in proportion to the surprise of the network's value by the near "
        "future of the game (KataGo: 0.1).",
        0,
        1,
    )
    records_later: bool = truth(
        False,
        "Whether samples have the value and score of the near future at three horizons, for train.short_value_weight "
        "and train.short_score_weight.",
    )
    encoder: str = option(
        Kind.TEXT, "katago-v7", "Input format of the samples, that of the network to be trained.", metavar="NAME"
    )
    shard_samples: int = number(4096, "Samples in each file.", 1, unit="samples")

    def __post_init__(self) -> None:
        """Raise ValueError with the field's name on a value out of range."""
        check_fields(self)
        if not self.sizes:
            raise ValueError("sizes: expected at least one side")
        if len(set(self.sizes)) < len(self.sizes):
            raise ValueError(f"sizes: expected each side once, got {list(self.sizes)}")
        if self.size_weights and len(self.size_weights) != len(self.sizes):
            raise ValueError(f"size_weights: expected {len(self.sizes)} of them, got {self.size_weights}")
        if self.size_weights and not any(self.size_weights):
            raise ValueError("size_weights: expected one above 0")
        if self.komis and len(self.komis) != len(self.sizes):
            raise ValueError(f"komis: expected {len(self.sizes)} of them, got {self.komis}")
        self._check_rules()
        self._check_search()
        if self.starts_share > 0 and not self.starts:
            raise ValueError("starts_share: expected records in starts")
        if self.fork_share > 0 and not self.forks:
            raise ValueError("fork_share: expected records in forks; for keima zero, set run.fork_share")
        if self.gumbel_moves and self.leaves > 1:
            raise ValueError(f"leaves: expected 1 with gumbel_moves, got {self.leaves}")
        if self.weighs_surprise and self.quick_weight:
            raise ValueError(f"quick_weight: expected 0 with surprise_share, got {self.quick_weight}")
        if self.surprise_share + self.value_surprise_share > 1:
            shares = f"{self.surprise_share} and {self.value_surprise_share}"
            raise ValueError(f"value_surprise_share: expected at most 1 with surprise_share, got {shares}")

    @property
    def weighs_surprise(self) -> bool:
        """Whether samples are drawn by surprise."""
        return self.surprise_share > 0 or self.value_surprise_share > 0

    def _check_rules(self) -> None:
        if not self.rules:
            raise ValueError("rules: expected at least one rule set")
        for text in self.rules:
            try:
                parse_rules(text)
            except BadRules as error:
                raise ValueError(f"rules: {error}") from error

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
        if self.komis:
            return self.komis[self.sizes.index(side)]
        return FAIR_KOMI.get(side, _FAIR_ELSEWHERE) if self.komi is None else self.komi

    @property
    def doubling(self) -> float:
        """The advantage of the side with more visits in asymmetric games, as a logarithm to base 2."""
        return math.log2(self.asymmetric_ratio)

    def wide_stdev(self, side: int) -> float:
        """Return the standard deviation of a komi far from fair, in points."""
        return self.komi_wide_stdev * side / _FULL_SIDE

    def most_moves(self, side: int) -> int:
        """Return the maximum moves of a game, including the opening."""
        return max(1, round(self.longest * side * side))

    def earliest_resignation(self, side: int) -> int:
        """Return the number of moves before which no side resigns."""
        return round(self.resign_from * side * side)


def of_sizes(settings: SelfplaySettings, sizes: Sequence[int]) -> SelfplaySettings:
    """Return settings that play on some of the sizes alone."""
    places = [settings.sizes.index(side) for side in sizes]
    weights, komis = (
        tuple(values[place] for place in places) if values else () for values in (settings.size_weights, settings.komis)
    )
    return replace(settings, sizes=tuple(sizes), size_weights=weights, komis=komis)
