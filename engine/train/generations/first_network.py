"""The network with which a run of `keima zero` begins. Imports torch only for one with random weights."""

from dataclasses import replace
from pathlib import Path

from engine.evaluators.finding import find_network
from engine.nets.spec import ORIGIN, SEED, DenseValueHead, NetSpec
from engine.train.generations.rating import player_of
from engine.train.generations.zero_config import ZeroConfig, keep_config
from engine.train.generations.zero_steps import network_file
from engine.train.toml_settings import ConfigError
from weights import native
from weights.registry import load
from weights.sized import Size, read_sized, write_sized


def make_first_network(folder: Path, config: ZeroConfig) -> None:
    """Write the first network of a run if it is not there: a given one, or one with random weights.

    Before it the configuration is written, so that a run that is killed here knows with what it begins.
    Raises ConfigError on an impossible shape, or if the given one cannot play or learn from the games of the run.
    """
    file = network_file(folder, 0)
    if file.exists():
        return
    spec, sized = _first(config)
    file.parent.mkdir(parents=True, exist_ok=True)
    keep_config(folder, config)
    write_sized(file, player_of(0), sized)
    native.write(replace(spec, name=player_of(0)), file)


def _first(config: ZeroConfig) -> tuple[NetSpec, dict[Size, NetSpec]]:
    """Return the first network of a run and those of one board size that belong to it."""
    if not config.run.net:
        from engine.train.generations.training import train_config
        from engine.train.learning.run_folder import new_spec

        return new_spec(train_config(config)), {}
    given = find_network(config.run.net)
    spec = load(given)
    _check(spec, config)
    provenance = {"started from": spec.name, ORIGIN: spec.provenance.get(ORIGIN, spec.name)}
    # `InputRanges` takes a network with a seed for one that has learned nothing.
    provenance |= {SEED: spec.provenance[SEED]} if SEED in spec.provenance else {}
    return replace(spec, provenance=provenance), read_sized(given, spec.name)


def _check(spec: NetSpec, config: ZeroConfig) -> None:
    """Raise ConfigError unless a network has the inputs and the board sizes of a run, and can be trained."""
    if spec.encoder != config.train.encoder or spec.metadata:
        people = " and those of players" if spec.metadata else ""
        raise ConfigError(
            f"run.net: expected inputs {config.train.encoder}, those of train.encoder, "
            f"got {spec.name} with {spec.encoder}{people}"
        )
    if isinstance(spec.value, DenseValueHead) and spec.value.black_view:
        raise ConfigError(f"run.net: expected the value of the side to move, got {spec.name} with Black's")
    smallest, largest = spec.board_sizes
    wrong = [size for size in config.selfplay.sizes if not smallest <= size <= largest]
    if wrong:
        raise ConfigError(
            f"run.net: expected a network for boards of {wrong[0]}x{wrong[0]}, as in selfplay.sizes, "
            f"got {spec.name}, for {smallest}x{smallest} to {largest}x{largest}"
        )
