"""No file does worse than one line that says what is wrong, quickly and in bounded memory."""

import gzip
import io
import random
import re
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from engine.encoders import ENCODERS
from engine.nets.random import random_spec
from engine.nets.spec import WeightsError, tensors
from tests.shared import require_shared
from tests.weights.made_files import CHECKPOINT, KatagoFile, LeelaFile
from tests.weights.test_keras import made_weights
from weights import native, token_reader
from weights.katago_blocks import MAX_DEPTH
from weights.registry import FORMATS, format_of, load

BINARY = KatagoFile(8, binary=True, kinds=("ordinary", "gpool")).data
TEXT = KatagoFile(15, binary=False, kinds=("nested",)).data
TRANSFORMER = KatagoFile(17, binary=True, kinds=("learned attention", "ffn"), rms=True).data
LEELA = LeelaFile(blocks=1, filters=2, side=4).data
FILES = {"binary": BINARY, "text": TEXT, "transformer": TRANSFORMER, "leela": LEELA}
MEGABYTE = 1 << 20


def refusal(path: Path, reader: Callable[[Path], object] = load) -> WeightsError:
    """Return the error that a file gives; it is one line and names file, place, expected and got."""
    with pytest.raises(WeightsError) as caught:
        reader(path)
    assert_says_all(caught.value, path)
    return caught.value


def assert_says_all(error: WeightsError, path: Path) -> None:
    text = str(error)
    assert text.startswith(f"{path}: ")
    assert re.fullmatch(r"[ -~]+", text.removeprefix(str(path))), text
    assert len(text) < len(str(path)) + 400
    assert error.layer is not None or "unknown network format" in text
    assert error.offset is not None
    assert error.expected is not None
    assert error.got is not None


def loads_or_is_refused(path: Path, data: bytes) -> bool:
    """Return whether a file with these contents loads; otherwise its error says all, the offset too."""
    path.write_bytes(data)
    try:
        spec = load(path)
    except WeightsError as error:
        assert_says_all(error, path)
        return False
    assert all(np.isfinite(array).all() for _, array in tensors(spec))
    return True


@contextmanager
def memory_below(limit: int) -> Iterator[None]:
    """Fail when more bytes than these were in use at once."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < limit, f"{peak / MEGABYTE:.0f} MiB"


@pytest.mark.parametrize("kind", FILES)
def test_every_truncation_is_refused(kind: str, tmp_path: Path) -> None:
    data = FILES[kind]
    packed = gzip.compress(data)
    end = len(data.rstrip()) if kind in ("text", "leela") else len(data) - 1
    # The last number of a text may lose digits without anybody's notice.
    last = data.rstrip().rfind(b"\n" if kind == "leela" else b" ") + 2 if kind in ("text", "leela") else end
    for index in range(200):
        assert not loads_or_is_refused(tmp_path / "net", data[: index * last // 200])
        assert not loads_or_is_refused(tmp_path / "net", packed[: index * len(packed) // 200])
    for length in range(len(packed) - 12, len(packed)):
        assert not loads_or_is_refused(tmp_path / "net", packed[:length])


def whole_files() -> dict[str, bytes]:
    """Return a file of every format by its name."""
    npz = io.BytesIO()
    np.savez(npz, *made_weights(1))
    others = {"native": native.to_bytes(random_spec(1, 4, ENCODERS["liberties"], 1)), "keras": npz.getvalue()}
    others["checkpoint"] = CHECKPOINT.read_bytes()
    packed = {f"{kind}, packed": gzip.compress(data, mtime=0) for kind, data in FILES.items()}
    return {**FILES, **packed, **others}


def test_there_is_a_whole_file_of_every_format(tmp_path: Path) -> None:
    found = set()
    for kind, data in whole_files().items():
        (tmp_path / kind).write_bytes(data)
        found.add(format_of(tmp_path / kind).name)
    assert found == {each.name for each in FORMATS}


@pytest.mark.parametrize("kind", whole_files())
def test_an_incomplete_file_is_called_that_with_its_length(kind: str, tmp_path: Path) -> None:
    data, path = whole_files()[kind], tmp_path / "net"
    chance = random.Random(kind)
    # Of 200 bytes and more, the format is known.
    for length in {len(data) // 2, *(chance.randrange(200, len(data) * 99 // 100) for _ in range(100))}:
        path.write_bytes(data[:length])
        try:
            format_of(path)
            with pytest.raises(WeightsError) as caught:
                load(path)
        except WeightsError:
            assert length < 400
            continue
        assert str(caught.value).startswith(f"{path}: damaged or incomplete ({length:,} bytes): "), length


def test_a_packed_file_cut_in_its_first_bytes_is_called_incomplete(tmp_path: Path) -> None:
    path, packed = tmp_path / "net.bin.gz", gzip.compress(FILES["text"], mtime=0)
    for length in (3, 10, 11, 15, 20, 40):
        path.write_bytes(packed[:length])
        assert str(refusal(path)).startswith(f"{path}: damaged or incomplete ({length} bytes): "), length


def test_packed_text_that_is_no_network_is_of_an_unknown_format(tmp_path: Path) -> None:
    (tmp_path / "net.gz").write_bytes(gzip.compress(b"a letter, not a network"))
    assert "unknown network format" in str(refusal(tmp_path / "net.gz"))


def test_a_whole_file_that_cannot_be_used_is_not_called_damaged(tmp_path: Path) -> None:
    (tmp_path / "net").write_bytes(TEXT.replace(b"made-net 15", b"made-net 99"))
    assert not refusal(tmp_path / "net").damaged


@pytest.mark.parametrize("kind", FILES)
def test_a_changed_byte_is_refused_or_changes_a_number(kind: str, tmp_path: Path) -> None:
    data = FILES[kind]
    chance = random.Random(kind)
    loaded = 0
    for index in range(250):
        place = index if index < 50 else chance.randrange(len(data))
        changed = data[:place] + bytes([chance.randrange(256)]) + data[place + 1 :]
        loaded += loads_or_is_refused(tmp_path / "net", changed)
    assert 0 < loaded < 240


@pytest.mark.parametrize("kind", FILES)
def test_a_changed_byte_of_a_gzipped_file_is_refused(kind: str, tmp_path: Path) -> None:
    packed = gzip.compress(FILES[kind], mtime=0)
    chance = random.Random(kind)
    for _ in range(100):
        place = chance.randrange(10, len(packed))
        changed = packed[:place] + bytes([packed[place] ^ 1 << chance.randrange(8)]) + packed[place + 1 :]
        assert not loads_or_is_refused(tmp_path / "net", changed)


@pytest.mark.slow
def test_a_thousand_changed_bytes_of_a_real_network(tmp_path: Path) -> None:
    data = gzip.decompress(require_shared("nets/g170-b6c96-s175395328-d26788732.bin.gz").read_bytes())
    chance = random.Random(1)
    loaded = 0
    for _ in range(1000):
        place = chance.randrange(100, len(data))
        changed = bytearray(data)
        changed[place] = chance.randrange(256)
        loaded += loads_or_is_refused(tmp_path / "net", bytes(changed))
    print(f"{loaded} of 1000 load")
    assert loaded > 900
    for index in range(200):
        assert not loads_or_is_refused(tmp_path / "net", data[: index * len(data) // 200])


def test_declared_sizes_of_a_billion_cost_nothing(tmp_path: Path) -> None:
    words = KatagoFile(15, binary=False, kinds=("gpool",)).data.split(b" ")
    places = [index for index, word in enumerate(words) if word.isdigit()]
    assert len(places) > 80
    loaded = 0
    with memory_below(8 * MEGABYTE):
        for place in places:
            data = b" ".join([*words[:place], b"1000000000", *words[place + 1 :]])
            loaded += loads_or_is_refused(tmp_path / "net", data)
    assert loaded <= 6, "only the scales of the outputs may be so large"


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", ["binary", "text"])
def test_an_array_that_the_file_cannot_hold_takes_no_memory(kind: str, packed: bool, tmp_path: Path) -> None:
    mark = "@BIN@" if kind == "binary" else "0.5 "
    data = f"net 8 22 19 trunk 1 65000 1 1 1 1 conv1 3 3 22 65000 1 1 {mark}".encode()
    (tmp_path / "net").write_bytes(gzip.compress(data) if packed else data)
    with memory_below(MEGABYTE):
        error = refusal(tmp_path / "net")
    assert error.layer == "conv1"
    assert error.message == "more weights than the file can hold"
    assert error.got == 9 * 22 * 65000


def bomb(start: bytes, filling: bytes) -> bytes:
    """Return a gzip file of some 10 MB that unpacks to a beginning and 10 GB of something repeated."""
    packer = zlib.compressobj(9, wbits=31)
    begun = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH)
    # What follows a full flush does not depend on what was before, so it can be repeated.
    once = packer.compress(filling * (16 * MEGABYTE // len(filling))) + packer.flush(zlib.Z_FULL_FLUSH)
    return begun + once * 640


HEADER = b"net 8 22 19 trunk 1 8 1 1 1 1 "
BOMBS = {
    "zeros in a name": (HEADER, b"\0", "bad the name of a convolution"),
    "white space": (HEADER, b" ", "too long when unpacked"),
    "numbers": (HEADER + b"conv1 3 3 22 8 1 1 ", b"0 ", "bad inputs"),
    "zeros in an array": (HEADER + b"conv1 3 3 22 8 1 1 @BIN@", b"\0", "bad the name of a matrix"),
    "a line": (b"1\n", b"0 ", "wrong number of numbers"),
    "lines": (b"1\n", b"0 0\n", "too many lines"),
    "a word of leela": (b"1\n0 ", b"0", "bad numbers"),
}


@pytest.mark.parametrize("case", BOMBS)
def test_ten_gigabytes_unpacked_are_refused_in_bounded_memory(case: str, tmp_path: Path) -> None:
    start, filling, text = BOMBS[case]
    data = bomb(start, filling)
    (tmp_path / "net").write_bytes(data)
    assert 9 * MEGABYTE < len(data) < 40 * MEGABYTE
    began = time.process_time()
    with memory_below(token_reader.MAX_RATIO * len(data)):
        error = refusal(tmp_path / "net")
    assert error.message.startswith(text)
    if case == "white space":
        assert error.expected == f"at most {token_reader.MAX_RATIO * len(data)} bytes"
    print(f"{case}: {time.process_time() - began:.1f} s")


@pytest.mark.parametrize("bad", [b"nan", b"inf", b"-inf", b"1e39", b"1_0", b"0x1", b"1,5", b"@BIN@", b"--1"])
def test_what_is_no_finite_number_is_named_with_its_place(bad: bytes, tmp_path: Path) -> None:
    place = TEXT.index(b" ", TEXT.index(b"\nstem.globals ") + 30) + 1
    end = TEXT.index(b" ", place)
    (tmp_path / "net").write_bytes(TEXT[:place] + bad + TEXT[end:])
    error = refusal(tmp_path / "net")
    assert (error.layer, error.offset, error.got) == ("stem.globals", place, bad.decode())


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_binary_number_that_is_not_finite_is_named_with_its_place(bad: float, tmp_path: Path) -> None:
    made = KatagoFile(17, binary=True, kinds=("learned attention", "ffn"), rms=True)
    for path, end in made.ends.items():
        place = end - 5
        (tmp_path / "net").write_bytes(made.data[:place] + np.float32(bad).tobytes() + made.data[end - 1 :])
        error = refusal(tmp_path / "net")
        assert error.offset == place, path
        assert str(error.got) == str(np.float32(bad))


@pytest.mark.parametrize("version", ["2", "18", "-1", "1000000000000000000000", "8.0"])
def test_an_unknown_version_is_refused(version: str, tmp_path: Path) -> None:
    (tmp_path / "net").write_bytes(BINARY.replace(b" 8 22", f" {version} 22".encode(), 1))
    text = str(refusal(tmp_path / "net"))
    known = "made-net 8" if "no known" in text else "expected 3 to 17"
    assert known in text or "unknown network format" in text


def test_numbers_of_the_other_kind_are_refused(tmp_path: Path) -> None:
    text, binary = (KatagoFile(8, binary=each, kinds=("ordinary",)) for each in (False, True))
    # The first array tells the kind; the rest is of the other one.
    first = text.data.index(b"stem.globals"), binary.data.index(b"stem.globals")
    (tmp_path / "net").write_bytes(text.data[: first[0]] + binary.data[first[1] :])
    error = refusal(tmp_path / "net")
    assert (error.layer, error.expected, str(error.got)[:5]) == ("stem.globals", "a finite number", "@BIN@")
    (tmp_path / "net").write_bytes(binary.data[: first[1]] + text.data[first[0] :])
    error = refusal(tmp_path / "net")
    assert (error.layer, error.expected) == ("stem.globals", "@BIN@")


def test_blocks_within_blocks_end_somewhere(tmp_path: Path) -> None:
    made = KatagoFile(8, binary=False, kinds=("nested",)).data
    begin, end = made.index(b"nested_bottleneck_block"), made.index(b"gpool_block")
    opened = made[begin:end].replace(b" 4 3 1 1", b" 4 4 1 1").split(b"blocks.0.conv1")[0]
    opened += b"blocks.0.conv1 1 1 4 4 1 1 " + b"1 " * 16 + b"\n"
    (tmp_path / "net").write_bytes(made[:begin] + opened * 5000)
    error = refusal(tmp_path / "net")
    assert error.message == "too many levels of nested blocks"
    assert error.got == MAX_DEPTH + 1


@pytest.mark.parametrize("count", [b"0", b"4097", b"-1", b"x"])
def test_the_number_of_blocks_is_bounded(count: bytes, tmp_path: Path) -> None:
    (tmp_path / "net").write_bytes(BINARY.replace(b"trunk 2", b"trunk " + count))
    error = refusal(tmp_path / "net")
    assert (error.layer, error.message, error.expected) == ("trunk", "bad number of blocks", "1 to 4096")


def test_a_word_without_end_is_refused(tmp_path: Path) -> None:
    start = BINARY.index(b"stem.conv")
    (tmp_path / "net").write_bytes(BINARY[:start] + b"a" * 10_000_000)
    with memory_below(MEGABYTE):
        error = refusal(tmp_path / "net")
    assert str(error).endswith("bad the name of a convolution, expected at most 1024 characters, got more")


def test_more_after_the_last_layer_is_refused(tmp_path: Path) -> None:
    assert loads_or_is_refused(tmp_path / "net", BINARY + b" \n\n")
    (tmp_path / "net").write_bytes(BINARY + b"x")
    assert refusal(tmp_path / "net").offset == len(BINARY)


@pytest.mark.parametrize(
    "data",
    # No time stamp: the names of the tests must be the same in every process.
    [b"", b"\n", b"\0" * 100, b"\x1f\x8b", gzip.compress(b"", mtime=0), b"net 8", b"<html>", b"\x89PNG\r\n\x1a\n" * 9],
)
def test_what_is_no_network_is_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "net").write_bytes(data)
    assert "unknown network format" in str(refusal(tmp_path / "net"))


def test_a_damaged_file_whose_reader_quotes_all_of_a_long_name_gives_a_short_line(tmp_path: Path) -> None:
    path = tmp_path / "net.npz"
    np.savez(path, np.zeros((3, 3, 1, 200), np.float32))
    data = path.read_bytes()
    # The length of the name in front of the array, which zipfile quotes where it differs from the one at the end.
    path.write_bytes(data[:26] + b"\x00\x0f" + data[28:])
    with pytest.raises(WeightsError) as caught:
        load(path)
    assert str(caught.value).startswith(
        f"{path}: damaged or incomplete ({path.stat().st_size:,} bytes): npz: File name in directory"
    )
    assert len(str(caught.value)) < len(str(path)) + 400


def test_a_folder_and_a_missing_file_are_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(WeightsError, match="cannot be read: ") as caught:
            load(path)
        assert str(caught.value).startswith(f"{path}: ")


FAULTS = {
    "planes": (b" 8 22 19", b" 8 21 19", "21", "header: {}: bad number of planes, expected 22, got 21"),
    "channels": (b"globals 19 4", b"globals 19 5", "5", "stem.globals: {}: bad outputs, expected 4, got 5"),
    "even kernel": (b"conv 5 5", b"conv 5 4", "4", "stem.conv: {}: bad kernel, expected odd sides, got 5x4"),
    "huge kernel": (b"conv 5 5", b"conv 99 5", "99", "stem.conv: {}: bad kernel height, expected 1 to 49, got 99"),
    "dilation": (b"22 4 1 1", b"22 4 1 9", "9", "stem.conv: {}: bad dilation, expected 1 to 4, got 9"),
    "block": (
        b"ordinary_block",
        b"block\x1b[0m",
        "block",
        "stem.globals: {}: unknown block, expected ordinary_block or ",
    ),
    "flag": (
        b".norm1 4 0.001 ",
        b".norm1 4 0.001 7 ",
        "7",
        "blocks.0.norm1: {}: bad scale flag, expected 0 to 1, got 7",
    ),
    "epsilon": (b".norm1 4 0.001", b".norm1 4 -0.0", "-0.0", "blocks.0.norm1: {}: bad epsilon, expected > 0, got -0.0"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_is_named_where_it_stands(case: str, tmp_path: Path) -> None:
    old, new, word, text = FAULTS[case]
    place = BINARY.index(old)
    (tmp_path / "net").write_bytes(BINARY[:place] + new + BINARY[place + len(old) :])
    at = place + new.rindex(word.encode())
    assert str(refusal(tmp_path / "net")).startswith(f"{tmp_path / 'net'}: {text.format(f'byte {at}')}")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            b"attention_block blocks.0 4 2",
            b"attention_block blocks.0 4 3",
            "bad key heads, expected a divisor of 4, got 3",
        ),
        (
            b"attention_block blocks.0 4 2 6",
            b"attention_block blocks.0 4 2 5",
            "bad query width, expected an even number",
        ),
        (b"ffn_block blocks.1 4 5 1", b"ffn_block blocks.1 4 5 0", "bad gate flag, expected 1, got 0"),
        (b"policyhead 2", b"policyhead 3", "bad policy channels, expected 2 or 4, got 3"),
        (b"policyhead 2 0", b"policyhead 2 1", "bad reserved field, expected 0, got 1"),
        (b"tip 4 1e-06 1 0", b"tip 4 1e-06 1 2", "bad group size, expected 0, got 2"),
        (b"ACTIVATION_MISH", b"ACTIVATION_GELU", "unknown activation, expected ACTIVATION_IDENTITY or "),
        (b"20 21 22 23.5", b"20 21 0 23.5", "bad stdev scale, expected > 0, got 0.0"),
    ],
)
def test_what_no_version_has_is_refused(old: bytes, new: bytes, message: str, tmp_path: Path) -> None:
    assert old in TRANSFORMER
    (tmp_path / "net").write_bytes(TRANSFORMER.replace(old, new, 1))
    assert message in str(refusal(tmp_path / "net"))


def test_a_negative_variance_is_refused(tmp_path: Path) -> None:
    made = KatagoFile(8, binary=True)
    place = made.ends["tip.norm.variance"] - 5
    (tmp_path / "net").write_bytes(made.data[:place] + np.float32(-2.0).tobytes() + made.data[place + 4 :])
    error = refusal(tmp_path / "net")
    assert (error.layer, error.message, error.got) == ("tip.norm", "bad variances", -2.0)
