"""A model whose parameters, gradients and moments are spread over the processes (FSDP2), some rows of each tensor."""

from contextlib import nullcontext
from pathlib import Path

import torch
from safetensors.numpy import save_file
from torch import Tensor, nn

from saccade.files import draft_directory, sync
from saccade.nn.transformer import DecoderLayer, EncoderLayer
from saccade.training import checkpoint
from saccade.training.checkpoint import Arrays, Checkpoint, Snapshot
from saccade.training.processes import Processes


def shard(learner: nn.Module, device: torch.device, world: int) -> None:
    """Spread a model. A Transformer's layers are gathered one at a time when they are used, other kinds as a whole."""
    from torch.distributed.device_mesh import init_device_mesh  # here, as they take most of a second to load
    from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method

    mesh = init_device_mesh(device.type, (world,))
    for layer in learner.modules():
        if isinstance(layer, EncoderLayer | DecoderLayer):
            fully_shard(layer, mesh=mesh)
        if isinstance(layer, DecoderLayer):
            register_fsdp_forward_method(layer, "learn")
    fully_shard(learner, mesh=mesh)


def whole(tensor: Tensor) -> Tensor:
    """All of a tensor; where it is spread, every process must ask for it."""
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def gathered(model: nn.Module, processes: Processes) -> Arrays:
    """The parameters of a spread model, in the first process; the others take part."""
    parameters = ((name, whole(parameter.detach())) for name, parameter in model.named_parameters())
    return {name: values.cpu().numpy() for name, values in parameters if processes.is_first}


def restore(found: Checkpoint, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """As a checkpoint does it, each process for the rows that it holds."""
    from torch.distributed.tensor.experimental import implicit_replication

    with implicit_replication():
        found.restore(model, optimizer)


def write(directory: Path, snapshot: Snapshot, processes: Processes) -> Path:
    """Write a checkpoint together, each process its own part, and give it its name when all are on the disk."""
    path = directory / f"update-{snapshot.progress.update:08d}"
    with draft_directory(path) if processes.is_first else nullcontext() as aside:
        draft = Path(processes.first(lambda: str(aside)))
        for name, arrays in snapshot.files.items():
            file = draft / part(name, processes.rank, processes.world)
            save_file(arrays, file)
            sync(file)
        processes.any(False)  # all have come so far
        if processes.is_first:
            parts = [part(name, rank, processes.world) for name in snapshot.files for rank in range(processes.world)]
            checkpoint.describe(draft, snapshot.progress, parts)
    return path


def part(name: str, rank: int, world: int) -> str:
    """The file of one process: model-00001-of-00002.safetensors."""
    return f"{Path(name).stem}-{rank + 1:05d}-of-{world:05d}{Path(name).suffix}"
