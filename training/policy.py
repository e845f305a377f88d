"""The network as a policy of sb3-contrib, so that the library's `predict` and `evaluate_actions` work."""

from typing import Any

import numpy as np
import torch
from sb3_contrib.common.maskable.distributions import MaskableCategoricalDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor

from mandala_env.core.game import Game
from mandala_env.policies.network import NetworkConfig, make_network


class NetworkPolicy(MaskableActorCriticPolicy):
    """A `PolicyValueNetwork` behind the library's interface; observations come scaled to [0, 1]."""

    def __init__(
        self, observation_space: Any, action_space: Any, lr_schedule: Schedule, *, game: Game, network: NetworkConfig,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        self.game, self.network_config = game, network
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)

    def _build(self, lr_schedule: Schedule) -> None:
        """Make the network in the place of the library's, and its optimiser."""
        self.network = make_network(self.game, self.network_config)
        self.register_buffer("highest", torch.from_numpy(self.game.layout.highest), persistent=False)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=lr_schedule(1), eps=1e-5)

    def evaluate(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and values of observations scaled to [0, 1]."""
        return self.network(torch.round(obs * self.highest).to(torch.int8))

    def _distribution(self, logits: Tensor, action_masks: Any) -> MaskableCategoricalDistribution:
        distribution = MaskableCategoricalDistribution(logits.shape[1])
        if action_masks is not None:
            action_masks = torch.as_tensor(action_masks, dtype=torch.bool, device=logits.device).reshape(logits.shape)
            logits = among_legal(logits, action_masks)
        distribution.proba_distribution(action_logits=logits)
        distribution.apply_masking(action_masks)
        return distribution

    def forward(
        self, obs: Tensor, deterministic: bool = False, action_masks: np.ndarray | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Actions, values and log probabilities."""
        logits, values = self.evaluate(obs)
        distribution = self._distribution(logits, action_masks)
        actions = distribution.get_actions(deterministic=deterministic)
        return actions, values.unsqueeze(1), distribution.log_prob(actions)

    def evaluate_actions(
        self, obs: Tensor, actions: Tensor, action_masks: Any = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Values, log probabilities and entropies of given actions."""
        logits, values = self.evaluate(obs)
        distribution = self._distribution(logits, action_masks)
        return values.unsqueeze(1), distribution.log_prob(actions), distribution.entropy()

    def get_distribution(self, obs: Tensor, action_masks: Any = None) -> MaskableCategoricalDistribution:
        """The distribution over the legal actions."""
        return self._distribution(self.evaluate(obs)[0], action_masks)

    def predict_values(self, obs: Tensor) -> Tensor:
        """Values, (B, 1)."""
        return self.evaluate(obs)[1].unsqueeze(1)


LEAST = 1e6  # the library gives illegal actions the logit -1e8, so no legal one may have less


def among_legal(logits: Tensor, masks: Tensor) -> Tensor:
    """Logits (n, A) from -LEAST to 0 with the same softmax over the legal actions; the library masks the others.

    Where they say nothing (NaN counts as minus infinity, none is finite) the legal actions are equally likely.
    """
    if not masks.any(1).all():
        raise ValueError("a row of action_masks has no legal action: there is nothing to decide")
    lowest = torch.finfo(logits.dtype).min
    logits = torch.nan_to_num(logits, nan=lowest)
    highest = logits.masked_fill(~masks, lowest).amax(1, keepdim=True)
    return (logits - highest).clamp(min=-LEAST).masked_fill(~masks, -LEAST)
