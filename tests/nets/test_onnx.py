"""`keima net convert` writes ONNX files: what ONNX Runtime computes, the board, the metadata, and what is refused."""

import contextlib
import io
from pathlib import Path

import numpy as np
import pytest

from engine.apps.net.convert import cli_convert
from engine.errors import GoError
from engine.evaluators.finding import find_network
from tests.nets.examples import EXAMPLES
from tests.shared import require_shared
from weights.native import write
from weights.registry import load

onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: make install EXTRAS=onnx")
onnx = pytest.importorskip("onnx", reason="onnx is not installed: make install EXTRAS=onnx")
torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript", reason="onnxscript is not installed: make install EXTRAS=onnx")


def written(source: str, target: Path, size: tuple[int, int] | None) -> str:
    """Convert a network and return what was said."""
    screen = io.StringIO()
    with contextlib.redirect_stdout(screen):
        assert cli_convert(source, str(target), size=size) == 0
    return screen.getvalue()


@pytest.mark.parametrize(
    ("source", "size"),
    [
        ("transformer", (13, 9)),
        pytest.param("keima-t7c96", (13, 9), marks=pytest.mark.slow),
        pytest.param("nets/synth-v15-meta-human.bin.gz", (9, 9), marks=pytest.mark.slow),
        pytest.param("nets/lz-0k.txt.gz", (19, 19), marks=pytest.mark.slow),
        pytest.param("nets/b7c96h6kv3qk32v16tflrs-fson-bnh.bin.gz", (9, 9), marks=pytest.mark.slow),
    ],
)
def test_onnx_runtime_computes_what_pytorch_computes_for_any_number_of_positions(
    source: str, size: tuple[int, int], tmp_path: Path
) -> None:
    path = str(require_shared(source)) if "/" in source else source
    if source in EXAMPLES:
        path = str(tmp_path / "net.safetensors")
        write(EXAMPLES[source], path)
    assert f"ONNX for {size[0]}x{size[1]}" in written(path, tmp_path / "net.onnx", size)
    assert_equal(tmp_path / "net.onnx", path, size)


def assert_equal(file: Path, source: str, size: tuple[int, int]) -> None:
    """Compare what ONNX Runtime computes with what PyTorch does."""
    from engine.nets.torch_modules.model import TorchModel

    spec = load(find_network(source))
    session = onnxruntime.InferenceSession(str(file))
    random = np.random.default_rng(3)
    planes = (random.random((3, spec.planes, size[1], size[0])) < 0.3).astype(np.float32)
    vectors = random.random((3, spec.globals + spec.metadata), np.float32)
    inputs = {"planes": planes, "globals": vectors}
    names = [each.name for each in session.get_inputs()]
    found = session.run(None, {name: inputs[name] for name in names})
    with torch.no_grad():
        expected = TorchModel(spec).eval()(torch.from_numpy(planes), torch.from_numpy(vectors))
    assert [each.name for each in session.get_outputs()] == ["policy", "result", "score", "ownership"]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-4, atol=1e-4)


@pytest.fixture(scope="module")
def without_size(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Convert a network without a size, which takes seconds; return the file and what was said."""
    file = tmp_path_factory.mktemp("onnx") / "net.onnx"
    return file, written("keima-b6c96", file, None)


def test_the_metadata_name_the_network_its_inputs_and_the_board(without_size: tuple[Path, str]) -> None:
    about = {each.key: each.value for each in onnx.load(without_size[0]).metadata_props}
    assert (about["name"], about["encoder"], about["board"]) == ("keima-b6c96", "katago-v7", "19x19")
    assert (about["planes"], about["globals"], about["score"]) == ("22", "19", "[B, scores]: mean, stdev, lead, unused")
    assert about["provenance.made by"].startswith("keima")


def test_without_a_size_the_board_is_19x19_or_the_nearest_that_the_network_supports(
    without_size: tuple[Path, str],
) -> None:
    file, said = without_size
    assert "ONNX for 19x19" in said
    assert_equal(file, "keima-b6c96", (19, 19))


@pytest.mark.parametrize(
    ("source", "target", "size", "message"),
    [
        ("nets/lz-0k.txt.gz", "net.onnx", (9, 9), "supports boards from 19x19 to 19x19, not 9x9"),
        ("nets/lz-0k.txt.gz", "net.safetensors", (9, 9), "--size is for ONNX files"),
    ],
)
def test_boards_that_cannot_be_written_are_refused(
    source: str, target: str, size: tuple[int, int], message: str, tmp_path: Path
) -> None:
    with pytest.raises(GoError, match=message):
        written(str(require_shared(source)), tmp_path / target, size)
    assert list(tmp_path.iterdir()) == []
