"""Say what the report shows, where it is, and by which command it comes."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Section:
    """Show pages (Markdown) or figures of the folder.

    key : of the anchor. title, about : for the reader. command : makes the files. files : names in the folder.
    """

    key: str
    title: str
    about: str
    command: str
    files: tuple

    @property
    def data(self) -> list[str]:
        """Return the names of the files that hold the numbers of this section, where they exist."""
        stems = [name.rpartition('.')[0] for name in self.files]
        return [f'{stem}.{kind}' for stem in stems for kind in ('csv', 'json', 'trials.csv')]


SECTIONS = (
    Section('bench', 'Targets', 'Every claim of speed: what was measured, the target, and whether it is held.',
            'make bench bench-hadoop', ('bench.md',)),
    Section('speedup', 'Speedup', 'The same rows on more and more nodes: time on one node over time on m.',
            'make speedup', ('speedup.md',)),
    Section('sizeup', 'Sizeup', 'More and more rows on the same nodes: time of m times the rows over time of the rows.',
            'make sizeup', ('sizeup.md',)),
    Section('scaleup', 'Scaleup', 'Rows grow with the nodes: time on one node over that of m times the rows on m.',
            'make scaleup', ('scaleup.md',)),
    Section('simulated', 'Beyond this machine', 'Simulated, not measured: what a model of costs, fitted to the runs '
            'above, tells of larger clusters.', 'make simulate', ('simulated.md',)),
    Section('tables', 'All machines and their peers', 'The machines beside those that a reader would take instead.',
            'make tables', ('tables.md',)),
    Section('sparse-elm', 'Sparse ELM, unified ELM and SVC', 'On the sets of the sparse ELM paper.',
            'make table-sparse-elm', ('table-sparse-elm.md',)),
    Section('sphere-svm', 'SphereSVM, L1- and L2-SVM', 'By double cross-validation, as in the SphereSVM paper.',
            'make table-sphere-svm', ('table-sphere-svm.md',)),
    Section('demo', 'One Gram serves every number of hidden nodes', 'The demonstration on two sets of scikit-learn.',
            'make demo', ('demo/accuracy.png',)),
    Section('boundaries', 'Boundaries', 'What each method draws between two tangled classes.', 'make boundaries',
            ('boundaries.png',)),
)
