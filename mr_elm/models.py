"""Hold trained models: frozen, read from a file, asked for decision values and labels."""
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .errors import ModelFormatError
from .features.hidden import NODES, HiddenLayer
from .gram import expand
from .io.blocks import BLOCK_ROWS, widen
from .io.csv_rows import number_or_none
from .io.store import load_model


@dataclass(frozen=True)
class HiddenNodeModel:
    """Predict from hidden nodes: f(x) = [Phi(x), -1] B.

    header : dictionary of the model file.
    arrays : name -> array of the model file.
    """

    header: dict
    arrays: dict

    @cached_property
    def layer(self):
        """Return the HiddenLayer."""
        return layer_of(self.header, self.arrays)

    @property
    def n_features(self):
        """Return the width of the rows."""
        return self.header['n_features']

    @property
    def numeric(self):
        """Tell whether the model predicts numbers."""
        return self.header['task'] == 'regression'

    @property
    def classes(self):
        """Return the names of the classes."""
        return self.header['classes']

    def check(self):
        """Raise KeyError or ValueError when parts are missing or do not fit."""
        layer, weights = self.layer, self.arrays['output_weights']
        n_columns = 1 if self.numeric or len(self.classes) == 2 else len(self.classes)
        if layer.n_features != self.n_features or weights.shape != (layer.n_hidden + 1, n_columns):
            raise ValueError(f'output weights of shape {weights.shape} for {layer.n_hidden} nodes')

    def class_of(self, label):
        """Return the class that a label names ('1.0' and '1' are one), or the label itself when it is none."""
        return label if label in self.classes else self._class_of_number.get(number_or_none(label), label)

    @cached_property
    def _class_of_number(self):
        numbers = {name: number_or_none(name) for name in self.classes}
        return {} if None in numbers.values() else {number: name for name, number in numbers.items()}

    def decision_function(self, X):
        """Return decision values: (n, K), K = 1 for two classes or a regression.

        X : (n, d) dense or CSR; narrower CSR rows are taken to end in zeros. Raises ValueError on another width.
        """
        X = widen(X, self.n_features)
        buffer = np.empty(min(BLOCK_ROWS, X.shape[0]) * (self.layer.n_hidden + 1))
        parts = [expand(self.layer, X[start:start + BLOCK_ROWS], buffer=buffer) @ self.arrays['output_weights']
                 for start in range(0, X.shape[0], BLOCK_ROWS)]
        return np.concatenate(parts) if parts else np.zeros((0, self.arrays['output_weights'].shape[1]))

    def predict(self, X):
        """Return a class number a row, (n,) int; for a regression a number a row."""
        return self.decide(self.decision_function(X))

    def decide(self, scores):
        """Turn decision values (n, K) into class numbers; a tie goes to the first class."""
        if self.numeric:
            return scores[:, 0]
        return (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)


def layer_of(header, arrays):
    """Build the HiddenLayer that a header and its arrays describe."""
    parameters = header['parameters']
    kind = parameters['map']
    if kind not in NODES:
        raise ModelFormatError(f'a hidden layer of kind {", ".join(NODES)} was expected, {kind!r} came')
    if kind == 'nystrom':
        weights = arrays['landmarks']
        biases = np.full(len(weights), 2 * parameters['sigma']**2)
    else:
        weights, biases = arrays['hidden_weights'], arrays['hidden_biases']
    return HiddenLayer(kind, weights, biases, arrays['feature_offset'], arrays['feature_scale'])


def layer_arrays(layer):
    """Name the arrays of a HiddenLayer as the model file does."""
    nodes = {'landmarks': layer.weights} if layer.kind == 'nystrom' else {
        'hidden_weights': layer.weights, 'hidden_biases': layer.biases}
    return {'feature_offset': layer.offset, 'feature_scale': layer.scale, **nodes}


def load_layer(path):
    """Read the HiddenLayer of a model file, trained or not."""
    return layer_of(*load_model(path))


METHODS = {'pesvm': HiddenNodeModel}


def read_model(path, name=None):
    """Read a trained model, called `name` in messages. Raises ModelFormatError when the file is not one."""
    header, arrays = load_model(path, name)
    path = name or path
    if header.get('method') not in METHODS:
        raise ModelFormatError(f'{path}: a model of {", ".join(METHODS)} was expected, {header.get("method")!r} came')
    model = METHODS[header['method']](header, arrays)
    try:
        model.check()
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFormatError(f'{path}: a whole model was expected, parts are missing or do not fit '
                               f'({error})') from None
    return model
