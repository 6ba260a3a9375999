"""Name files that hold no rows that can be read here, and say what to do with them."""
import re

MAGICS = (
    (b'PK\x03\x04', 'a zip archive: an Excel or OpenDocument workbook, or numpy arrays; save a workbook as csv, '
                    'give a zip archive of one csv file a name that ends in .zip'),
    (b'\x1f\x8b', 'gzip data: give the file a name that ends in .gz'),
    (b'BZh', 'bzip2 data: give the file a name that ends in .bz2'),
    (b'\x28\xb5\x2f\xfd', 'zstandard data: give the file a name that ends in .zst'),
    (b'\xfd7zXZ', 'xz data: unpack the file (xz -d)'),
    (b'\xd0\xcf\x11\xe0', 'an old Excel workbook: save it as csv'),
    (b'\x93NUMPY', 'a numpy array: write it as csv (numpy.savetxt) or as parquet'),
    (b'\x89HDF', 'an HDF5 file: write its table as csv or as parquet'),
    (b'ORC', 'an ORC file: write it as parquet'),
    (b'SQLite format 3', 'an SQLite database: write its table as csv'),
    (b'\x80\x04', 'a Python pickle: write its table as csv or as parquet'),
    (b'%PDF', 'a PDF document'),
)
TEXTS = (
    (re.compile(r'(%.*\n\s*)*@relation\b', re.I),
     'an ARFF file: leave out the lines above the rows, which begin with % or @, or convert it to csv'),
    (re.compile(r'<(!doctype|html|\?xml)', re.I), 'a web page or XML, perhaps instead of a download that failed'),
    (re.compile(r'\{\s*("|$)|\[\s*[\[{]'), 'JSON: write its rows as csv or as parquet'),
)
RANGE = 4096  # characters that tell what a text is


def name_binary(first_bytes: bytes) -> str | None:
    """Say what a file is by its first bytes, and what to do with it; None where that is not known."""
    return next((said for magic, said in MAGICS if first_bytes.startswith(magic)), None)


def name_text(lines: list[str]) -> str | None:
    """Say what a file of text is by its first lines, and what to do with it; None where they may be rows."""
    text = '\n'.join(lines[:20])[:RANGE].lstrip()
    return next((said for pattern, said in TEXTS if pattern.match(text)), None)
