"""The parameters that `kata-set-param` and its kin know, by KataGo's names: one table, nothing else.

Each name stands for one field of the search's parameters or of the session's configuration. Ranges are
KataGo's, widened where a field here has a value that turns it off; `level` is Keima's own. A name without such a
field is unknown rather than accepted and ignored.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.levels import FULL_LEVEL
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


def whole(least: int, most: int) -> Kind:
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


_SHARE = real(0.0, 1.0)
_TRUTH = Kind(parse_bool, bool)

PARAMS: dict[str, Param] = {
    "allowResignation": Param("allow_resignation", _TRUTH, as_text=True),
    "analysisPVLen": Param("pv_length", whole(1, 1000), of_session=True),
    "analysisWideRootNoise": Param("analysis_noise", real(0.0, 5.0), of_session=True, as_text=True),
    "cpuctExploration": Param("c_puct", real(0.0, 10.0)),
    "cpuctExplorationBase": Param("c_puct_base", real(10.0, 100000.0)),
    "cpuctExplorationLog": Param("c_puct_log", real(0.0, 10.0)),
    "cpuctUtilityStdevPrior": Param("stdev_prior", real(1e-8, 10.0)),
    "cpuctUtilityStdevPriorWeight": Param("stdev_prior_weight", real(0.0, 100.0)),
    "cpuctUtilityStdevScale": Param("stdev_scale", _SHARE),
    "dynamicScoreCenterScale": Param("dynamic_score_scale", real(0.2, 5.0)),
    "dynamicScoreUtilityFactor": Param("dynamic_score_factor", _SHARE),
    "fpuParentWeightByVisitedPolicyPow": Param("fpu_policy_power", real(0.0, 5.0)),
    "fpuReductionMax": Param("fpu_reduction", real(0.0, 2.0)),
    "lagBuffer": Param("lag_buffer", real(0.0, 3600.0), of_session=True),
    "lcbStdevs": Param("lcb_stdevs", real(0.0, 12.0)),
    "level": Param("level", whole(1, FULL_LEVEL), of_session=True),
    "maxTime": Param("seconds", Kind(_seconds, lambda value: _NO_SECONDS if value is None else value), of_session=True),
    "maxTimePondering": Param("ponder_seconds", Kind(_pondering, lambda value: value or _NO_SECONDS)),
    "maxVisits": Param("visits", Kind(_visits, lambda value: _NO_VISITS if value is None else value), of_session=True),
    "minVisitPropForLCB": Param("lcb_least_share", _SHARE),
    "noisePruneUtilityScale": Param("noise_prune_scale", real(0.0, 10.0)),
    "numVirtualLossesPerThread": Param("virtual_loss", real(0.01, 1000.0)),
    "playoutDoublingAdvantage": Param("playout_doubling_advantage", real(-3.0, 3.0)),
    "policyOptimism": Param("policy_optimism", _SHARE),
    "ponderingEnabled": Param("ponder", _TRUTH, of_session=True, as_text=True),
    "reportAnalysisWinratesAs": Param("perspective", Kind(_perspective, str), of_session=True),
    "resignConsecTurns": Param("resign_turns", whole(1, 100)),
    "resignMinScoreDifference": Param("resign_min_lead", real(0.0, 1000.0)),
    "resignThreshold": Param("resign_threshold", Kind(_winrate, lambda value: round(2.0 * value - 1.0, _DIGITS))),
    "rootDirichletNoiseTotalConcentration": Param("noise_concentration", real(0.001, 10000.0)),
    "rootDirichletNoiseWeight": Param("noise_fraction", _SHARE),
    "rootFpuReductionMax": Param("root_fpu_reduction", real(0.0, 2.0)),
    "rootNumSymmetriesToSample": Param("root_symmetries", whole(1, 8)),
    "rootPolicyOptimism": Param("root_policy_optimism", _SHARE),
    "rootPolicyTemperature": Param("root_policy_temperature", real(0.01, 100.0)),
    "rootSymmetryPruning": Param("prunes_symmetric_moves", _TRUTH),
    "staticScoreUtilityFactor": Param("static_score_factor", _SHARE),
    "subtreeValueBiasFactor": Param("subtree_value_bias_factor", _SHARE),
    "subtreeValueBiasWeightExponent": Param("subtree_value_bias_exponent", _SHARE),
    "uncertaintyCoeff": Param("uncertainty_coefficient", _SHARE),
    "uncertaintyMaxWeight": Param("uncertainty_max_weight", real(1.0, 100.0)),
    "useGraphSearch": Param("shares_nodes", _TRUTH),
    "valueWeightExponent": Param("value_weight_exponent", _SHARE),
    "wideRootNoise": Param("wide_root_noise", real(0.0, 5.0)),
}
"""KataGo's name -> what it stands for."""
