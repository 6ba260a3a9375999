"""Draw bytes that are almost rows of text: what people, programs and broken disks write into files."""

from hypothesis import strategies as st

NUMBERS = [
    '0',
    '-0',
    '+1',
    '-1',
    '1.',
    '.5',
    '1e3',
    '1E-3',
    '00012',
    '1e-320',
    '4.9e-324',
    '1.7976931348623157e308',
    '3.141592653589793238462643383279502884',
    '0.' + '3' * 400,
]
NEARLY = [
    'nan',
    'NaN',
    '-inf',
    'Infinity',
    '1e999',
    '1_000',
    '0x1p3',
    '0x10',
    '1d5',
    '1,5',
    '--1',
    '+',
    '.',
    'e5',
    '1e',
    '1j',
    '(1)',
    '',
    ' ',
    '１２',
    '٣',
    '²',
    '1' * 400,
    '9' * 5000,
    'None',
    '\xa07',
    '7\x85',
    '\x1c8',
]
WORDS = [
    'a',
    'b',
    'yes',
    'no',
    'città',
    'Å',
    '东京',
    'two words',
    "o'b",
    '#',
    '# note',
    'qid:3',
    'x:1',
    '1:2',
    ':',
    '::',
    '\x00',
    '\x1f',
    '\ufeff',
    '_',
]
QUOTED = ['"a"', '"a,b"', '"1"', '"say ""x"""', '"open', 'half"', '"a"b', '""', '"']
ENDS = [b'\n', b'\r\n', b'\r', b'\n\n', b' \n', b'\r\r\n', b'\x85\n']
MARK = b'\xef\xbb\xbf'
INDICES = [
    '0',
    '-1',
    '1',
    '2',
    '3',
    '4',
    '7',
    '+2',
    '01',
    '1e0',
    '2.0',
    '1.5',
    '10000000',
    '10000001',
    '2147483648',
    '99999999999999999999',
    '9' * 500,
    'x',
    '',
]

numbers = st.sampled_from(NUMBERS) | st.integers(-9, 9).map(str) | st.floats(-1e6, 1e6).map(repr)
odd = st.sampled_from(NEARLY + WORDS + QUOTED)


def encoded(text):
    """Write text as UTF-8, some of it as Latin-1, which is no UTF-8."""
    return st.sampled_from(['utf-8', 'utf-8', 'utf-8', 'latin-1']).map(lambda name: text.encode(name, 'replace'))


@st.composite
def csv_lines(draw):
    """Draw lines of about the same fields, most of them numbers."""
    delimiter = draw(st.sampled_from([',', ';', '\t', '|', ' ', '  ', ', ']))
    width = draw(st.integers(1, 4))
    field = st.one_of(*[numbers] * draw(st.sampled_from([2, 8, 30])), odd)
    label = st.sampled_from(['0', '1', '+1', '1.0', 'a', 'b']) | field
    row = st.tuples(label, st.lists(field, min_size=width, max_size=width)).map(lambda row: [row[0], *row[1]])
    uneven = st.lists(field, max_size=5)
    return draw(st.lists(st.one_of(*[row] * 8, uneven).map(delimiter.join).flatmap(encoded), max_size=12))


@st.composite
def libsvm_lines(draw):
    """Draw lines of a label and pairs, most of them in order."""
    pair = st.builds('{}:{}'.format, st.sampled_from(INDICES), st.one_of(numbers, numbers, numbers, odd))
    rising = st.sets(st.integers(1, 12), max_size=4).flatmap(
        lambda places: st.tuples(*(st.builds('{}:{}'.format, st.just(place), numbers) for place in sorted(places)))
    )
    pairs = st.one_of(*[rising.map(list)] * 6, st.lists(pair, max_size=4), st.lists(pair | odd, max_size=4))
    label = st.sampled_from(['1', '-1', '+1', 'a'] * 3 + WORDS + ['nan', '1:1', '# all'])
    blank = st.sampled_from([' ', ' ', ' ', '  ', '\t', '\x1c', '\xa0'])
    row = st.builds(lambda label, pairs, blank: blank.join([label, *pairs]), label, pairs, blank)
    return draw(st.lists(row.flatmap(encoded), max_size=12))


@st.composite
def joined(draw, lines):
    """Join lines by ends of any kind; a byte order mark may stand in front, and a byte may be another."""
    text = b''.join(line + draw(st.sampled_from([b'\n'] * 8 + ENDS)) for line in draw(lines))
    text = draw(st.sampled_from([b'', b'', b'', MARK, b'\n\n', MARK + b'\n'])) + text
    return draw(damage(text)) if draw(st.booleans()) else text


files = st.one_of(
    joined(csv_lines()),
    joined(csv_lines()),
    joined(libsvm_lines()),
    joined(libsvm_lines()),
    st.binary(max_size=60),
    st.text(max_size=40).map(lambda text: text.encode('utf-8', 'replace')),
)


@st.composite
def damage(draw, data):
    """Draw what one fault makes of bytes: a byte is another, is gone or is new, or the end is missing."""
    place = draw(st.integers(0, max(len(data) - 1, 0)))
    head, byte, tail = data[:place], data[place : place + 1], data[place + 1 :]
    other = bytes([draw(st.sampled_from(b'\0 \t\n\r0:=A{}') | st.integers(0, 255))])
    flipped = bytes([byte[0] ^ 1 << draw(st.integers(0, 7))]) if byte else b''
    changed, without, wider = head + other + tail, head + tail, head + other + byte + tail
    return draw(st.sampled_from([head + flipped + tail, changed, without, wider, head]))
