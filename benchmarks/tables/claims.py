"""Judge what a comparison claims of the mean accuracies of its methods."""
from dataclasses import dataclass
from math import nan

import numpy as np

from benchmarks.verdict import COUNTED, Claim, at_most

AS_GOOD = 0.5  # points: a method that is no further behind in the mean over all sets is as good


@dataclass(frozen=True)
class AsGood:
    """Claim that a method is as good as a peer in the mean over the sets; both are names of methods.

    margin : how many points it may be behind.
    """

    method: str
    peer: str
    margin: float = AS_GOOD

    def row(self, accuracies: dict[str, list[float]]) -> Claim:
        """Return the Claim. accuracies : method -> list of its accuracies, from 0 to 1, a set each."""
        ours, theirs = (accuracies.get(name, []) for name in (self.method, self.peer))
        behind, note = nan, 'there is no set on which all methods were measured'
        if ours and theirs:
            mine, peer = (100 * float(np.mean(values)) for values in (ours, theirs))
            behind = peer - mine
            note = f'{self.peer} {peer:.2f} %, {self.method} {mine:.2f} %, means of {len(ours)} sets'
        return Claim(f'accuracy of {self.peer} minus accuracy of {self.method}, points', behind, at_most(self.margin),
                     COUNTED, note)
