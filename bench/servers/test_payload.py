"""PYTHONPATH=bench/peers python -m unittest discover bench/servers"""

from unittest import TestCase

from costs import payload_costs
from payload import CONTENT_BYTES, WithPayload, carried, content


class Asked:
    """A server that answers pairs of a row and its text."""

    def found(self, answer):
        return [row for row, _ in answer]


class AskedWithPayload(WithPayload, Asked):
    def contents(self, answer):
        return [text for _, text in answer]


class PayloadTest(TestCase):
    def test_a_content_is_always_the_same_and_that_of_one_point_alone(self):
        texts = {content(row) for row in range(1_000)}
        self.assertEqual(len(texts), 1_000)
        self.assertEqual({len(text.encode()) for text in texts}, {CONTENT_BYTES})
        self.assertEqual(content(7), content(7))

    def test_a_point_counts_where_it_carries_its_own_content_whole(self):
        own = [content(row).encode() for row in range(4)]
        self.assertEqual(carried([0, 1, 2, 3], [own[0], own[2], own[2][:-1], b""]), [0, -1, -1, -1])
        self.assertEqual(carried([0, 1], own[:1]), [0])

    def test_contents_count_where_they_were_asked_for(self):
        server, answer = AskedWithPayload(), [(0, content(0).encode()), (1, b"")]
        self.assertEqual(server.found(answer), [0, -1])
        server.payload = False
        self.assertEqual(server.found(answer), [0, 1])


class CostsTest(TestCase):
    def test_a_payload_is_compared_within_its_round(self):
        def rounds(*values):
            return [{"rate": one, "cpu_us": 10 * one} for one in values]

        phases = {
            "one": rounds(4, 2, 1),
            "one-payload": rounds(2, 1, 1),
            "eight": rounds(1, 1, 1),
            "eight-payload": rounds(3, 3, 3),
        }
        halved = {"median": 0.5, "least": 0.5, "most": 1}
        tripled = {"median": 3, "least": 3, "most": 3}
        self.assertEqual(
            payload_costs({"any": phases}),
            [
                {
                    "server": "any",
                    "searches/s, 1 connection": halved,
                    "server CPU, 1 connection": halved,
                    "searches/s, 8 connections": tripled,
                    "server CPU, 8 connections": tripled,
                }
            ],
        )
