"""The games' names in Gymnasium's registry."""

from typing import Any

from mandala_env.when_imported import when_imported

GAMES = {"mandala_env/Mandala-v0": "mandala_v0", "mandala_env/Flowers-v0": "flowers_v0"}


def register_now(registration: Any) -> None:
    """Put the games into Gymnasium's registry, for `gymnasium.make` and `gymnasium.make_vec`."""
    for name, game_id in GAMES.items():
        if name not in registration.registry:
            registration.register(
                name,
                entry_point="mandala_env.adapters.single_agent:SingleAgentEnv",
                vector_entry_point="mandala_env.adapters.vector:LearnerVectorEnv",
                kwargs={"game_id": game_id},
            )


def register_when_imported() -> None:
    """Put the games into Gymnasium's registry as soon as there is one in this process."""
    when_imported("gymnasium.envs.registration", register_now)
