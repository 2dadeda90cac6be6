#!/usr/bin/env python3
"""Rows per second of an application that inserts a parent and ten children: rows.py [SECONDS].

The database is that of PG*, with the tables of setup.sql.  Prints lines of a name, a tab, and rows per
second.  The contenders are those of rows.mjs.
"""

import sys
import time

import psycopg
from flakeid import Minter

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
NUMBERS = list(range(1, 11))

# With autocommit psycopg sends no BEGIN of its own, which would be one more round trip in a pipeline.
connection = psycopg.connect(autocommit=True)
connection.prepare_threshold = 0


def control(command):
    connection.execute(command, prepare=False)


def ids_known():
    """One round trip: a pipeline."""
    parent, *children = ids.next_n(1 + len(NUMBERS))
    with connection.pipeline():
        control("BEGIN")
        connection.execute("INSERT INTO bench.parent (id, name) VALUES (%s, %s)", (parent, "summer"))
        connection.execute(
            "INSERT INTO bench.child (id, parent_id, n) "
            "SELECT c.id, %s, c.n FROM unnest(%s::bigint[], %s::int[]) AS c (id, n)",
            (parent, children, NUMBERS),
        )
        control("COMMIT")


def insert_parent():
    return connection.execute(
        "INSERT INTO bench.parent (name) VALUES (%s) RETURNING id", ("summer",)
    ).fetchone()[0]


def insert_children(parent):
    connection.execute(
        "INSERT INTO bench.child (parent_id, n) SELECT %s, n FROM unnest(%s::int[]) AS n",
        (parent, NUMBERS),
    )


def one_transaction():
    """Four round trips: BEGIN, the parent, the children, COMMIT."""
    control("BEGIN")
    insert_children(insert_parent())
    control("COMMIT")


def pipelined():
    """Two round trips: BEGIN with the parent, the children with COMMIT."""
    with connection.pipeline():
        control("BEGIN")
        insert_children(insert_parent())
        control("COMMIT")


def two_transactions():
    """Two round trips."""
    insert_children(insert_parent())


def one_statement():
    """One round trip."""
    connection.execute(
        "WITH p AS (INSERT INTO bench.parent (name) VALUES (%s) RETURNING id) "
        "INSERT INTO bench.child (parent_id, n) SELECT p.id, n FROM p, unnest(%s::int[]) AS n",
        ("summer", NUMBERS),
    )


def measure(name, work, rows):
    """Works for a while, after some rounds for preparing the statements."""
    for _ in range(5):
        work()
    begun = now = time.perf_counter()
    count = 0
    while now < begun + SECONDS:
        work()
        count += rows
        now = time.perf_counter()
    print(f"{name}\t{count / (now - begun):.0f}")


with Minter() as ids:
    measure("ids known, one batch", ids_known, 11)
    measure("RETURNING, one transaction", one_transaction, 11)
    measure("RETURNING, pipelined", pipelined, 11)
    measure("RETURNING, two transactions", two_transactions, 11)
    measure("RETURNING in WITH, one statement", one_statement, 11)
    measure("SELECT 1", lambda: connection.execute("SELECT 1").fetchone(), 1)
connection.close()
