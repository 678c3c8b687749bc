"""Batches of a loader as a dataset of PyTorch. Importing it needs torch."""

from torch import Tensor, from_dlpack
from torch.utils.data import IterableDataset, get_worker_info


class StatesDataset(IterableDataset):
    """The batches of a :class:`QuantumDataLoader` as tensors; see its ``as_torch_dataset()``."""

    def __init__(self, loader):
        super().__init__()
        self._loader = loader

    def __iter__(self):
        worker = get_worker_info()
        share = (0, 1) if worker is None else (worker.id, worker.num_workers)
        for states in self._loader.share(*share):
            yield states if isinstance(states, Tensor) else from_dlpack(states)
