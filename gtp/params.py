"""The parameters that `kata-set-param` and its kin know, by KataGo's names: one table, nothing else.

Each name stands for one field of the search's parameters or of the session's configuration; `level` is Keima's own.
A name without such a field is unknown rather than accepted and ignored.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.search.params import RANGES
from engine.settings.levels import FULL_LEVEL
from gtp.args import parse_bool, parse_float, parse_int
from gtp.errors import GtpError
from gtp.state import Perspective

_NO_VISITS = 1 << 50
_NO_SECONDS = 1e20
"""What KataGo tells of limits that are not set."""
_DIGITS = 9


@dataclass(frozen=True)
class Kind:
    """How a value is written. parse: text to a field's value, or GtpError; tell: the value as JSON can hold it."""

    parse: Callable[[str], Any]
    tell: Callable[[Any], Any]


@dataclass(frozen=True)
class Param:
    """One parameter.

    field: of `SearchParams`, or of `SessionConfig` if `of_session`. as_text: `kata-get-params` tells it as a
    string whatever its kind, as KataGo does with these.
    """

    field: str
    kind: Kind
    of_session: bool = False
    as_text: bool = False


def real(least: float, most: float) -> Kind:
    """Return the kind of numbers within bounds."""
    return Kind(lambda text: _within(parse_float(text), least, most), float)


def whole(least: float, most: float) -> Kind:
    """Return the kind of integers within bounds."""
    return Kind(lambda text: _within(parse_int(text), least, most), int)


def _within(value: float, least: float, most: float) -> float:
    if not least <= value <= most:
        raise GtpError(f"must be from {least:g} to {most:g}")
    return value


def _visits(text: str) -> int | None:
    value = parse_int(text, least=1)
    return None if value >= _NO_VISITS else value


def _seconds(text: str) -> float | None:
    value = parse_float(text, least=0.0)
    return None if value >= _NO_SECONDS else value


def _pondering(text: str) -> float:
    value = _within(parse_float(text), 0.001, _NO_SECONDS)
    return 0.0 if value == _NO_SECONDS else value


def _winrate(text: str) -> float:
    return round((1.0 + _within(parse_float(text), -1.0, 0.0)) / 2.0, _DIGITS)


def _perspective(text: str) -> Perspective:
    if text.upper() not in Perspective.__members__:
        raise GtpError(f"must be one of {' '.join(Perspective.__members__)}")
    return Perspective(text.upper())


_TRUTH = Kind(parse_bool, bool)


def _ranged(field: str) -> Param:
    """Return the parameter that stands for a number of the search's parameters."""
    least, most = RANGES[field]
    return Param(field, whole(least, most) if isinstance(least, int) else real(least, most))


PARAMS: dict[str, Param] = {
    "allowResignation": Param("allow_resignation", _TRUTH, as_text=True),
    "analysisPVLen": Param("pv_length", whole(1, 1000), of_session=True),
    "analysisWideRootNoise": Param("analysis_noise", real(0.0, 5.0), of_session=True, as_text=True),
    "cpuctExploration": _ranged("c_puct"),
    "cpuctExplorationBase": _ranged("c_puct_base"),
    "cpuctExplorationLog": _ranged("c_puct_log"),
    "cpuctUtilityStdevPrior": _ranged("stdev_prior"),
    "cpuctUtilityStdevPriorWeight": _ranged("stdev_prior_weight"),
    "cpuctUtilityStdevScale": _ranged("stdev_scale"),
    "dynamicScoreCenterScale": _ranged("dynamic_score_scale"),
    "dynamicScoreUtilityFactor": _ranged("dynamic_score_factor"),
    "fpuParentWeightByVisitedPolicyPow": _ranged("fpu_policy_power"),
    "fpuReductionMax": _ranged("fpu_reduction"),
    "lagBuffer": Param("lag_buffer", real(0.0, 3600.0), of_session=True),
    "lcbStdevs": _ranged("lcb_stdevs"),
    "level": Param("level", whole(1, FULL_LEVEL), of_session=True),
    "maxTime": Param("seconds", Kind(_seconds, lambda value: _NO_SECONDS if value is None else value), of_session=True),
    "maxTimePondering": Param("ponder_seconds", Kind(_pondering, lambda value: value or _NO_SECONDS)),
    "maxVisits": Param("visits", Kind(_visits, lambda value: _NO_VISITS if value is None else value), of_session=True),
    "minVisitPropForLCB": _ranged("lcb_least_share"),
    "noisePruneUtilityScale": _ranged("noise_prune_scale"),
    "numVirtualLossesPerThread": _ranged("virtual_loss"),
    "playoutDoublingAdvantage": _ranged("playout_doubling_advantage"),
    "policyOptimism": _ranged("policy_optimism"),
    "ponderingEnabled": Param("ponder", _TRUTH, of_session=True, as_text=True),
    "reportAnalysisWinratesAs": Param("perspective", Kind(_perspective, str), of_session=True),
    "resignConsecTurns": _ranged("resign_turns"),
    "resignMinScoreDifference": _ranged("resign_min_lead"),
    "resignThreshold": Param("resign_threshold", Kind(_winrate, lambda value: round(2.0 * value - 1.0, _DIGITS))),
    "rootDirichletNoiseTotalConcentration": _ranged("noise_concentration"),
    "rootDirichletNoiseWeight": _ranged("noise_fraction"),
    "rootFpuReductionMax": _ranged("root_fpu_reduction"),
    "rootNumSymmetriesToSample": _ranged("root_symmetries"),
    "rootPolicyOptimism": _ranged("root_policy_optimism"),
    "rootPolicyTemperature": _ranged("root_policy_temperature"),
    "rootSymmetryPruning": Param("prunes_symmetric_moves", _TRUTH),
    "staticScoreUtilityFactor": _ranged("static_score_factor"),
    "subtreeValueBiasFactor": _ranged("subtree_value_bias_factor"),
    "subtreeValueBiasWeightExponent": _ranged("subtree_value_bias_exponent"),
    "uncertaintyCoeff": _ranged("uncertainty_coefficient"),
    "uncertaintyMaxWeight": _ranged("uncertainty_max_weight"),
    "useGraphSearch": Param("shares_nodes", _TRUTH),
    "valueWeightExponent": _ranged("value_weight_exponent"),
    "wideRootNoise": _ranged("wide_root_noise"),
}
"""KataGo's name -> what it stands for."""
