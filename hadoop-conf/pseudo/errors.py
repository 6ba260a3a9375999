"""The one error a user of the cluster sees."""


class ClusterError(Exception):
    """Say in one sentence why the cluster cannot do what was asked."""
