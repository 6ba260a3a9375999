"""Train the two-class machines of a dual method without each fold of the rows in turn."""

from mr_elm.machines.fold_machines import FoldsTask
from mr_elm.streaming.mr_dual import MRDual


class MRDualFolds(MRDual):
    """Train the machines of a dual method without each fold of the rows in turn.

    Probabilities are fitted to the decision values of the rows that are left out.
    A keyed hash of a row says its fold, and whether it is in the sample.

    Input:  <split, rows>, text or packed
    Output: <machine MACHINE FOLD, JSON>
            <support MACHINE FOLD, [coefficients, places, numbers, weights, X]>
            <beta MACHINE FOLD, [beta]>
                as of mr_dual; FOLD is the fold that is left out

    Map:    send each row of the sample to every machine that trains on it, but for
            its own fold:
            <rows MACHINE FOLD, [places, numbers, weights, X]>
    Reduce: as mr_dual.
    """

    TASK = FoldsTask


if __name__ == '__main__':
    MRDualFolds.run()
