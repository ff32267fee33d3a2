"""Deep Q-learning on small boards: a study beside the main training, to see what the method can and cannot do.

Double deep Q-learning (van Hasselt, Guez and Silver 2015) by self-play: Q(s, a) is the expected result for the side
to move, in [-1, 1], without discount; the only reward is 1, 0 or -1 at the end of the game. Because players
alternate, the value of a position n plies later has the sign (-1)^n. The online network chooses the best move there,
and a target network, a copy that is updated at intervals, evaluates it. Only legal moves that fill no own eye are
considered or played, and a pass if there are none.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from engine.color import BLACK, WHITE, for_color
from engine.encoders import ENCODERS
from engine.encoders.game_positions import write_position
from engine.evaluation.positions import PositionBatch
from engine.evaluators.uniform import uniform_policy
from engine.game import Game
from engine.rules import TROMP_TAYLOR
from engine.scoring import final_score
from engine.train.study.dqn_settings import DqnSettings
from engine.vertex import from_policy_index

Floats = NDArray[np.float32]


class QNet(nn.Module):
    """A convolutional network with a value in [-1, 1] for each point and for a pass."""

    def __init__(self, planes: int, settings: DqnSettings) -> None:
        super().__init__()
        widths = [planes] + [settings.channels] * settings.layers
        self.convs = nn.ModuleList(nn.Conv2d(inputs, outputs, 3, padding=1) for inputs, outputs in pairwise(widths))
        self.points = nn.Conv2d(settings.channels, 1, 1)
        self.passing = nn.Linear(settings.channels, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return Q values [B, area + 1] for inputs [B, planes, H, W], pass last."""
        for conv in self.convs:
            inputs = torch.relu(conv(inputs))
        points = self.points(inputs).flatten(1)
        return torch.tanh(torch.cat([points, self.passing(inputs.mean(dim=(2, 3)))], dim=1))


def masked_best(values: Tensor, allowed: Tensor) -> Tensor:
    """Return the index [B] of the largest allowed value; both inputs are [B, area + 1], with an allowed one per row."""
    return values.masked_fill(~allowed, -torch.inf).argmax(dim=1)


@dataclass(frozen=True, eq=False)
class Transition:
    """A move in a position, and its n-step outcome.

    later: the inputs and the allowed moves of the position `returns` plies later, None if the game ended before.
    result: of the game for the side that moved; used only if there is no later position.
    """

    inputs: Floats
    action: int
    later: tuple[Floats, NDArray[np.bool_]] | None
    result: float


def targets(batch: list[Transition], online: QNet, copy: QNet, sign: float) -> Tensor:
    """Return the target Q values: the result, or sign * Q_copy(later, argmax Q_online(later)) over allowed moves."""
    wanted = torch.tensor([each.result for each in batch], dtype=torch.float32)
    going_on = [row for row, each in enumerate(batch) if each.later is not None]
    known = [each.later for each in batch if each.later is not None]
    if known:
        later, allowed = (torch.from_numpy(np.stack(part)) for part in zip(*known, strict=True))
        with torch.no_grad():
            best = masked_best(online(later), allowed)
            wanted[going_on] = sign * copy(later).gather(1, best[:, None])[:, 0]
    return wanted


class Table:
    """Games in parallel, with their positions as network inputs."""

    def __init__(self, settings: DqnSettings, count: int) -> None:
        self._settings, size = settings, settings.size
        self._format = ENCODERS[settings.encoder]
        self._positions = PositionBatch(count, size, size)
        self._globals = np.zeros((count, self._format.globals), dtype=np.float32)
        self._scratch = self._format.new_scratch(size, size)
        self.planes = self._format.planes + self._format.globals
        self.games = [self.new_game() for _ in range(count)]

    def new_game(self) -> Game:
        """Return a new game."""
        return Game(self._settings.size, rules=TROMP_TAYLOR, komi=self._settings.komi)

    def is_over(self, game: Game) -> bool:
        """True if a game has ended or reached its maximum length."""
        return game.is_over or game.move_number >= self._settings.longest * self._settings.size**2

    def look(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the inputs [B, planes, H, W], globals as constant planes, and the allowed moves [B, area + 1]."""
        count, size = len(self.games), self._settings.size
        for row, game in enumerate(self.games):
            write_position(game, game.to_play, self._positions, row)
        planes = np.zeros((count, self._format.planes, size, size), dtype=np.float32)
        self._format.encode(self._positions, count, planes, self._globals, self._scratch)
        constant = np.broadcast_to(self._globals[:, :, None, None], (*self._globals.shape, size, size))
        policy = np.zeros((count, size * size + 1), dtype=np.float32)
        positions = self._positions
        uniform_policy(positions.boards, positions.to_play, positions.legal, size, count, policy)
        allowed = policy > 0
        allowed[:, -1] = ~allowed[:, :-1].any(axis=1)
        return np.concatenate([planes, constant], axis=1), allowed

    def play(self, row: int, action: int) -> None:
        """Play the move with a policy index in one game."""
        game, size = self.games[row], self._settings.size
        game.play(game.to_play, from_policy_index(action, size, size))


class Learner:
    """Plays games, stores their transitions and trains. memory: the replay memory, at most `settings.memory` long."""

    def __init__(self, settings: DqnSettings) -> None:
        torch.manual_seed(settings.seed)
        self.settings, self.played, self.steps = settings, 0, 0
        self._generator = np.random.default_rng(settings.seed)
        self._table = Table(settings, settings.at_once)
        self.net, self._copy = (QNet(self._table.planes, settings) for _ in range(2))
        self._copy.load_state_dict(self.net.state_dict())
        self._optimizer = torch.optim.Adam(self.net.parameters(), settings.learning_rate)
        self.memory: list[Transition] = []
        self._oldest = 0
        self._courses: list[list[tuple[Floats, NDArray[np.bool_], int]]] = [[] for _ in self._table.games]

    def run(self, report: Callable[[int, float], None]) -> None:
        """Play and train until all games are played. report: called with the games and the loss of the last step."""
        plies, loss = 0, 0.0
        while self.played < self.settings.games:
            self._play_one_ply()
            plies += len(self._table.games)
            while plies >= self.settings.plies_a_step:
                plies -= self.settings.plies_a_step
                loss = self._learn()
            report(self.played, loss)

    def _play_one_ply(self) -> None:
        inputs, allowed = self._table.look()
        actions = choose(self.net, inputs, allowed, self.settings.epsilon_after(self.played), self._generator)
        for row, action in enumerate(actions.tolist()):
            self._courses[row].append((inputs[row], allowed[row], action))
            self._table.play(row, action)
            if self._table.is_over(self._table.games[row]):
                self._remember(self._courses[row], self._table.games[row])
                self._courses[row], self._table.games[row] = [], self._table.new_game()
                self.played += 1
                if self.played == self.settings.games:
                    return

    def _remember(self, course: list[tuple[Floats, NDArray[np.bool_], int]], game: Game) -> None:
        score = final_score(game)
        for ply, (inputs, _, action) in enumerate(course):
            later, color = ply + self.settings.returns, game.moves[ply].color
            new = Transition(
                inputs,
                action,
                course[later][:2] if later < len(course) else None,
                float(np.sign(for_color(score, color))),
            )
            if len(self.memory) < self.settings.memory:
                self.memory.append(new)
            else:
                # A ring buffer: the oldest transitions come from the weakest play.
                self.memory[self._oldest] = new
                self._oldest = (self._oldest + 1) % self.settings.memory

    def _learn(self) -> float:
        if len(self.memory) < self.settings.batch:
            return 0.0
        batch = [self.memory[row] for row in self._generator.integers(len(self.memory), size=self.settings.batch)]
        inputs = torch.from_numpy(np.stack([each.inputs for each in batch]))
        actions = torch.tensor([each.action for each in batch])
        wanted = targets(batch, self.net, self._copy, (-1.0) ** self.settings.returns)
        loss = nn.functional.smooth_l1_loss(self.net(inputs).gather(1, actions[:, None])[:, 0], wanted)
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()
        self.steps += 1
        if self.steps % self.settings.renewed == 0:
            self._copy.load_state_dict(self.net.state_dict())
        return float(loss.detach())


def choose(
    net: QNet, inputs: Floats, allowed: NDArray[np.bool_], epsilon: float, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Choose a move [B] for each position: the best allowed one, or a random allowed one with probability epsilon."""
    with torch.no_grad():
        best: NDArray[np.int64] = masked_best(net(torch.from_numpy(inputs)), torch.from_numpy(allowed)).numpy()
    for row in np.flatnonzero(generator.random(len(best)) < epsilon):
        best[row] = generator.choice(np.flatnonzero(allowed[row]))
    return best


def share_against_random(net: QNet, settings: DqnSettings, games: int, seed: int = 7) -> float:
    """Return a network's share of points in games against random moves, with alternating colors."""
    generator, table, points = np.random.default_rng(seed), Table(settings, games), 0.0
    waiting = set(range(games))
    while waiting:
        inputs, allowed = table.look()
        best = choose(net, inputs, allowed, 0.0, generator)
        for row in sorted(waiting):
            game = table.games[row]
            color = BLACK if row % 2 == 0 else WHITE
            is_own = game.to_play == color
            table.play(row, int(best[row] if is_own else generator.choice(np.flatnonzero(allowed[row]))))
            if table.is_over(game):
                score = final_score(game)
                points += (1 + np.sign(for_color(score, color))) / 2
                waiting.discard(row)
    return points / games
