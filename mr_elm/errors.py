"""Name what can go wrong, so that a caller can tell bad data from a bad model."""


class DataFormatError(ValueError):
    """Say that an input file cannot be read as rows, or that a line between two stages is damaged."""


class ModelFormatError(ValueError):
    """Say that a file is not a model, or not one that this version can use."""


class AccountingError(RuntimeError):
    """Say that rows or tiles were lost or counted twice between two stages."""


class ConvergenceWarning(UserWarning):
    """Warn that an iteration ended before its tolerance was met."""


class NumericalWarning(UserWarning):
    """Warn that a matrix was too ill-conditioned for the usual factorisation."""


EXPECTED = (DataFormatError, ModelFormatError, AccountingError, ValueError)


def describe_error(error: BaseException, hint: str = '') -> str:
    """Return an error as one line; an unexpected one gets the name of its type and the hint."""
    if isinstance(error, OSError) and error.strerror:
        return f'{error.filename}: {error.strerror}' if error.filename else error.strerror
    text = ' '.join(str(error).split())
    return text if isinstance(error, (*EXPECTED, OSError)) else (
        f'{type(error).__name__}: {text}{hint}')
