"""Reads the layers of KataGo's network files and checks their sizes.

Every layer begins with its name, which error messages include. Sizes that follow from earlier layers are checked as
soon as they are read, so an error points to the layer that is wrong.
"""

import numpy as np

from engine.nets.spec import POOLS, Activation, Array, Conv, Linear, Norm, RmsNorm
from weights.bounds import MAX_CHANNELS, MAX_KERNEL, check_growth
from weights.token_reader import TokenReader, shown

ACTIVATIONS = {
    "ACTIVATION_IDENTITY": Activation.IDENTITY,
    "ACTIVATION_RELU": Activation.RELU,
    "ACTIVATION_MISH": Activation.MISH,
    "ACTIVATION_SILU": Activation.SILU,
}
MAX_DILATION = 4
NAMED_ACTIVATIONS = 11
"""First version whose files state the activation; before, it is always ReLU."""


class LayerReader:
    """Reads the layers of one file of one version, in order."""

    def __init__(self, tokens: TokenReader, version: int) -> None:
        self.tokens, self.version = tokens, version

    def begin(self, what: str) -> str:
        """Read the name of a layer or group of layers; errors mention it from here on."""
        self.tokens.layer = self.tokens.word(f"the name of {what}")
        return self.tokens.layer

    def size(self, what: str, wanted: int | None = None) -> int:
        """Read a number of channels, which must equal `wanted` if given."""
        low, high = (1, MAX_CHANNELS) if wanted is None else (wanted, wanted)
        return self.tokens.integer(what, low, high)

    def flag(self, what: str) -> bool:
        """Read a 0 or 1."""
        return self.tokens.integer(what, 0, 1) == 1

    def reserved(self, count: int) -> None:
        """Read fields that no known version uses, which must be 0."""
        for _ in range(count):
            self.tokens.integer("reserved field", 0, 0)

    def positive(self, what: str) -> float:
        """Read a number above 0."""
        value = self.tokens.number(what)
        if not value > 0.0:
            raise self.tokens.error(f"bad {what}", "> 0", value, self.tokens.word_offset)
        return value

    def epsilon(self) -> float:
        """Read the epsilon of a norm."""
        return self.positive("epsilon")

    def conv(self, inputs: int, outputs: int | None = None, kernel: int | None = None) -> Conv:
        """Read a convolution. kernel: its side, if known.

        A dilated convolution is returned as an ordinary one with zeros in between, which computes the same.
        """
        self.begin("a convolution")
        low, high = (1, MAX_KERNEL) if kernel is None else (kernel, kernel)
        height, width = (self.tokens.integer(f"kernel {side}", low, high) for side in ("height", "width"))
        if height % 2 == 0 or width % 2 == 0:
            raise self.tokens.error("bad kernel", "odd sides", f"{height}x{width}", self.tokens.word_offset)
        shape = (height, width, self.size("input channels", inputs), self.size("output channels", outputs))
        dilations = [self.tokens.integer("dilation", 1, MAX_DILATION) for _ in range(2)]
        # KataGo stores [y, x, in, out]; a NetSpec has [out, in, y, x].
        weight = self.tokens.array("weights", *shape).transpose(3, 2, 0, 1)
        return Conv(np.ascontiguousarray(_dilated(weight, *dilations)))

    def norm(self, channels: int) -> Norm:
        """Read a batch norm."""
        self.begin("a norm")
        self.size("channels", channels)
        epsilon = self.epsilon()
        has_scale, has_bias = self.flag("scale flag"), self.flag("bias flag")
        mean = self.tokens.array("means", channels)
        start = self.tokens.offset
        variance = self.tokens.array("variances", channels)
        # A negative variance would make NaN of the whole network.
        if float(variance.min()) < 0.0:
            raise self.tokens.error("bad variances", ">= 0", variance.min(), start)
        scale = self.tokens.array("scales", channels) if has_scale else None
        bias = self.tokens.array("biases", channels) if has_bias else None
        return Norm(mean, variance, scale, bias, epsilon)

    def block_rms_norm(self, channels: int) -> RmsNorm:
        """Read the norm of a transformer block."""
        self.begin("a norm")
        self.size("channels", channels)
        epsilon = self.epsilon()
        return RmsNorm(self.tokens.array("weights", channels), None, epsilon)

    def tip_rms_norm(self, channels: int) -> RmsNorm:
        """Read the norm at the end of a transformer's trunk."""
        self.begin("a norm")
        self.size("channels", channels)
        epsilon = self.epsilon()
        spatial = self.flag("spatial flag")
        self.tokens.integer("group size", 0, 0)
        weight = self.tokens.array("weights", channels)
        return RmsNorm(weight, self.tokens.array("biases", channels), epsilon, spatial)

    def activation(self) -> Activation:
        """Read an activation."""
        self.begin("an activation")
        if self.version < NAMED_ACTIVATIONS:
            return Activation.RELU
        kind = self.tokens.word("the kind of activation")
        if kind not in ACTIVATIONS:
            raise self.tokens.error(
                "unknown activation", " or ".join(ACTIVATIONS), shown(kind), self.tokens.word_offset
            )
        return ACTIVATIONS[kind]

    def matmul(self, inputs: int, outputs: int | None = None) -> Linear:
        """Read a matrix without bias."""
        self.begin("a matrix")
        shape = (self.size("inputs", inputs), self.size("outputs", outputs))
        return Linear(self.tokens.array("weights", *shape))

    def bias(self, channels: int) -> Array:
        """Read a bias."""
        self.begin("a bias")
        self.size("channels", channels)
        return self.tokens.array("biases", channels)

    def linear(self, inputs: int, outputs: int | None = None) -> Linear:
        """Read a matrix and the bias after it."""
        matrix = self.matmul(inputs, outputs)
        return Linear(matrix.weight, self.bias(matrix.outputs))

    def pooled_matmul(self, channels: int, outputs: int | None = None) -> Linear:
        """Read a matrix on the pooled values of `channels` channels."""
        return self.matmul(POOLS * channels, outputs)


def _dilated(weight: Array, vertical: int, horizontal: int) -> Array:
    """Return the kernel [out, in, ky, kx] with zeros inserted between its entries."""
    if vertical == horizontal == 1:
        return weight
    outputs, inputs, height, width = weight.shape
    shape = outputs, inputs, (height - 1) * vertical + 1, (width - 1) * horizontal + 1
    check_growth(shape, weight.size, "dilated convolution")
    spread = np.zeros(shape, np.float32)
    spread[:, :, ::vertical, ::horizontal] = weight
    return spread
