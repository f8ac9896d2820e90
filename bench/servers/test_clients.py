"""PYTHONPATH=bench/peers python -m unittest discover bench/servers"""

import socket
from threading import Thread
from unittest import TestCase

from clients import Refused
from clients.grpc import Headers, request
from clients.postgres import columns, execute
from clients.protobuf import field, fields, number, within
from clients.resp import Resp, command, pipeline
from clients.stream import HOST


class ProtobufTest(TestCase):
    def test_fields_are_found_among_others_whatever_their_length(self):
        long = b"x" * 300
        message = number(3, 1 << 40) + field(1, b"") + field(21, b"other") + field(1, long)
        # A fixed number of four bytes and one of eight.
        message += bytes([5 << 3 | 5, *bytes(4), 6 << 3 | 1, *bytes(8)]) + field(1, b"end")
        self.assertEqual(list(fields(message, 1)), [b"", long, b"end"])
        self.assertEqual(list(fields(message, 21)), [b"other"])

    def test_a_value_within_messages_is_found_by_its_path_and_a_missing_one_is_empty(self):
        message = number(1, 5) + field(2, field(1, b"") + field(3, b"value"))
        self.assertEqual(within(message, 2, 3), b"value")
        self.assertEqual(within(message, 2, 4), b"")
        self.assertEqual(within(message, 7, 3), b"")

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

    def test_a_row_of_postgresql_is_taken_apart_by_the_lengths_of_its_values(self):
        row = b"\0\3" + b"\0\0\0\4" + b"\0\0\0\7" + b"\0\0\0\0" + b"\0\0\0\2ab"
        self.assertEqual(list(columns(row)), [b"\0\0\0\7", b"", b"ab"])

    def test_a_word_of_redis_has_its_length_before_it_whatever_its_bytes(self):
        sent = command("VSIM", b"\r\n\0", 10)
        self.assertEqual(sent, b"*3\r\n$4\r\nVSIM\r\n$3\r\n\r\n\0\r\n$2\r\n10\r\n")

    def test_a_pipeline_is_answered_by_a_reply_for_each_command(self):
        listener = socket.create_server((HOST, 0))

        def serve():
            with listener.accept()[0] as client:
                client.recv(1 << 16)
                client.sendall(b":1\r\n*2\r\n$2\r\n\r\n\r\n$0\r\n\r\n+OK\r\n*0\r\n")
                client.recv(1 << 16)
                client.sendall(b"-ERR no such key\r\n")

        with listener:
            server = Thread(target=serve)
            server.start()
            client = Resp(listener.getsockname()[1])
            with client.stream.socket:
                replies = client.call(pipeline([command("ANY")] * 4))
                with self.assertRaisesRegex(Refused, "ERR no such key"):
                    client.call(pipeline([command("ANY")]))
            server.join()
        self.assertEqual(replies, [b"1", [b"\r\n", b""], b"OK", []])
