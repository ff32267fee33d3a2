"""Checks of network inputs: planes exact, globals to the precision at which they were read out."""

import numpy as np

from engine.apps.net.records import positions_of
from engine.encoders import ENCODERS
from tests.golden.records import Golden, Report, records

_TOLERANCES = {3: 2e-6, 4: 2e-6, 5: 2e-6, 6: 1e-6, 7: 1e-6}
"""By version. The globals of the first three were read out in steps of 4e-6: komi / 15 shows it."""


def check_features(data: Golden) -> Report:
    """Compare every plane and global of the version that the file is of."""
    report = Report()
    tolerance = _TOLERANCES[data["input_version"]]
    encoder = ENCODERS[f"katago-v{data['input_version']}"]
    report.same("planes", encoder.planes, data["num_planes"])
    report.same("globals", encoder.globals, data["num_globals"])
    for record in records(data):
        positions = positions_of(record)
        planes = np.full((1, encoder.planes, positions.height, positions.width), np.nan, np.float32)
        globals_ = np.full((1, encoder.globals), np.nan, np.float32)
        encoder.encode(positions, 1, planes, globals_)
        name = f"{record['id']} ({record['category']})"
        empty = "|".join(["0" * positions.width] * positions.height)
        for index, plane_name in enumerate(encoder.plane_names):
            found = "|".join("".join(f"{value:g}" for value in row) for row in planes[0, index])
            report.same(f"{name} plane {index}, {plane_name}", found, record["ones"].get(str(index), empty))
        for index, global_name in enumerate(encoder.global_names):
            expected = record["globals"][index]
            report.number(f"{name} global {index}, {global_name}", float(globals_[0, index]), expected, tolerance)
        report.checked += 1
    return report
