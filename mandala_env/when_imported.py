"""Do something to a module as soon as it is imported by whoever uses it.

Importing PettingZoo or Gymnasium takes ten times as long as importing this package, so what this package adds to their
registries waits until they are imported anyway.
"""

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def when_imported(name: str, function: Callable[[Any], None]) -> None:
    """Call `function(module)` right after the import of a module, or now if it has been imported; once per name."""
    if name in sys.modules:
        function(sys.modules[name])
    elif not any(isinstance(finder, _OneModuleFinder) and finder.name == name for finder in sys.meta_path):
        sys.meta_path.insert(0, _OneModuleFinder(name, function))


class _OneModuleFinder(MetaPathFinder):
    """Lets the other finders find one module and adds a step after its import; then it is gone."""

    def __init__(self, name: str, function: Callable[[Any], None]) -> None:
        self.name, self.function = name, function

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        specs = (finder.find_spec(name, path, target) for finder in list(sys.meta_path))
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def execute_and_go_on(module: ModuleType) -> None:
                loader.exec_module = execute
                execute(module)
                self.function(module)

            loader.exec_module = execute_and_go_on
        return spec
