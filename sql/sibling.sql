--
-- Children on the shard of their parents, by a trigger.
--

-- The example of the README
CREATE TABLE album (id bigint PRIMARY KEY, name text);
CREATE TABLE picture (
    id       bigint PRIMARY KEY,
    album_id bigint NOT NULL REFERENCES album,
    name     text,
    CHECK (flake_shard(id) = flake_shard(album_id))
);
CREATE FUNCTION beside_album() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.id := public.flake_sibling(NEW.album_id);
    RETURN NEW;
END
$$;
CREATE TRIGGER beside_album BEFORE INSERT ON picture
FOR EACH ROW WHEN (NEW.id IS NULL) EXECUTE FUNCTION beside_album();

INSERT INTO album VALUES (flake_id(17), 'summer'), (flake_id(18), 'winter');
INSERT INTO picture (album_id, name) SELECT id, 'the first' FROM album
RETURNING flake_shard(id), flake_shard(album_id);

-- many at once: each beside its parent, all different, later ones greater
INSERT INTO album VALUES (11637205501278089, 'of shard 1341'), (flake_make('2030-01-01Z', 17, 5), 'of the future');
INSERT INTO picture (album_id, name)
SELECT a.id, 'one of many' FROM generate_series(1, 500), album AS a;
SELECT a.name, count(*), count(DISTINCT p.id), min(flake_shard(p.id)), max(flake_shard(p.id))
FROM album AS a JOIN picture AS p ON p.album_id = a.id
WHERE p.name = 'one of many' GROUP BY 1 ORDER BY 1;
INSERT INTO picture (album_id, name) VALUES (11637205501278089, 'a'), (11637205501278089, 'b'), (11637205501278089, 'c');
SELECT string_agg(name, ' ' ORDER BY id) FROM picture WHERE length(name) = 1;

-- by COPY
COPY picture (album_id, name) FROM stdin;
11637205501278089	copied
11637205501278089	copied
\.
SELECT count(DISTINCT id), min(flake_shard(id)), max(flake_shard(id)) FROM picture WHERE name = 'copied';

-- An id that is given is kept, as in a load or by replication, and must fit.
INSERT INTO picture VALUES (flake_make('2026-01-01Z', 1341, 7), 11637205501278089, 'given')
RETURNING id = flake_make('2026-01-01Z', 1341, 7) AS kept;
\x on
SELECT code, message FROM attempt($$INSERT INTO picture VALUES (flake_id(17), 11637205501278089, 'given')$$);

-- nor can a child go to a parent elsewhere
SELECT code, message FROM attempt($$
    UPDATE picture SET album_id = (SELECT id FROM album WHERE name = 'summer') WHERE name = 'given'$$);

-- no parent
SELECT code, message FROM attempt($$INSERT INTO picture (name) VALUES ('of nobody')$$);
SELECT code, message FROM attempt($$INSERT INTO picture (album_id, name) VALUES (17, 'of an album that is not there')$$);
SELECT code FROM attempt($$DELETE FROM album WHERE name = 'winter'$$);

-- where the shard is not minted, there is no child
SELECT flake_detach(1341) > 0 AS detached;
SELECT code, message FROM attempt($$INSERT INTO picture (album_id, name) VALUES (11637205501278089, 'too late')$$);
SELECT flake_attach(1341);
\x off

-- with nothing in the search_path, as by postgres_fdw
SET search_path = pg_catalog;
INSERT INTO public.picture (album_id, name) VALUES (11637205501278089, 'from afar')
RETURNING public.flake_shard(id);
RESET search_path;

-- a child's child
CREATE TABLE remark (id bigint PRIMARY KEY, picture_id bigint NOT NULL REFERENCES picture, body text);
CREATE FUNCTION beside_picture() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.id := public.flake_sibling(NEW.picture_id);
    RETURN NEW;
END
$$;
CREATE TRIGGER beside_picture BEFORE INSERT ON remark
FOR EACH ROW WHEN (NEW.id IS NULL) EXECUTE FUNCTION beside_picture();
INSERT INTO remark (picture_id) SELECT id FROM picture;
SELECT count(*), count(*) FILTER (WHERE flake_shard(r.id) = flake_shard(a.id)) AS beside
FROM remark AS r JOIN picture AS p ON p.id = r.picture_id JOIN album AS a ON a.id = p.album_id;

-- Parents of a generator of their own: children of the same one, ...
SELECT flake_create_generator('order_id', 'snowflake');
CREATE TABLE purchase (id bigint PRIMARY KEY DEFAULT flake_id(700, 'order_id'));
CREATE TABLE item (id bigint PRIMARY KEY, purchase_id bigint NOT NULL REFERENCES purchase);
CREATE FUNCTION beside_purchase() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.id := public.flake_sibling(NEW.purchase_id, 'public.order_id');
    RETURN NEW;
END
$$;
CREATE TRIGGER beside_purchase BEFORE INSERT ON item
FOR EACH ROW WHEN (NEW.id IS NULL) EXECUTE FUNCTION beside_purchase();
INSERT INTO purchase DEFAULT VALUES;
INSERT INTO item (purchase_id) SELECT id FROM purchase
RETURNING flake_shard(id, 'snowflake'), id > purchase_id AS later;

-- ... or of the same shard, but another layout, if that has such a shard.
CREATE OR REPLACE FUNCTION beside_purchase() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.id := public.flake_id(public.flake_shard(NEW.purchase_id, 'snowflake'));
    RETURN NEW;
END
$$;
INSERT INTO item (purchase_id) SELECT id FROM purchase RETURNING flake_shard(id);
CREATE OR REPLACE FUNCTION beside_purchase() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.id := public.flake_id(public.flake_shard(NEW.purchase_id, 'hazelcast'));
    RETURN NEW;
END
$$;
INSERT INTO purchase VALUES (flake_make('2026-01-01Z', 40000, 0, 'hazelcast'));
\x on
SELECT code, message FROM attempt($$
    INSERT INTO item (purchase_id) VALUES (flake_make('2026-01-01Z', 40000, 0, 'hazelcast'))$$);
\x off

-- Partitions are chosen before the trigger: by the parent's shard it works,
-- by the child's the id must be in the statement.
CREATE TABLE by_parent (id bigint, album_id bigint) PARTITION BY LIST (flake_shard(album_id));
CREATE TABLE by_parent_17 PARTITION OF by_parent FOR VALUES IN (17);
CREATE TABLE by_parent_18 PARTITION OF by_parent FOR VALUES IN (18);
CREATE TRIGGER beside_album BEFORE INSERT ON by_parent
FOR EACH ROW WHEN (NEW.id IS NULL) EXECUTE FUNCTION beside_album();
INSERT INTO by_parent (album_id) SELECT id FROM album WHERE name IN ('summer', 'winter');
SELECT tableoid::regclass, flake_shard(id) FROM by_parent ORDER BY 2;

CREATE TABLE by_child (id bigint, album_id bigint) PARTITION BY LIST (flake_shard(id));
CREATE TABLE by_child_17 PARTITION OF by_child FOR VALUES IN (17);
CREATE TABLE by_child_18 PARTITION OF by_child FOR VALUES IN (18);
CREATE TRIGGER beside_album BEFORE INSERT ON by_child
FOR EACH ROW WHEN (NEW.id IS NULL) EXECUTE FUNCTION beside_album();
SELECT code, message FROM attempt($$
    INSERT INTO by_child (album_id) SELECT id FROM album WHERE name = 'summer'$$);
INSERT INTO by_child SELECT flake_sibling(id), id FROM album WHERE name IN ('summer', 'winter');
SELECT tableoid::regclass, flake_shard(id) FROM by_child ORDER BY 2;

DROP TABLE album, picture, remark, purchase, item, by_parent, by_child;
DROP FUNCTION beside_album, beside_picture, beside_purchase;
DROP SEQUENCE order_id;
