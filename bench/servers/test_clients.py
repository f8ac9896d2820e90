"""PYTHONPATH=bench/peers python -m unittest discover bench/servers"""

from unittest import TestCase

from clients.grpc import Headers, request
from clients.postgres import execute
from clients.protobuf import field, fields, number


class ProtobufTest(TestCase):
    def test_fields_are_found_among_others_whatever_their_length(self):
        long = b"x" * 300
        message = number(3, 1 << 40) + field(1, b"") + field(21, b"other") + field(1, long)
        # A fixed number of four bytes and one of eight.
        message += bytes([5 << 3 | 5, *bytes(4), 6 << 3 | 1, *bytes(8)]) + field(1, b"end")
        self.assertEqual(list(fields(message, 1)), [b"", long, b"end"])
        self.assertEqual(list(fields(message, 21)), [b"other"])

    def test_a_number_is_written_as_protocol_buffers_have_it(self):
        self.assertEqual(number(1, 300), b"\x08\xac\x02")


class RequestsTest(TestCase):
    def test_a_message_of_grpc_has_its_length_before_it(self):
        headers, body = request(1, "/a.B/C", b"xyz", [("authorization", "key")])
        self.assertEqual(body, b"\0\0\0\0\3xyz")
        self.assertIn((b":path", b"/a.B/C"), headers)
        self.assertEqual(headers[-1], (b"authorization", b"key"))

    def test_a_header_is_written_once_and_then_a_number(self):
        sent = Headers()
        first, _ = request(1, "/a", b"")
        other, _ = request(1, "/b", b"")
        whole = sent.block(first)
        self.assertTrue(whole.startswith(b"\x83\x86\x40\x05:path\x02/a"))
        # :path, :authority, content-type and te, of which the last is the newest.
        self.assertEqual(sent.block(first), b"\x83\x86\xc1\xc0\xbf\xbe")
        self.assertEqual(sent.block(other), b"\x83\x86\x40\x05:path\x02/b\xc1\xc0\xbf")
        self.assertEqual(sent.block(first), b"\x83\x86\xc2\xc1\xc0\xbf")

    def test_a_header_that_is_too_long_is_refused(self):
        with self.assertRaises(ValueError):
            Headers().block(request(1, "/" + "x" * 127, b"")[0])

    def test_lengths_of_postgresql_count_themselves(self):
        bind_length = int.from_bytes(execute("one", b"abc")[1:5], "big")
        self.assertEqual(execute("one", b"abc")[1 + bind_length :][:1], b"E")
