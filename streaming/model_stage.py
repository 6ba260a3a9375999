"""Load a trained model: the base of the stages that take --model."""

from typing import Any

from mr_elm.model.file import add_sums, read_model
from mr_elm.streaming.stage import MRRows


class ModelStage(MRRows):
    """Apply a model to rows."""

    REQUIRED: tuple[str, ...] = ('model',)

    def configure_args(self) -> None:
        """Add the model."""
        super().configure_args()
        self.add_file_arg('--model', help='npz: the trained model')
        self.add_file_arg('--model-sums', help='npz: the sums of the model, for what needs the training of other rows')

    def map_begin(self) -> None:
        """Load the model."""
        self.model: Any = read_model(self.options.model)
        if self.options.model_sums:
            self.model = add_sums(self.model, self.options.model, sums_path=self.options.model_sums)
