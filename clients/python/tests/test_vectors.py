"""Everything that needs no database does what the SQL functions do: clients/vectors/*.csv."""

import csv
import json
import os
import unittest
from datetime import datetime, timedelta, timezone
from uuid import UUID

import flakeid
from flakeid import InvalidArgument, Layout
from flakeid._route import xxh64_in_python

VECTORS = os.environ.get("FLAKEID_VECTORS") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "vectors"
)

try:
    import cryptography
except ImportError:
    cryptography = None


def rows(name):
    with open(os.path.join(VECTORS, f"{name}.csv"), encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert found, name
    return found


def number(text):
    return None if text == "" else int(text)


@unittest.skipUnless(os.path.isdir(VECTORS), "clients/vectors is not there")
class Vectors(unittest.TestCase):
    maxDiff = None

    def test_layouts(self):
        for row in rows("layouts"):
            with self.subTest(row):
                layout = Layout.parse(row["layout"])
                self.assertEqual(str(layout), row["canonical"])
                self.assertEqual(layout, Layout.parse(row["canonical"]))
                self.assertEqual(layout.max_shard, int(row["max_shard"]))
                if row["ids_per_tick"]:
                    self.assertEqual(layout.ids_per_tick, int(row["ids_per_tick"]))
                self.assertEqual(layout.starts_us, number(row["starts_us"]))
                self.assertEqual(layout.ends_us, number(row["ends_us"]))

    def test_layouts_invalid(self):
        for row in rows("layouts_invalid"):
            with self.subTest(row), self.assertRaises(InvalidArgument):
                Layout.parse(row["layout"])

    def test_decode(self):
        for row in rows("decode"):
            with self.subTest(row):
                layout = Layout.parse(row["layout"])
                id, time_us = int(row["id"]), number(row["time_us"])
                shard, sequence = int(row["shard"]), int(row["sequence"])
                self.assertEqual(layout.decode(id), (time_us, shard, sequence))
                self.assertEqual(layout.timestamp_us(id), time_us)
                self.assertEqual(layout.shard(id), shard)
                self.assertEqual(layout.sequence(id), sequence)
                if time_us is not None:
                    self.assertEqual(layout.encode(time_us, shard, sequence), id)

    def test_decode_any(self):
        for row in rows("decode_any"):
            with self.subTest(row):
                expected = (number(row["time_us"]), int(row["shard"]), int(row["sequence"]))
                self.assertEqual(Layout.parse(row["layout"]).decode(int(row["id"])), expected)

    def test_fields(self):
        for row in rows("fields"):
            with self.subTest(row):
                fields = Layout.parse(row["layout"]).fields(int(row["id"]))
                self.assertEqual(fields, json.loads(row["fields"]))

    def test_ranges(self):
        for row in rows("ranges"):
            with self.subTest(row):
                layout = Layout.parse(row["layout"])
                self.assertEqual(layout.lower(int(row["time_us"])), int(row["lower"]))
                self.assertEqual(layout.upper(int(row["time_us"])), int(row["upper"]))

    def test_text(self):
        for row in rows("text"):
            with self.subTest(row):
                self.assertEqual(flakeid.to_text(int(row["id"]), int(row["base"])), row["text"])
                self.assertEqual(flakeid.from_text(row["text"], int(row["base"])), int(row["id"]))

    def test_text_accepted(self):
        for row in rows("text_accepted"):
            with self.subTest(row):
                self.assertEqual(flakeid.from_text(row["text"], int(row["base"])), int(row["id"]))

    def test_text_invalid(self):
        for row in rows("text_invalid"):
            with self.subTest(row), self.assertRaises(InvalidArgument):
                flakeid.from_text(row["text"], int(row["base"]))

    @unittest.skipUnless(cryptography, "the package cryptography is not there")
    def test_seal(self):
        for row in rows("seal"):
            with self.subTest(row):
                id, key, sealed = int(row["id"]), bytes.fromhex(row["key_hex"]), int(row["sealed"])
                version = int(row["version"])
                self.assertEqual(flakeid.seal(id, key), sealed)
                self.assertEqual(flakeid.unseal(sealed, key), id)
                self.assertEqual(flakeid.seal_text(id, version, key), row["text"])
                self.assertEqual(flakeid.unseal_text(row["text"], {version: key}), id)

    def test_seal_invalid(self):
        keys = {version: bytes(16) for version in range(1, 10)}
        for row in rows("seal_invalid"):
            with self.subTest(row), self.assertRaises(InvalidArgument):
                flakeid.unseal_text(row["text"], keys)

    def test_shard_for(self):
        convert = {"bigint": int, "text": str, "uuid": UUID}
        for row in rows("shard_for"):
            with self.subTest(row):
                key = convert[row["type"]](row["key"])
                self.assertEqual(flakeid.shard_for(key, int(row["shards"])), int(row["shard"]))

    def test_uuidv7(self):
        for row in rows("uuidv7"):
            with self.subTest(row):
                expected = (int(row["time_us"]), int(row["shard"]), int(row["sequence"]))
                self.assertEqual(flakeid.uuidv7_decode(row["uuid"]), expected)
                self.assertEqual(flakeid.uuidv7_decode(UUID(row["uuid"])), expected)

    def test_uuidv7_invalid(self):
        for row in rows("uuidv7_invalid"):
            with self.subTest(row), self.assertRaises(InvalidArgument):
                flakeid.uuidv7_decode(row["uuid"])


class Functions(unittest.TestCase):
    """What no vector says."""

    ID = 11637205501278089

    def test_datetimes(self):
        layout = Layout.parse()
        time = datetime(2011, 9, 9, 22, 28, 4, 721000, timezone.utc)
        self.assertEqual(layout.timestamp(self.ID), time)
        self.assertEqual(layout.decode(self.ID).time, time)
        self.assertEqual(layout.encode(time.astimezone(timezone(timedelta(hours=2))), 1341, 905), self.ID)
        self.assertEqual(layout.lower(time), layout.lower(1315607284721000))
        with self.assertRaises(InvalidArgument):
            layout.lower(time.replace(tzinfo=None))
        far = Layout.parse("ts:48 seq:16 epoch=1970-01-01")
        self.assertEqual(far.fields(1 << 62)["timestamp"], "4199-11-24T01:22:57.664Z")
        with self.assertRaises(InvalidArgument):
            Layout.parse("ts:42 seq:8 epoch=9999-01-01").timestamp(1 << 49)

    def test_fields(self):
        self.assertEqual(
            Layout.parse("snowflake").fields(1541815603606036480),
            {"ts": 367597485448, "datacenter": 11, "worker": 26, "seq": 0, "timestamp": "2022-06-28T16:07:40.105Z"},
        )
        self.assertEqual(Layout.parse("ticket").fields(7), {"seq": 3, "server": 1})
        self.assertEqual(
            Layout.parse("ts:50 seq:8 epoch=0001-01-01 unit=1ms").fields(-1 << 8)["timestamp"],
            "0001-12-31T23:59:59.999Z BC",
        )

    def test_out_of_range(self):
        layout = Layout.parse()
        for call in (
            lambda: layout.encode(0, 8192, 0),
            lambda: layout.encode(0, -1, 0),
            lambda: layout.encode(0, 0, 1024),
            lambda: layout.encode(1 << 60, 0, 0),
            lambda: layout.decode(1 << 63),
            lambda: layout.decode("1"),
            lambda: Layout.parse("segment").lower(0),
            lambda: Layout.parse("uuidv7").shard(0),
            lambda: Layout.parse(5),
            lambda: flakeid.to_text(1, 10),
            lambda: flakeid.shard_for(True, 5),
            lambda: flakeid.shard_for(1.5, 5),
            lambda: flakeid.shard_for(1 << 63, 5),
            lambda: flakeid.shard_for("a\0", 5),
            lambda: flakeid.shard_for("a", 0),
            lambda: flakeid.uuidv7_decode("00000000-0000-4000-8000-000000000000"),
            lambda: flakeid.uuidv7_decode("x"),
            lambda: flakeid.uuidv7_decode("urn:uuid:01890a5d-ac96-774b-bcce-b302099a8057"),
            lambda: flakeid.uuidv7_decode("\n1890a5d-ac96-774b-bcce-b302099a8057"),
            lambda: flakeid.uuidv7_decode("01890a5d-ac96-774b-bcce-b302099a805\N{ARABIC-INDIC DIGIT SEVEN}"),
            lambda: flakeid.uuidv7_decode("{01890a5d-ac96-774b-bcce-b302099a8057"),
            lambda: flakeid.unseal_text("1-LgVYMUAD3FE", {}),
            lambda: flakeid.unseal_text("01-LgVYMUAD3FE", {1: bytes(16)}),
            lambda: flakeid.seal(1, bytes(15)),
            lambda: flakeid.seal_text(1, 0, bytes(16)),
        ):
            with self.assertRaises(InvalidArgument):
                call()

    def test_bad_layout_says_what_and_how(self):
        with self.assertRaises(InvalidArgument) as raised:
            Layout.parse("ts:41 shard:13 seq:10")
        self.assertEqual(raised.exception.detail, 'There is no option "epoch".')
        self.assertIn("Add the instant", raised.exception.hint)

    def test_xxh64(self):
        """The lines of Python, also where xxhash is installed: XXH64 of its own test suite."""
        self.assertEqual(xxh64_in_python(b""), 0xEF46DB3751D8E999)
        self.assertEqual(xxh64_in_python(b"abc"), 0x44BC2CF5AD770999)
        self.assertEqual(
            xxh64_in_python(b"Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1
        )


if __name__ == "__main__":
    unittest.main()
