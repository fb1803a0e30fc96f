from collections.abc import Iterable
from typing import Any

from .. import options as trainer_options
from ..core.dataset import Dataset
from ..core.layout import Layout
from .base import OnlineTrainer

class Lookahead(OnlineTrainer):
    decisions: int
    def __init__(
        self, data: Dataset, layout: Layout, options: trainer_options.Lookahead, shared: Iterable[int] = (), **unused: Any
    ) -> None: ...
