"""Reading the policies that stable-baselines3 saves, without running anything that is in the file.

A zip of the library holds `policy.pth`, plain weights, which torch can load without unpickling objects, and `data`,
JSON in which many values are pickles in base64, each beside a readable text of it. The pickles are never decoded; the
network is built anew from the shapes of the weights. What these do not tell is the activation function: it is taken
from the readable text, which the caller can overrule.
"""

import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mandala_env.core.game import Game

LARGEST = {"policy.pth": 2**28, "data": 2**24}  # bytes
MOST_VALUES = 10**5  # in the JSON of data; what is large there is long texts
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "elu": torch.nn.functional.elu,
    "leakyrelu": torch.nn.functional.leaky_relu,
    "gelu": torch.nn.functional.gelu,
    "silu": torch.nn.functional.silu,
}
ACTOR = re.compile(r"mlp_extractor\.policy_net\.(\d+)\.(weight|bias)")
# What belongs to the critic, which is not needed to play.
CRITIC = re.compile(r"(mlp_extractor\.value_net\.\d+|value_net)\.(weight|bias)")


class Sb3ZipError(ValueError):
    """A file that is not a policy that can be read safely, or not one of this game; the message says why."""


class MlpActor:
    """The actor of an `MlpPolicy`: linear layers with an activation between them.

    It calculates in float64, so that the result for a row does not depend on the rows beside it.
    """

    def __init__(self, layers: list[tuple[Tensor, Tensor]], activation: str) -> None:
        self.layers = [(weight.double(), bias.double()) for weight, bias in layers]
        self.activation = ACTIVATIONS[activation]

    @torch.no_grad()
    def logits(self, observations: np.ndarray) -> np.ndarray:
        """Logits, float32 (n, A), of observations scaled to [0, 1], (n, F)."""
        values = torch.from_numpy(observations).double()
        for weight, bias in self.layers[:-1]:
            values = self.activation(values @ weight.T + bias)
        weight, bias = self.layers[-1]
        logits: np.ndarray = (values @ weight.T + bias).float().numpy()
        return logits


def load_sb3_zip(path: str | Path, game: Game, activation: str | None = None) -> MlpActor:
    """The actor of a saved PPO, A2C or MaskablePPO with an `MlpPolicy`.

    activation  None: what the file says, which is tanh unless another one was chosen; or one of `ACTIVATIONS`
    Raises Sb3ZipError for everything else.
    """
    weights, data = _read(Path(path))
    layers = _layers(weights, path)
    sizes = [layers[0][0].shape[1], *(weight.shape[0] for weight, _ in layers)]
    if sizes[0] != game.layout.size:
        raise Sb3ZipError(f"{path}: its observations have {sizes[0]} numbers, those of {game.id} {game.layout.size}")
    if sizes[-1] != len(game.actions):
        raise Sb3ZipError(f"{path}: it has {sizes[-1]} actions, {game.id} has {len(game.actions)}")
    for (weight, bias), size in zip(layers, sizes[:-1], strict=True):
        if weight.shape[1] != size or bias.shape != weight.shape[:1]:
            raise Sb3ZipError(f"{path}: its layers do not fit together: {[tuple(w.shape) for w, _ in layers]}")
        if not (torch.isfinite(weight).all() and torch.isfinite(bias).all()):
            raise Sb3ZipError(f"{path}: a weight is not a finite number")
    return MlpActor(layers, _activation(data, activation, path))


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The weights by name, and the readable part of the data."""
    if not path.is_file():
        raise Sb3ZipError(f"{path}: there is no such file")
    try:
        with zipfile.ZipFile(path) as archive:
            for name, largest in LARGEST.items():
                if archive.getinfo(name).file_size > largest:
                    raise Sb3ZipError(f"{path}: {name} has more than {largest} bytes")
            text = archive.read("data")
            if sum(map(text.count, (b"[", b"{", b","))) > MOST_VALUES:
                raise Sb3ZipError(f"{path}: data has more than {MOST_VALUES} values")
            data = json.loads(text.decode())
            policy = archive.read("policy.pth")
        with zipfile.ZipFile(io.BytesIO(policy)) as parts:
            if sum(part.file_size for part in parts.infolist()) > LARGEST["policy.pth"]:
                raise Sb3ZipError(f"{path}: the weights have more than {LARGEST['policy.pth']} bytes")
        weights = torch.load(io.BytesIO(policy), map_location="cpu", weights_only=True)
    except KeyError as error:
        raise Sb3ZipError(f"{path}: not a policy that stable-baselines3 saved: {error.args[0]}") from None
    except Sb3ZipError:
        raise
    except Exception as error:  # torch, zipfile and json each have errors of their own
        reason = str(error).partition("\n")[0][:200]
        raise Sb3ZipError(f"{path}: cannot be read without running what is in it: {reason}") from None
    if not isinstance(data, dict) or not isinstance(weights, dict):
        raise Sb3ZipError(f"{path}: not a policy that stable-baselines3 saved")
    return weights, data


def _layers(weights: dict[str, Tensor], path: Any) -> list[tuple[Tensor, Tensor]]:
    """The linear layers of the actor in order."""
    numbers = {int(match[1]) for name in weights if (match := ACTOR.fullmatch(str(name)))}
    names = [f"mlp_extractor.policy_net.{number}" for number in sorted(numbers)] + ["action_net"]
    needed = [f"{name}.{part}" for name in names for part in ("weight", "bias")]
    if missing := [name for name in needed if name not in weights]:
        raise Sb3ZipError(
            f"{path}: not the MlpPolicy of a PPO, A2C or MaskablePPO, which are the ones that can be read: "
            f"there is no {missing[0]}"
        )
    if others := [name for name in weights if name not in needed and not CRITIC.fullmatch(str(name))]:
        raise Sb3ZipError(
            f"{path}: only a plain MlpPolicy can be built from its weights alone; this one has {others[0]}, too"
        )
    layers = [(weights[f"{name}.weight"], weights[f"{name}.bias"]) for name in names]
    if not all(_is_plain(weight, 2) and _is_plain(bias, 1) for weight, bias in layers):
        raise Sb3ZipError(f"{path}: its layers are not linear ones")
    return layers


def _is_plain(tensor: Any, ndim: int) -> bool:
    """Numbers that are really there: a tensor can also repeat a few of them to any size, or have none."""
    return (
        isinstance(tensor, Tensor)
        and tensor.ndim == ndim
        and tensor.layout is torch.strided
        and tensor.device.type == "cpu"
        and tensor.is_floating_point()
        and tensor.is_contiguous()
    )


def _activation(data: dict[str, Any], chosen: str | None, path: Any) -> str:
    """The activation function's name, from the readable text beside the pickle unless one was chosen."""
    settings = data.get("policy_kwargs")
    settings = settings if isinstance(settings, dict) else {}
    extractor = str(settings.get("features_extractor_class", "FlattenExtractor"))
    if "torch_layers.FlattenExtractor" not in extractor and extractor != "FlattenExtractor":
        raise Sb3ZipError(f"{path}: its features extractor is {extractor}, which only its own code can run")
    name = chosen
    if name is None:
        text = str(settings.get("activation_fn", "<class 'torch.nn.modules.activation.Tanh'>"))
        found = re.fullmatch(r"<class 'torch\.nn\.modules\.activation\.(\w+)'>", text)
        name = found[1] if found else text
    name = name.lower()
    if name not in ACTIVATIONS:
        raise Sb3ZipError(f"{path}: the activation function {name!r} is not one of {', '.join(ACTIVATIONS)}")
    return name
