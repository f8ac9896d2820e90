"""As much of Protocol Buffers as the requests and answers here need."""

from struct import pack

LENGTH_DELIMITED = 2
# Bytes of the wire types that have a fixed length.
FIXED = {1: 8, 5: 4}


def number(field, value):
    return varint(field << 3) + varint(value)


def double(field, value):
    return varint(field << 3 | 1) + pack("<d", value)


def field(number, value):
    """A string, bytes, a message or packed numbers."""
    return varint(number << 3 | LENGTH_DELIMITED) + varint(len(value)) + value


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def fields(message, wanted):
    """The values of all fields of this number that have a length of their own."""
    at = 0
    while at < len(message):
        tag, at = read_varint(message, at)
        kind = tag & 7
        if kind == 0:
            _, at = read_varint(message, at)
        elif kind == LENGTH_DELIMITED:
            length, at = read_varint(message, at)
            if tag >> 3 == wanted:
                yield message[at : at + length]
            at += length
        else:
            at += FIXED[kind]


def within(message, *path):
    """The first value at the end of a path of such fields; empty where there is none."""
    for wanted in path:
        message = next(fields(message, wanted), b"")
    return message


def read_varint(message, at):
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
