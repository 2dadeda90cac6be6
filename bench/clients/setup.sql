-- Generators for the client libraries, tables for the rows of an application, and a place
-- for what is measured.

CREATE EXTENSION flakeid;

CREATE SCHEMA bench;

-- More ids in a second than a program of Python or JavaScript can mint, so that the layout
-- does not limit them
SELECT flake_create_generator('bench.wide', 'ts:36 shard:7 seq:20 epoch=2026-01-01 unit=10ms') \g /dev/null

CREATE TABLE bench.parent (
    id   bigint PRIMARY KEY DEFAULT flake_id(5),
    name text NOT NULL
);

CREATE TABLE bench.child (
    id        bigint PRIMARY KEY DEFAULT flake_id(5),
    parent_id bigint NOT NULL REFERENCES bench.parent,
    n         int NOT NULL
);

\ir ../tables.sql
