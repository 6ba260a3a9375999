"""Cut bytes into lines one by one, as Hadoop does."""


def line_at(data, position):
    """Return the bytes of one line, its end included."""
    end = data.find(b'\n', position)
    return data[position:] if end < 0 else data[position : end + 1]


def hadoop_split(data, start, length):
    """Return the lines of a split by the rule of Hadoop's LineRecordReader."""
    lines, position = [], start
    if start:
        position += len(line_at(data, position))
    while position <= start + length and line_at(data, position):
        lines.append(line_at(data, position))
        position += len(lines[-1])
    return lines
