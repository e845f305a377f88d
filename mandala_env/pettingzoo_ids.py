"""The games' names in PettingZoo's registry, which exists from PettingZoo 1.27 on.

Importing PettingZoo takes ten times as long as importing this package, so the names are registered when the registry
is imported by whoever uses it, or at once if that has happened already.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

REGISTRY = "pettingzoo.env_registry"
MODULES = {"mandala/mandala-v0": "mandala_env.mandala_v0", "mandala/flowers-v0": "mandala_env.flowers_v0"}


def register_now(registry: Any) -> None:
    """Put the games into PettingZoo's registry."""
    for name, module in MODULES.items():
        if name not in registry.registration.aec_registry:
            registry.registration.register("aec", name, entry_point=f"{module}:env")


def register_when_imported() -> None:
    """Put the games into PettingZoo's registry as soon as there is one in this process."""
    if REGISTRY in sys.modules:
        register_now(sys.modules[REGISTRY])
    elif not any(isinstance(finder, _RegistryFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _RegistryFinder())


class _RegistryFinder(MetaPathFinder):
    """Lets the other finders find the registry and adds a step after its import; then it is gone."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != REGISTRY:
            return None
        sys.meta_path.remove(self)
        specs = (finder.find_spec(name, path, target) for finder in list(sys.meta_path))
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                loader.exec_module = execute
                execute(module)
                register_now(module)

            loader.exec_module = execute_and_register
        return spec
