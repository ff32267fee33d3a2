"""Which check judges which kind of golden file."""

from collections.abc import Callable

from tests.golden.board_checks import check_areas, check_final, check_ladders, check_legal, check_scores
from tests.golden.feature_checks import check_features
from tests.golden.net_checks import check_networks
from tests.golden.records import Golden, Report

CHECKS: dict[str, Callable[[Golden], Report]] = {
    "legal": check_legal,
    "areas": check_areas,
    "ladders": check_ladders,
    "final": check_final,
    "scores": check_scores,
    "features": check_features,
    "nn": check_networks,
    "lz": check_networks,
}
"""By the `kind` of a file. A kind that is absent here is reported as not covered."""
