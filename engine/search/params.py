"""Every number that shapes a search, in one frozen value. `--set name=value` reaches these fields."""

from dataclasses import dataclass, fields, replace

from engine.errors import GoError


@dataclass(frozen=True)
class SearchParams:
    """How a search selects, explores and decides.

    c_puct: weight of prior against value (PUCT; Silver et al., "Mastering the game of Go without
        human knowledge", 2017).
    fpu_reduction: how much worse than its parent an unvisited move is taken to be, times the square
        root of the prior already visited.
    virtual_loss: losses that a pending visit counts as.
    rave_bias: squared bias of all-moves-as-first values, higher trusts them for fewer visits
        (Silver 2009, with b^2 * 4); 0 turns them off. Used only with evaluators that report first plays.
    rave_prior: visits that the first-play-urgency value of an unvisited move is worth against its
        all-moves-as-first value.
    noise_fraction, noise_concentration: Dirichlet noise at the root, alpha = concentration / legal moves.
    temperature: moves are drawn with visits ** (1 / temperature); 0 plays the best.
    temperature_moves: after this many moves of the game the temperature is 0.
    root_symmetries: symmetries under which a network evaluates a new root; their mean is one visit
        (KataGo's rootNumSymmetriesToSample).
    batch_size: leaves a batch; 0 takes what the evaluator prefers.
    max_memory_mib: bound of the tree's memory.
    resign_threshold: winrate under which the engine thinks of resigning; 0 never resigns.
    resign_turns: consecutive own turns that must be under it.
    judge_visits: visits of each of the two searches that judge dead stones when no network does.
    seed: of all random numbers of a search.
    """

    c_puct: float = 1.1
    fpu_reduction: float = 0.2
    virtual_loss: float = 1.0
    rave_bias: float = 0.02
    rave_prior: float = 30.0
    noise_fraction: float = 0.0
    noise_concentration: float = 10.83
    temperature: float = 0.0
    temperature_moves: int = 30
    root_symmetries: int = 1
    batch_size: int = 0
    max_memory_mib: int = 512
    resign_threshold: float = 0.05
    resign_turns: int = 3
    judge_visits: int = 3000
    seed: int = 1


def with_settings(params: SearchParams, settings: dict[str, str]) -> SearchParams:
    """Return params with fields replaced from text. Raises GoError naming an unknown key or a bad value."""
    kinds = {field.name: type(getattr(params, field.name)) for field in fields(params)}
    changes: dict[str, float | int] = {}
    for key, text in settings.items():
        if key not in kinds:
            raise GoError(f"unknown setting {key!r}, expected one of {' '.join(sorted(kinds))}")
        try:
            changes[key] = kinds[key](text)
        except ValueError:
            raise GoError(f"setting {key!r}: expected {kinds[key].__name__}, got {text!r}") from None
    return replace(params, **changes)  # type: ignore[arg-type]
