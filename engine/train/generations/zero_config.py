"""The configuration of `keima zero`: all settings of a run in one frozen dataclass, from a preset or a TOML file.

A run writes config.toml into its folder at the start and is resumed with it. A later command with other settings is
refused, except for the length of the run, the evaluator, the trainers, the ratings, and the learning rate. Imports
nothing heavy.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from engine.settings.setting import Kind, check_fields, declared, number, numbers, option
from engine.settings.table import settings_on
from engine.support.files import write_atomically
from engine.support.json_text import json_text
from engine.train.games.selfplay_settings import SelfplaySettings
from engine.train.generations.gate import GateSettings
from engine.train.generations.rating import RatingSettings
from engine.train.learning.train_config import SHAPE, TrainConfig
from engine.train.toml_settings import ConfigError, differences, from_table, overridden, read_toml, to_toml

MAY_CHANGE: tuple[str, ...] = ("run.hours", "run.generations", "run.trainers", "evaluator.", "cluster.", "rating.")
MAY_CHANGE += ("train.threads", "train.device", "train.keep", "train.steps", "train.learning_rate")
"""Keys and sections that may change when a run is resumed; the new values are written to config.toml."""
CONFIG = "config.toml"
_NEWER = ("cluster",)
"""Tables that runs lack which began before there were any."""
_SUFFIX = ".toml"
# Names the preset whose settings a file has where it has none of its own.
_LIKE = "like"
_PRESETS = Path(__file__).with_name("presets")
_OPTIONS = settings_on("selfplay")


@dataclass(frozen=True)
class RunSettings:
    """Size, length and komi of a run.

    With komi_gain g, komi += g * (Black's share of wins in the generation before - 0.5), between 0 and the komi of
    self-play. Networks that still pass too early let one side win every game, from which nothing can be learned;
    KataGo's self-play can use the komi that its network considers fair (komiAuto).
    """

    seed: int = number(1, "Seed of the first network, the games and the batches.")
    net: str = option(
        Kind.TEXT,
        "",
        "Network that the run begins with, in any format, in place of one with random weights.",
        metavar="FILE",
        default_text="random weights",
    )
    hours: float | None = option(
        Kind.NUMBER, None, "Hours after which the run ends.", least=0, above=True, unit="hours", default_text="no limit"
    )
    generations: int | None = option(
        Kind.INTEGER, None, "Generation after which the run ends.", least=0, default_text="no limit"
    )
    games: int = number(500, "Games of a generation.", 1, unit="games")
    first_games: int = number(
        500, "Games of generation 1, whose random network teaches little but the rules.", 1, unit="games"
    )
    reuse: float = number(
        4.0,
        "Training samples for each new one (KataGo: 4, docs SelfplayTraining.md, -max-train-bucket-per-new-data).",
        0,
        above=True,
    )
    komi_gain: float = number(
        0.0,
        "Gain by which the mean komi follows Black's share of wins; 0 keeps it constant, as --ray requires.",
        0,
    )
    fair_komi_rate: float = number(
        0.0,
        "Share by which the mean komi of each board size moves to the median margin of the last generation's even "
        "games, so that games stay even on every size; 0 keeps it constant.",
        0,
        1,
    )
    fork_share: float = number(
        0.0, "Share of the games that fork from a game of the last generation (KataGo: 0.05).", 0, 1
    )
    resign_false_rate: float = number(
        0.0,
        "Share of the winners that may fall below selfplay.resign_threshold (AGZ: 0.05): the threshold follows from "
        "the games that are always played in full; 0 keeps it constant.",
        0,
        1,
    )
    sizes_from: tuple[int, ...] = numbers(
        (), "First generation of each size in selfplay.sizes; without any, all begin with generation 1.", 1
    )
    trainers: int = number(
        1,
        "Processes that train the network together, each on a GPU of its own and with batches of train.batch_size; "
        "0 for one for each GPU.",
        0,
    )
    first_komi: float = number(
        0.5,
        "Mean komi to start with where there is a gain; a run that begins with net starts with that of self-play.",
        0,
        unit="points",
    )

    def __post_init__(self) -> None:
        """Raise GoError with the field's name on a value out of range."""
        check_fields(self)

    def next_komi(self, komi: float | None, black_share: float | None, most: float) -> float:
        """Return the next mean komi. komi, black_share: of the last generation, None if unknown. most: upper bound."""
        if komi is None:
            return most if self.net else min(self.first_komi, most)
        if black_share is None:
            return min(komi, most)
        return min(max(komi + self.komi_gain * (black_share - 0.5), 0.0), most)

    @property
    def adapted(self) -> list[str]:
        """The settings by which self-play changes in a run, which a cluster that plays on its own cannot do."""
        names = ("komi_gain", "fair_komi_rate", "fork_share", "resign_false_rate", "sizes_from")
        return [name for name in names if getattr(self, name)]

    def games_of(self, generation: int) -> int:
        """Return the number of games of a generation; the first one is 1."""
        return self.first_games if generation == 1 else self.games


@dataclass(frozen=True)
class EvaluatorSettings:
    """The evaluator of self-play and matches, as with the options `--backend`, `--precision` and `--threads`."""

    backend: str = declared(_OPTIONS["backend"])
    precision: str = declared(_OPTIONS["precision"])
    threads: int = number(0, "CPU threads to compute with; 0 for one for each core.", 0)
    processes: int = number(
        1,
        "Self-play processes that share the threads; 0 for one for each thread. Games do not depend on their number.",
        0,
    )

    def __post_init__(self) -> None:
        """Raise GoError with the field's name on a value out of range."""
        check_fields(self)


@dataclass(frozen=True)
class ClusterSettings:
    """The workers of a Ray cluster (`--ray`)."""

    gpu_share: float = number(
        0.0,
        "Share of a GPU for each worker, such as 0.25 for four workers a GPU; 0 for workers that compute on CPUs.",
        0,
        1,
    )
    max_age: int = number(
        3,
        "Promoted networks that the one with which a game began may be behind; older games are left out.",
        0,
        unit="networks",
    )
    waiting: int = number(2000, "Finished games on this machine at which the workers pause.", 1, unit="games")
    failures: int = number(3, "Failed workers on a machine that a run survives.", 0)
    trainer_cores: int = number(
        1, "Cores of this machine on which no worker plays, as far as one worker still has room.", 0
    )

    def __post_init__(self) -> None:
        """Raise GoError with the field's name on a value out of range."""
        check_fields(self)


@dataclass(frozen=True)
class WindowSettings:
    """The training window of a generation: the newest N samples, where N grows with the data (Wu 2019, appendix C).

    N = scale * (1 + beta * ((total / scale)^alpha - 1) / alpha) for `total` samples so far, and all samples while
    there are fewer than `scale`. Prioritized sampling: T. Schaul et al., "Prioritized Experience Replay", 2016.
    """

    scale: float = number(
        250_000.0, "Samples from which the window is a part of all (KataGo: 250,000).", 0, above=True, unit="samples"
    )
    alpha: float = number(0.75, "Exponent of the growth (KataGo: 0.75).", 0, 1, above=True)
    beta: float = number(0.4, "Factor of the growth (KataGo: 0.4).", 0, 1)
    prioritize: float = number(0.0, "Exponent a of the sampling probability loss^a; 0 samples uniformly.", 0)
    correct: float = number(
        0.4, "Exponent b of the importance weights (1 / (N p))^b at the start; it rises to 1 by train.steps.", 0
    )

    def __post_init__(self) -> None:
        """Raise GoError with the field's name on a value out of range."""
        check_fields(self)


@dataclass(frozen=True)
class ZeroConfig:
    """All settings of a run of `keima zero`."""

    run: RunSettings = field(default_factory=RunSettings)
    selfplay: SelfplaySettings = field(default_factory=SelfplaySettings)
    evaluator: EvaluatorSettings = field(default_factory=EvaluatorSettings)
    cluster: ClusterSettings = field(default_factory=ClusterSettings)
    window: WindowSettings = field(default_factory=WindowSettings)
    train: TrainConfig = field(default_factory=TrainConfig)
    gate: GateSettings = field(default_factory=GateSettings)
    rating: RatingSettings = field(default_factory=RatingSettings)

    def __post_init__(self) -> None:
        """Raise ValueError if two sections contradict each other."""
        if self.selfplay.encoder != self.train.encoder:
            raise ValueError(
                f"selfplay.encoder: expected that of the network, train.encoder {self.train.encoder!r}, "
                f"got {self.selfplay.encoder!r}"
            )
        if self.train.hours:
            raise ValueError(f"train.hours: expected 0, because run.hours bounds the run, got {self.train.hours}")
        if self.train.seed != TrainConfig.seed:
            raise ValueError(f"train.seed: expected {TrainConfig.seed}; set run.seed instead, got {self.train.seed}")
        train = self.train
        if train.human:
            raise ValueError("train.human: expected false: games of self-play are not those of people with a rank")
        if train.record_shares:
            raise ValueError("train.record_shares: expected none: a run of self-play reads no game records")
        if (train.short_value_weight or train.short_score_weight) and not self.selfplay.records_later:
            raise ValueError(
                "train.short_value_weight: expected selfplay.records_later=true, which records its targets"
            )
        # Black's share of wins is counted over all games of a generation, so it must be of one board size.
        if self.run.komi_gain and len(set(self.selfplay.sizes)) != 1:
            raise ValueError(f"run.komi_gain: expected one board size, got {list(self.selfplay.sizes)}")
        if self.run.komi_gain and self.selfplay.komis:
            raise ValueError("selfplay.komis: expected none with run.komi_gain, which changes selfplay.komi")
        if self.run.komi_gain and self.run.fair_komi_rate:
            raise ValueError("run.fair_komi_rate: expected 0 with run.komi_gain: both change the komi")
        if self.run.resign_false_rate and not self.selfplay.no_resign_share:
            raise ValueError("run.resign_false_rate: expected selfplay.no_resign_share above 0, whose games it counts")
        self._check_sizes()

    def _check_sizes(self) -> None:
        sizes, begins = self.selfplay.sizes, self.run.sizes_from
        if begins and (len(begins) != len(sizes) or min(begins) != 1):
            raise ValueError(
                f"run.sizes_from: expected a generation for each of {list(sizes)} from 1 on, got {list(begins)}"
            )
        weights = self.selfplay.size_weights
        for generation in begins if weights else ():
            if not any(weights[sizes.index(side)] for side in self.sizes_at(generation)):
                raise ValueError(f"selfplay.size_weights: expected one above 0 in generation {generation}")
        if not set(self.rating.sizes) <= set(sizes):
            raise ValueError(
                f"rating.sizes: expected some of selfplay.sizes, {list(sizes)}, got {list(self.rating.sizes)}"
            )
        smallest, largest = self.train.board_sizes
        # A network that is given has sizes of its own, see `first_network`.
        if not self.run.net and not smallest <= min(self.selfplay.sizes) <= max(self.selfplay.sizes) <= largest:
            raise ValueError(f"selfplay.sizes: expected {smallest} to {largest}, got {list(self.selfplay.sizes)}")

    def sizes_at(self, generation: int) -> list[int]:
        """Return the sides of the boards that a generation plays on; the first generation is 1."""
        begins = self.run.sizes_from or (1,) * len(self.selfplay.sizes)
        return [side for side, begin in zip(self.selfplay.sizes, begins, strict=True) if begin <= generation]

    def rated_sizes(self, generation: int) -> list[int]:
        """Return the sides of the boards on which a generation is rated."""
        sizes = self.sizes_at(generation)
        return [side for side in sizes if side in self.rating.sizes] if self.rating.sizes else sizes[:1]


def preset_names() -> list[str]:
    """Return the names of the presets that ship with Keima."""
    return sorted(file.stem for file in _PRESETS.glob(f"*{_SUFFIX}"))


def preset_text(name: str) -> str:
    """Return the text of a preset. Raises ConfigError on an unknown name."""
    if name not in preset_names():
        raise ConfigError(f"unknown preset {name!r}, expected {' or '.join(preset_names())}, or a .toml file")
    return (_PRESETS / f"{name}{_SUFFIX}").read_text(encoding="utf-8")


def read_config(source: str, settings: Sequence[str] = ()) -> ZeroConfig:
    """Read a preset by name, or a TOML file, and apply `section.key=value` settings.

    Raises ConfigError with file and key.
    """
    if source.endswith(_SUFFIX):
        return read_file(Path(source), settings)
    return _parsed(_tables_of_preset(source), source, settings)


def read_file(path: Path, settings: Sequence[str] = ()) -> ZeroConfig:
    """Read a TOML file and apply settings. Raises ConfigError with file and key."""
    return _parsed(_tables_of(path), str(path), settings)


def _tables_of(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    return _completed(read_toml(text, str(path)), str(path))


def _tables_of_preset(name: str) -> dict[str, Any]:
    return _completed(read_toml(preset_text(name), name), name)


def _completed(tables: dict[str, Any], place: str) -> dict[str, Any]:
    """Return tables with what they lack from the preset that they name with `like`. Raises ConfigError."""
    name = tables.pop(_LIKE, None)
    if name is None:
        return tables
    if name not in preset_names():
        raise ConfigError(f"{place}: {_LIKE}: expected {' or '.join(preset_names())}, got {name!r}")
    return _merged(_tables_of_preset(name), tables)


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return tables with some values, at any depth, in place of others."""
    found = dict(base)
    for key, value in changes.items():
        old = found.get(key)
        found[key] = _merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return found


def _parsed(tables: dict[str, Any], place: str, settings: Sequence[str]) -> ZeroConfig:
    # Without the settings first, so that an error in the file is not blamed on the command line. But a network that is
    # given has sizes of its own.
    tables = overridden(ZeroConfig, tables, [each for each in settings if each.partition("=")[0].strip() == "run.net"])
    plain = from_table(ZeroConfig, tables, place)
    if not settings:
        return plain
    return from_table(ZeroConfig, overridden(ZeroConfig, tables, settings), f"{place} with {' '.join(settings)}")


def config_of_run(
    folder: Path,
    source: str | None = None,
    settings: Sequence[str] = (),
    hours: float | None = None,
    generations: int | None = None,
    net: str | None = None,
) -> ZeroConfig:
    """Return the configuration of a new or existing run.

    source: a preset or a file, required only for a new run. settings: override the source, or the run's config.toml.
    hours, generations, net: override those of [run].
    Raises ConfigError if a new run has no source, or if an existing run has other settings.
    """
    path = folder / CONFIG
    if net is not None:
        if not net:
            raise ConfigError("--net: a network's name must not be empty")
        # Among the settings, since a network that is given has board sizes of its own, which are checked then.
        settings = [*settings, f"run.net={json_text(net)}"]
    if source is None:
        require_run(folder)
    config = read_file(path, settings) if source is None else read_config(source, settings)
    bounds = {"hours": hours, "generations": generations}
    given = {key: value for key, value in bounds.items() if value is not None}
    try:
        config = replace(config, run=replace(config.run, **given))  # type: ignore[arg-type]
    except ValueError as error:
        raise ConfigError(f"--hours, --generations: {error}") from error
    if config.run.net:
        _refuse_shape(settings)
    _refuse_useless(config, has_begun=path.exists())
    if path.exists():
        _refuse_missing_tables(path)
        _refuse_changes(path, read_file(path), config)
    return config


def _refuse_useless(config: ZeroConfig, *, has_begun: bool) -> None:
    """Raise ConfigError for settings with which a run would fail, or teach nothing. has_begun: it goes on as it is."""
    if config.train.freeze == "trunk" and not config.run.net and not has_begun:
        raise ConfigError("train.freeze: expected none without run.net: a random trunk would stay random")
    precision = config.evaluator.precision
    if config.cluster.gpu_share and precision in ("int8", "int16"):
        raise ConfigError(f"evaluator.precision: expected fp32, bf16 or fp16 with cluster.gpu_share, got {precision}")


def _refuse_shape(settings: Sequence[str]) -> None:
    """Raise ConfigError on a setting of a random network, which one that is given would ignore."""
    for key in (setting.partition("=")[0].strip() for setting in settings):
        # The encoder is that of the games, too.
        if key != "train.encoder" and key.removeprefix("train.") in SHAPE:
            raise ConfigError(f"--set {key}: the network of run.net has its own")


def require_run(folder: Path) -> None:
    """Raise ConfigError unless a folder contains a run."""
    if not (folder / CONFIG).exists():
        raise ConfigError(f"{folder} contains no run: start one with --preset {' or '.join(preset_names())}")


def keep_config(folder: Path, config: ZeroConfig) -> None:
    """Write a run's configuration into its folder, for later sessions."""
    write_atomically(folder / CONFIG, to_toml(config))


def _refuse_missing_tables(path: Path) -> None:
    """Raise ConfigError for a run's file that was cut off: defaults would take the place of what the run began with.

    Runs may be older than _NEWER.
    """
    whole, found = read_toml(to_toml(ZeroConfig()), CONFIG), _tables_of(path)
    missing = [name for name, table in whole.items() if table and not found.get(name) and name not in _NEWER]
    if missing:
        raise ConfigError(f"{path}: [{missing[0]}] is missing, which every run has: restore the file")


def _refuse_changes(path: Path, old: ZeroConfig, new: ZeroConfig) -> None:
    for key, before, now in differences(old, new):
        if not any(key == each or (each.endswith(".") and key.startswith(each)) for each in MAY_CHANGE):
            raise ConfigError(
                f"{path}: {key} is {before!r} in this run but {now!r} in the command; start another run, "
                "or omit the changed setting"
            )
