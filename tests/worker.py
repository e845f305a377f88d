"""What a worker process does in the tests."""

import hashlib

from mandala_env import make_batch, mandala_v0
from mandala_env.core.shares import GAMES_OF_A_THREAD


def games(seed: int) -> str:
    """A digest of some games of a batch and of an environment."""
    batch, digest = make_batch("mandala_v0", 2 * GAMES_OF_A_THREAD, seed=seed, num_threads=2), hashlib.sha256()
    for _ in range(5):
        batch.step_random()
        digest.update(batch.observations.tobytes() + batch.action_masks.tobytes())
    env = mandala_v0.env()
    env.reset(seed=seed)
    for agent in env.agent_iter(40):
        observation, _, is_over, _, _ = env.last()
        digest.update(agent.encode() + observation["observation"].tobytes())
        env.step(None if is_over else int(observation["action_mask"].argmax()))
    return digest.hexdigest()
