"""The games' names in PettingZoo's registry, which exists from PettingZoo 1.27 on."""

from typing import Any

from mandala_env.when_imported import when_imported

MODULES = {"mandala/mandala-v0": "mandala_env.mandala_v0", "mandala/flowers-v0": "mandala_env.flowers_v0"}


def register_now(registry: Any) -> None:
    """Put the games into PettingZoo's registry."""
    for name, module in MODULES.items():
        if name not in registry.registration.aec_registry:
            registry.registration.register("aec", name, entry_point=f"{module}:env")


def register_when_imported() -> None:
    """Put the games into PettingZoo's registry as soon as there is one in this process."""
    when_imported("pettingzoo.env_registry", register_now)
