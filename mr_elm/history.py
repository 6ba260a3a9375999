"""Write the history of a model: the events in its header."""
import os
import time

KEPT = 100  # events in a history, beside the first


def make_event(action: str, n_rows: int, rejected: dict | None = None) -> dict:
    """Describe an action on a model; SOURCE_DATE_EPOCH, where it is set, is the time of it."""
    now = float(os.environ.get('SOURCE_DATE_EPOCH', time.time()))
    return {'action': action, 'rows_used': n_rows, 'rows_rejected': rejected or {},
            'when': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(now))}


def extend_history(history: list, done: dict) -> list:
    """Return a history with one more event, the oldest but the first dropped when there are too many."""
    return history[:1] + [*history[1:], done][-KEPT:]
