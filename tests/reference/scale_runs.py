"""Runs of scaling experiments that took the seconds said."""
from benchmarks.scaling.runs import Run


def run_of(experiment='speedup', nodes=1, rows=100, seconds=10.0, **other):
    """Return a Run; other : what differs from a run of PESVM on local."""
    return Run(**{'experiment': experiment, 'runner': 'local', 'method': 'pesvm', 'nodes': nodes, 'rows': rows,
                  'features': 4, 'hidden': 6, 'repeat': 0, 'seconds': seconds, 'start_seconds': 1.0,
                  'map_seconds': seconds - 3, 'reduce_seconds': 1.0, 'driver_seconds': 1.0, 'input_bytes': 1,
                  'shuffle_bytes': 1, 'output_bytes': 1, 'jobs': 1, 'maps': nodes, 'map_tasks': '1.5;2', 'model': 'a',
                  **other})
