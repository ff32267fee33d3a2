"""Auxiliary heads: more targets for the trunk to learn from. They exist in training alone, never in a network file.

Soft policy, score distribution and short-term predictions are KataGo's (docs/KataGoMethods.md, "Auxiliary soft policy
target" and "Short-term value and score targets"; Wu 2019, section 4.2, for the distribution). Knows neither data nor
loss.
"""

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from engine.nets.random import random_policy_head
from engine.nets.torch_modules.layers import value_pool
from engine.nets.torch_modules.model import TorchPolicy
from engine.train.data.samples import HORIZONS
from engine.train.learning.train_config import TrainConfig

REPLY_CHANNELS = 32
OUTCOMES = 3
SCORE_MARGIN = 60
"""Points beyond the area of the board to which the score distribution reaches on both sides, as in KataGo."""
SCORE_SCALE = 20.0
"""Points for an output of 1 of the short-term scores."""
_CHANNELS, _HIDDEN = 32, 64
# KataGo's scale of the offsets that the score distribution reads.
_OFFSET_SCALE = 0.05


class Extra(NamedTuple):
    """The auxiliary heads that a network in training has, besides the reply's."""

    soft_policy: bool = False
    score_distribution: bool = False
    short_term: bool = False


def extra_heads(config: TrainConfig) -> Extra:
    """Return the heads whose losses have a weight."""
    return Extra(
        soft_policy=config.soft_policy_weight > 0,
        score_distribution=config.score_distribution_weight > 0,
        short_term=config.short_value_weight > 0 or config.short_score_weight > 0,
    )


class Auxiliary(NamedTuple):
    """The outputs of the auxiliary heads for B positions; [B, 0] from a head that does not exist.

    soft, soft_reply: logits [B, area + 1]. distribution: logits [B, 2 * (area + SCORE_MARGIN)], see `score_offsets`.
    short_values: logits [B, 3 * HORIZONS] of win, loss and no result at each horizon. short_scores: [B, HORIZONS] in
    points.
    """

    soft: Tensor
    soft_reply: Tensor
    distribution: Tensor
    short_values: Tensor
    short_scores: Tensor


def score_offsets(area: int, device: torch.device | None = None) -> Tensor:
    """Return the scores [2 * (area + SCORE_MARGIN)] of the distribution's entries: all half points in its range."""
    middle = area + SCORE_MARGIN
    return torch.arange(-middle, middle, device=device) + 0.5


class AuxiliaryHeads(nn.Module):
    """The auxiliary heads on a trunk of `channels`. seed: of the weights."""

    def __init__(self, channels: int, extra: Extra, seed: int) -> None:
        super().__init__()
        self.extra = extra
        if extra.soft_policy:
            self.soft, self.soft_reply = (
                TorchPolicy(random_policy_head(channels, REPLY_CHANNELS, seed + step)) for step in (1, 2)
            )
        if extra.score_distribution or extra.short_term:
            self.conv = nn.Conv2d(channels, _CHANNELS, 1)
            self.hidden = nn.Linear(3 * _CHANNELS, _HIDDEN)
        if extra.score_distribution:
            self.offset, self.entry = nn.Linear(1, _HIDDEN, bias=False), nn.Linear(_HIDDEN, 1, bias=False)
        if extra.short_term:
            self.short_values, self.short_scores = (
                nn.Linear(_HIDDEN, HORIZONS * OUTCOMES),
                nn.Linear(_HIDDEN, HORIZONS),
            )
        # torch's own initialization draws from its global generator, which would make networks depend on the heads.
        generator = torch.Generator().manual_seed(seed)
        for module in (each for each in self.children() if isinstance(each, nn.Conv2d | nn.Linear)):
            deviation = (2.0 / module.weight[0].numel()) ** 0.5
            nn.init.normal_(module.weight, std=deviation, generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, trunk: Tensor) -> Auxiliary:
        """Compute all heads that exist from the trunk [B, channels, H, W]."""
        nothing = trunk.new_empty((len(trunk), 0), dtype=torch.float32)
        found = Auxiliary(**dict.fromkeys(Auxiliary._fields, nothing))
        if self.extra.soft_policy:
            found = found._replace(soft=self.soft(trunk)[:, 0], soft_reply=self.soft_reply(trunk)[:, 0])
        if self.extra.score_distribution or self.extra.short_term:
            hidden = torch.relu(self.hidden(value_pool(torch.relu(self.conv(trunk)))))
            if self.extra.score_distribution:
                found = found._replace(distribution=self._distribution(hidden, trunk.shape[2] * trunk.shape[3]))
            if self.extra.short_term:
                scores = self.short_scores(hidden).float() * SCORE_SCALE
                found = found._replace(short_values=self.short_values(hidden).float(), short_scores=scores)
        return found

    def _distribution(self, hidden: Tensor, area: int) -> Tensor:
        """Return a logit for each score: one small network reads the position and the score, for all board sizes."""
        offsets = self.offset((score_offsets(area, hidden.device) * _OFFSET_SCALE).unsqueeze(1))
        entries = self.entry(torch.relu(hidden.unsqueeze(1) + offsets.unsqueeze(0)))
        return cast(Tensor, entries).squeeze(2).float()
