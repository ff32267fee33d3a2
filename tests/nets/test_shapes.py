"""Networks of the shapes that people use are computed by every backend as torch and KataGo compute them.

Only the smallest is in `make test`. `make test-shapes` computes all of them and prints the differences; KEIMA_KATAGO is
the path of a KataGo program, without which `katago` is looked for on the PATH.
"""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.apps.net.golden import Comparison, compare, tolerances_for
from engine.encoders import ENCODERS
from engine.evaluators.calibration import calibration_inputs
from engine.evaluators.human_profile import HumanProfileEvaluator
from engine.evaluators.network import Backend, NetworkEvaluator
from engine.nets.shapes import SHAPES, shaped_spec
from engine.nets.spec import NetSpec, ResidualBlock, parameters
from tests.clients.test_katago import records_of_katago
from weights import katago_writer
from weights.registry import load

V7 = ENCODERS["katago-v7"]
BACKENDS = ("numba", "openvino")
NEAR = {"policy": 2e-4, "result": 2e-4, "score": 5e-4, "ownership": 5e-4}
"""Largest differences of the outputs before softmax and tanh, in fp32."""
WEIGHTS = {
    "b6c96": 1.03e6,
    "b15c192": 9.95e6,
    "b20c256": 23.5e6,
    "b40c256": 46.7e6,
    "b18c384nbt": 26.4e6,
    "b18c384nbt-humanv0": 26.8e6,
    "b28c512nbt": 72.9e6,
    "b10c384h6nbttflrs": 10.6e6,
}
PROFILES = ("rank_5k", "preaz_3d_1k", "proyear_1985")
"""The players whom networks of people imitate, by KataGo's names."""
EVERY_SHAPE = [pytest.param(name, marks=pytest.mark.shapes) for name in SHAPES]


def backend_in_fp32(name: str, spec: NetSpec) -> Backend:
    """Return a backend that computes a network in fp32 on the CPU."""
    # Imported here, because not every package is installed everywhere.
    if name == "torch":
        from engine.evaluators.torch_backend import TorchBackend

        return TorchBackend(spec, "fp32", "cpu")
    if name == "numba":
        from engine.evaluators.kernel_backend import NumbaBackend

        return NumbaBackend(spec, "fp32", threads=2)
    from engine.evaluators.openvino_backend import OpenVinoBackend

    return OpenVinoBackend(spec, "fp32", threads=2)


def outputs_of(spec: NetSpec, backend: str, size: tuple[int, int], count: int) -> dict[str, np.ndarray]:
    """Return the outputs of a backend in fp32 for the first positions of random games."""
    planes, globals_ = calibration_inputs(spec, *size)
    computing = backend_in_fp32(backend, spec)
    slot = computing.slots(*size)[0]
    slot.planes[:count], slot.globals[:count] = planes[8 : 8 + count], globals_[8 : 8 + count]
    computing.infer(slot, count)
    found = {name: array[:count].copy() for name, array in slot.outputs._asdict().items()}
    computing.close()
    return found


def assert_near_torch(name: str, size: tuple[int, int], count: int) -> None:
    """Raise AssertionError unless every backend's outputs are torch's, and print the largest differences."""
    spec = shaped_spec(name, V7)
    expected = outputs_of(spec, "torch", size, count)
    assert all(np.isfinite(each).all() for each in expected.values())
    assert expected["policy"][:, 0].std(axis=1).min() > 0.1, "a uniform policy would hide mistakes"
    for backend in BACKENDS:
        found = outputs_of(spec, backend, size, count)
        off = {kind: float(np.abs(found[kind] - expected[kind]).max()) for kind in expected}
        differences = ", ".join(f"{kind} {each:.1e}" for kind, each in off.items())
        print(f"{name} {size[0]}x{size[1]}, {backend} and torch: {differences}")
        assert all(off[kind] <= NEAR[kind] for kind in off), f"{backend}: {differences}"


def test_shapes_have_the_numbers_of_weights_of_the_networks_they_stand_for() -> None:
    for name in ("b6c96", "b15c192", "b10c384h6nbttflrs"):
        assert parameters(shaped_spec(name, V7)) == pytest.approx(WEIGHTS[name], rel=0.005)


def test_a_small_shape_is_computed_by_every_backend_as_by_torch() -> None:
    for framework in ("torch", *BACKENDS):
        pytest.importorskip(framework)
    assert_near_torch("b6c96", (9, 9), 3)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("size", [(9, 9), (19, 19)])
@pytest.mark.parametrize("name", EVERY_SHAPE)
def test_every_shape_is_computed_by_every_backend_as_by_torch(name: str, size: tuple[int, int]) -> None:
    assert_near_torch(name, size, 2)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", EVERY_SHAPE)
def test_every_shape_is_computed_as_by_katago_from_the_same_file(name: str, tmp_path: Path) -> None:
    if not (os.environ.get("KEIMA_KATAGO") or shutil.which("katago")):
        pytest.skip("KataGo is not here (set KEIMA_KATAGO)")
    file = tmp_path / "net.bin"
    file.write_bytes(katago_writer.to_bytes(replace(shaped_spec(name, V7), name=name)))
    spec = load(file)
    assert parameters(spec) == pytest.approx(WEIGHTS[name], rel=0.01)
    profiles = PROFILES if spec.metadata else ("",)
    records = {profile: records_of_katago(file, tmp_path, profile) for profile in profiles}
    convolutions = 2 * len(spec.blocks) if isinstance(spec.blocks[0], ResidualBlock) else 6 * len(spec.blocks)
    for backend in BACKENDS:
        network = NetworkEvaluator(spec, backend_in_fp32(backend, spec))
        for profile in profiles:
            evaluator = HumanProfileEvaluator(network, profile) if profile else network
            comparison = compare(evaluator, records[profile], Comparison(tolerances_for(convolutions, "fp32")))
            for kind, difference in comparison.differences.items():
                case = f"{name}{profile and ' as '}{profile}, {backend} and KataGo"
                print(f"{case}: {kind} {difference.largest:.1e}, mean {difference.mean:.1e}")
            assert comparison.evaluations == 2 * len(records[profile])
            assert comparison.wrong == []
        network.close()
    if spec.metadata:
        first, second = (np.array(records[profile][0]["outputs"][0]["policy"], float) for profile in PROFILES[:2])
        assert np.nanmax(np.abs(first - second)) > 1e-3, "equal policies of all players would hide mistakes"
