"""Learn what a training on hidden nodes must know of the rows before its Gram job."""

from __future__ import annotations

from dataclasses import dataclass

from mr_elm.arithmetic import one_thread
from mr_elm.drivers.summary import learn_rows, say_metric
from mr_elm.machines.nodes import NodeProblem
from mr_elm.machines.options import PESVMOptions
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import InputPlan


@dataclass(frozen=True)
class NodeInputs(NodeProblem):
    """Hold the rows beside what the nodes depend on."""

    data: DataSet

    @classmethod
    def learn(
        cls,
        data: DataSet,
        options: PESVMOptions,
        n_landmarks: int = 0,
        refuses: str = 'this training',
        judged: bool = False,
    ) -> NodeInputs:
        """Look at the rows once, and learn a metric if options ask for one. refuses, judged : see `learn_rows`.

        Raises DataFormatError when the rows cannot be used.
        """
        summary, classes = learn_rows(
            data, options.task, n_landmarks, options.seed, options.n_sampled, refuses, options.positive, judged
        )
        inputs = cls(options, summary, classes, data)
        if options.n_sampled:
            with one_thread():
                inputs = inputs.learn_metric(data.engine.n_threads)
            say_metric(data.engine.reporter, inputs.learned)
        return inputs

    @property
    def plan(self) -> InputPlan:
        """Return the InputPlan."""
        return self.data.plan
