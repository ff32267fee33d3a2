"""The policy and value heads of a network, and the meaning of their outputs.

KataGo's convolutional heads fit every board size, the dense heads of AlphaGo Zero and Leela Zero only one.
`engine.evaluators.postprocess` computes evaluations from the outputs.
"""

from dataclasses import dataclass
from enum import StrEnum

from engine.nets.blocks import POOLS
from engine.nets.layers import Activation, Conv, Linear, Norm, WeightsError


class ValueKind(StrEnum):
    """The meaning of the value head's result.

    TANH: one number, whose tanh is the expected result.
    SOFTMAX: logits of win, loss and, if there are three, no result; value = P(win) - P(loss).
    """

    TANH = "tanh"
    SOFTMAX = "softmax"


class Score(StrEnum):
    """The meaning of one number x of the score output, from the view of the side to move.

    MEAN, STDEV: mean and deviation of the final score under self-play, x * scale and softplus(x) * scale, in points.
    LEAD: the points that would make the game even, x * scale; without this output the mean is used.
    BOARD_MEAN: mean and lead in one, x * 2 * sqrt(area), not reduced by the probability of no result.
    VARIANCE_TIME: the approximate number of turns for which the outcome stays open, softplus(x) * scale.
    VALUE_ERROR, SCORE_ERROR: the expected short-term error of value and score, see `ErrorForm`.
    UNUSED: not read.
    """

    MEAN = "mean"
    STDEV = "stdev"
    LEAD = "lead"
    BOARD_MEAN = "board_mean"
    VARIANCE_TIME = "variance_time"
    VALUE_ERROR = "value_error"
    SCORE_ERROR = "score_error"
    UNUSED = "unused"


class ErrorForm(StrEnum):
    """The formula of a short-term error for a number x with scale s.

    LINEAR: softplus(x) for the value, 10 * softplus(x) for the score.
    ROOT: sqrt(softplus(x) * s). SQUARED: sqrt(softplus(x / 2)^2 * s).
    """

    LINEAR = "linear"
    ROOT = "root"
    SQUARED = "squared"


LINEAR_SCORE_ERROR = 10.0
"""Points for a softplus of 1 in the form LINEAR."""


@dataclass(frozen=True)
class Scales:
    """The scale of each meaning in `Score` that has one."""

    mean: float = 20.0
    stdev: float = 20.0
    lead: float = 20.0
    variance_time: float = 40.0
    value_error: float = 0.25
    score_error: float = 30.0


@dataclass(frozen=True, eq=False)
class PolicyHead:
    """g = global_pool(pool_act(pool_norm(pool_conv(t)))); logits = conv2(act(norm(conv1(t) + g . pool_bias)));
    pass logit = pass_hidden, pass_activation and pass_linear of g (no hidden layer: pass_linear of g).

    Output channel 0 is the policy. optimistic: the channel of the policy for a side that does better than it expected;
    0 if there is none. Other channels are not read.
    """

    conv1: Conv
    pool_conv: Conv
    pool_norm: Norm
    pool_bias: Linear
    norm: Norm
    conv2: Conv
    pass_linear: Linear
    pass_hidden: Linear | None = None
    pool_activation: Activation = Activation.RELU
    activation: Activation = Activation.RELU
    pass_activation: Activation = Activation.RELU
    optimistic: int = 0

    @property
    def policies(self) -> int:
        """Output channels."""
        return self.conv2.outputs

    def check(self, path: str, channels: int) -> None:
        """Raise WeightsError unless the layers fit each other and a trunk of `channels`."""
        width = self.conv1.check(f"{path}.conv1", channels)
        pooled = self.pool_conv.check(f"{path}.pool_conv", channels)
        self.pool_norm.check(f"{path}.pool_norm", pooled)
        self.pool_bias.check(f"{path}.pool_bias", POOLS * pooled, width)
        self.norm.check(f"{path}.norm", width)
        policies = self.conv2.check(f"{path}.conv2", width)
        hidden = POOLS * pooled
        if self.pass_hidden is not None:
            hidden = self.pass_hidden.check(f"{path}.pass_hidden", hidden)
        self.pass_linear.check(f"{path}.pass_linear", hidden, policies)
        if not 0 <= self.optimistic < policies:
            raise WeightsError("no such policy", layer=path, expected=f"0 to {policies - 1}", got=self.optimistic)


@dataclass(frozen=True, eq=False)
class ValueHead:
    """v = act(norm(conv(t))); h = hidden_act(hidden(value_pool(v))); result, score = linear(h);
    ownership = tanh(ownership conv of v).

    scores: the meaning of each score output. no_result_always: use the probability of no result even under rules that
    have no such end.
    """

    meaning: ValueKind
    conv: Conv
    norm: Norm
    hidden: Linear
    result: Linear
    score: Linear | None = None
    ownership: Conv | None = None
    activation: Activation = Activation.RELU
    hidden_activation: Activation = Activation.RELU
    scores: tuple[Score, ...] = ()
    scales: Scales = Scales()
    error_form: ErrorForm = ErrorForm.SQUARED
    no_result_always: bool = False

    def check(self, path: str, channels: int) -> None:
        """Raise WeightsError unless the layers fit each other and a trunk of `channels`."""
        width = self.conv.check(f"{path}.conv", channels)
        self.norm.check(f"{path}.norm", width)
        hidden = self.hidden.check(f"{path}.hidden", POOLS * width)
        results = self.result.check(f"{path}.result", hidden)
        allowed = (1,) if self.meaning is ValueKind.TANH else (2, 3)
        if results not in allowed:
            wanted = " or ".join(map(str, allowed))
            raise WeightsError(
                f"wrong number of {self.meaning} results", layer=f"{path}.result", expected=wanted, got=results
            )
        scores = 0 if self.score is None else self.score.check(f"{path}.score", hidden)
        if scores != len(self.scores):
            raise WeightsError("wrong number of scores", layer=f"{path}.score", expected=len(self.scores), got=scores)
        named = [each for each in self.scores if each is not Score.UNUSED]
        if len(named) != len(set(named)):
            raise WeightsError("two scores of one meaning", layer=f"{path}.scores", got=" ".join(self.scores))
        if self.ownership is not None:
            self.ownership.check(f"{path}.ownership", width, 1)


@dataclass(frozen=True, eq=False)
class DensePolicyHead:
    """logits [area + 1] = linear(x), x the points of act(norm(conv(t))), channel by channel; for one board size.

    hidden: a layer before the linear one, hidden_act(hidden(x)); None in most networks.
    """

    conv: Conv
    norm: Norm
    linear: Linear
    activation: Activation = Activation.RELU
    hidden: Linear | None = None
    hidden_activation: Activation = Activation.RELU

    @property
    def policies(self) -> int:
        """Output channels."""
        return 1

    @property
    def optimistic(self) -> int:
        """0: there is no optimistic policy."""
        return 0

    def check(self, path: str, channels: int, area: int) -> None:
        """Raise WeightsError unless the layers fit each other, a trunk of `channels` and a board of `area`."""
        width = self.conv.check(f"{path}.conv", channels)
        self.norm.check(f"{path}.norm", width)
        inputs = width * area if self.hidden is None else self.hidden.check(f"{path}.hidden", width * area)
        self.linear.check(f"{path}.linear", inputs, area + 1)


@dataclass(frozen=True, eq=False)
class DenseValueHead:
    """h = hidden_act(hidden of the points of act(norm(conv(t)))); value = tanh(result(h)); for one board size.

    black_view: the value is Black's, otherwise that of the side to move.
    """

    conv: Conv
    norm: Norm
    hidden: Linear
    result: Linear
    activation: Activation = Activation.RELU
    hidden_activation: Activation = Activation.RELU
    black_view: bool = False

    def check(self, path: str, channels: int, area: int) -> None:
        """Raise WeightsError unless the layers fit each other, a trunk of `channels` and a board of `area`."""
        width = self.conv.check(f"{path}.conv", channels)
        self.norm.check(f"{path}.norm", width)
        hidden = self.hidden.check(f"{path}.hidden", width * area)
        self.result.check(f"{path}.result", hidden, 1)
