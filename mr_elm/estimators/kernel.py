"""Hold the parameters of machines on a kernel."""

from dataclasses import dataclass, field
from typing import Any

from mr_elm.estimators.parameters import make_options
from mr_elm.estimators.tables import TableRows
from mr_elm.machines.options import parameters_of
from mr_elm.machines.shared_options import TrainingOptions


@dataclass(eq=False, repr=False)
class KernelEstimator(TableRows):
    """Hold the parameters of machines on a kernel; those of other kernels have no say."""

    scale: str = field(default=TrainingOptions.scale, kw_only=True)

    kernel: str = 'gaussian'
    sigma: float | None = None
    degree: int | None = None
    C: float = 1.0

    def _make_options(self, **others: Any) -> Any:
        idle = {'sigma', 'degree'} - {*parameters_of(self.kernel)}
        return make_options(self, idle, **others)
