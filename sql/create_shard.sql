--
-- A schema for each logical shard, made after a template
--
CREATE SCHEMA photos;
CREATE TYPE photos.mood AS ENUM ('good', 'bad');
CREATE SEQUENCE photos.position_seq AS int INCREMENT 10 CYCLE MAXVALUE 1000;
SELECT flake_create_generator('photos.event_id', 'snowflake');
CREATE ROLE flake_reader;
CREATE ROLE flake_writer;

CREATE TABLE photos.album (
    album_id int GENERATED ALWAYS AS IDENTITY (START 1000) PRIMARY KEY,
    name     text NOT NULL,
    CONSTRAINT "a name once" UNIQUE (name)
);
CREATE TABLE photos.photo (
    id       bigint PRIMARY KEY DEFAULT flake_id(0) CHECK (flake_shard(id) = 0),
    user_id  bigint NOT NULL,
    album_id int REFERENCES photos.album ON UPDATE CASCADE,
    n        serial,
    position int DEFAULT nextval('photos.position_seq') CHECK (position > 0),
    mood     photos.mood DEFAULT 'good',
    title    text COLLATE "C" DEFAULT 'untitled ' || 'photo',
    taken_at timestamptz GENERATED ALWAYS AS (flake_timestamp(id)) STORED
) WITH (fillfactor = 80, autovacuum_enabled = false);
CREATE INDEX "by user, newest first" ON photos.photo (user_id, id DESC) WHERE mood = 'good';
COMMENT ON COLUMN photos.photo.user_id IS 'whose it is';
COMMENT ON TYPE photos.photo IS 'a row';
COMMENT ON TYPE photos.photo[] IS 'rows';
CREATE TABLE photos.comment (
    id       bigint PRIMARY KEY DEFAULT flake_id(),
    photo_id bigint NOT NULL REFERENCES photos.photo ON DELETE CASCADE,
    reply_to bigint REFERENCES photos.comment DEFERRABLE INITIALLY DEFERRED,
    body     text,
    CONSTRAINT beside CHECK (flake_shard(id) = flake_shard(photo_id))
);
CREATE FUNCTION photos.shout() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN NEW.body := upper(NEW.body); RETURN NEW; END';
CREATE TRIGGER loud BEFORE INSERT ON photos.comment FOR EACH ROW EXECUTE FUNCTION photos.shout();
CREATE TRIGGER silent BEFORE UPDATE ON photos.comment FOR EACH ROW EXECUTE FUNCTION photos.shout();
ALTER TABLE photos.comment DISABLE TRIGGER silent;
CREATE TABLE photos.event (
    id   bigint NOT NULL DEFAULT flake_id(0, 'photos.event_id'),
    what text,
    PRIMARY KEY (id),
    CHECK (flake_shard(id, 'snowflake') = 0)
) PARTITION BY RANGE (id);
CREATE INDEX ON photos.event (what);
CREATE TABLE photos.event_2030 PARTITION OF photos.event
    FOR VALUES FROM (MINVALUE) TO (1200000000000000000);
CREATE TABLE photos.event_later PARTITION OF photos.event DEFAULT;
ALTER TABLE photos.event REPLICA IDENTITY FULL;
GRANT USAGE ON SCHEMA photos TO flake_reader, flake_writer;
GRANT SELECT ON ALL TABLES IN SCHEMA photos TO flake_reader;
GRANT INSERT (user_id, title) ON photos.photo TO flake_writer;
GRANT USAGE ON SEQUENCE photos.photo_n_seq TO flake_writer WITH GRANT OPTION;
GRANT SELECT ON photos.album TO PUBLIC;

SELECT flake_create_shard(5, 'photos');

-- The same as the template but for the shard and the schema
CREATE FUNCTION grants(acl aclitem[], owner oid) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(format('%s to %s%s', privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END,
                             CASE WHEN is_grantable THEN ' with grant option' END), ', ' ORDER BY grantee, privilege_type)
    FROM aclexplode(acl) WHERE grantee <> owner
$$;
CREATE FUNCTION description(schema name) RETURNS TABLE (kind text, line text) LANGUAGE sql
SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT kind, replace(line, schema, 'S')
    FROM (
        SELECT '1 table', format('%s %s %s %s %s %s', relname, relkind, relpersistence, reloptions, relreplident, grants(relacl, relowner))
        FROM pg_class WHERE relnamespace = schema::regnamespace AND relkind IN ('r', 'p', 'S') AND relname NOT IN ('event_id')
        UNION ALL
        SELECT '2 column', format('%s.%s %s %s %s %s %s%s %s %s', relname, attname, format_type(atttypid, atttypmod), attnotnull, attcollation::regcollation,
                                  pg_get_expr(adbin, adrelid), attidentity, attgenerated, grants(attacl, relowner), col_description(c.oid, attnum))
        FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        WHERE relnamespace = schema::regnamespace AND relkind IN ('r', 'p') AND attnum > 0
        UNION ALL
        SELECT '3 constraint', format('%s %s %s %s', conrelid::regclass, conname, conislocal, pg_get_constraintdef(oid))
        FROM pg_constraint WHERE connamespace = schema::regnamespace AND contype NOT IN ('n', 't')
        UNION ALL
        SELECT '4 index', format('%s %s', pg_get_indexdef(indexrelid), indisreplident)
        FROM pg_index JOIN pg_class c ON c.oid = indrelid WHERE relnamespace = schema::regnamespace AND relkind IN ('r', 'p')
        UNION ALL
        SELECT '5 trigger', format('%s %s', pg_get_triggerdef(t.oid), tgenabled)
        FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid WHERE relnamespace = schema::regnamespace AND NOT tgisinternal
        UNION ALL
        SELECT '6 partition', format('%s of %s %s', inhrelid::regclass, inhparent::regclass, pg_get_expr(relpartbound, inhrelid))
        FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid WHERE relnamespace = schema::regnamespace AND relkind = 'r'
        UNION ALL
        SELECT '7 sequence', format('%s %s %s %s %s %s %s %s', sequencename, data_type, start_value, min_value, max_value, increment_by, cycle,
                                    (SELECT refobjid::regclass || '.' || refobjsubid FROM pg_depend WHERE objid = format('%I.%I', schemaname, sequencename)::regclass AND deptype = 'a'))
        FROM pg_sequences WHERE schemaname = schema AND sequencename NOT IN ('event_id', 'album_album_id_seq')
    ) AS d (kind, line)
$$;
\pset tuples_only on
\pset format unaligned
SELECT * FROM description('photos_5') ORDER BY kind, line COLLATE "C";
\echo -- not as in the template
(SELECT 'gone', kind, line COLLATE "C" AS line FROM description('photos') EXCEPT SELECT 'gone', kind, line COLLATE "C" FROM description('photos_5'))
UNION ALL
(SELECT 'new', kind, line COLLATE "C" FROM description('photos_5') EXCEPT SELECT 'new', kind, line COLLATE "C" FROM description('photos'))
ORDER BY kind, line, 1;
\pset format aligned
\pset tuples_only off

-- It works
SET search_path = photos_5, public;
INSERT INTO album (name) VALUES ('summer') RETURNING *;
INSERT INTO photo (user_id, album_id) VALUES (31341, 1000) RETURNING flake_shard(id), album_id, n, position, mood, title, taken_at = flake_timestamp(id) AS time;
INSERT INTO comment (photo_id, body) SELECT id, 'nice' FROM photo RETURNING flake_shard(id), body;
INSERT INTO event (what) VALUES ('seen') RETURNING flake_shard(id, 'snowflake'), tableoid::regclass;
RESET search_path;
SELECT count(*) FROM photos.photo;
\x on
SELECT code, message FROM attempt('INSERT INTO photos_5.photo (id, user_id) VALUES (flake_id(6), 1)');
SELECT code, message FROM attempt($$INSERT INTO photos_5.event VALUES (flake_id(0, 'photos.event_id'))$$);

-- Errors, after which there is nothing
SELECT * FROM attempt($$SELECT flake_create_shard(5, 'photos')$$);
SELECT * FROM attempt($$SELECT flake_create_shard(5, 'no photos')$$);
SELECT * FROM attempt($$SELECT flake_create_shard(1024, 'photos')$$);
SELECT * FROM attempt($$SELECT flake_create_shard(-1, 'photos')$$);
SELECT * FROM attempt($$SELECT flake_create_shard(1, 'public')$$);
SELECT * FROM attempt(format($$SELECT flake_create_shard(12, 'photos', %L)$$, 'photos_5'));
CREATE SCHEMA a_schema_whose_name_is_as_long_as_the_name_of_a_schema_can_be_a;
SELECT * FROM attempt($$SELECT flake_create_shard(5, 'a_schema_whose_name_is_as_long_as_the_name_of_a_schema_can_be_a')$$);
DROP SCHEMA a_schema_whose_name_is_as_long_as_the_name_of_a_schema_can_be_a;
CREATE TABLE photos.other (id bigint DEFAULT flake_id(0) + 1);
SELECT * FROM attempt($$SELECT flake_create_shard(6, 'photos')$$);
ALTER TABLE photos.other ALTER id DROP DEFAULT, ENABLE ROW LEVEL SECURITY;
SELECT * FROM attempt($$SELECT flake_create_shard(6, 'photos')$$);
ALTER TABLE photos.other DISABLE ROW LEVEL SECURITY;
CREATE POLICY some_rows ON photos.other USING (id > 0);
SELECT code, detail FROM attempt($$SELECT flake_create_shard(6, 'photos')$$);
DROP POLICY some_rows ON photos.other;
CREATE RULE nothing AS ON DELETE TO photos.other DO INSTEAD NOTHING;
SELECT code, detail FROM attempt($$SELECT flake_create_shard(6, 'photos')$$);
DROP TABLE photos.other;
CREATE TABLE photos.other () INHERITS (photos.album);
SELECT code, detail FROM attempt($$SELECT flake_create_shard(6, 'photos')$$);
DROP TABLE photos.other;
\x off
SELECT nspname FROM pg_namespace WHERE nspname LIKE 'photos%' ORDER BY nspname;
SELECT flake_create_shard(NULL, 'photos'), flake_create_shard(6, NULL);

-- Names that need quotes, a temporary table in the way, and a role that owns the template
CREATE SCHEMA "it's %I" AUTHORIZATION flake_writer;
CREATE TABLE "it's %I"."Some ""table""" ("The id" bigint DEFAULT flake_id(3) PRIMARY KEY, "in" bigint REFERENCES "it's %I"."Some ""table""");
ALTER TABLE "it's %I"."Some ""table""" OWNER TO flake_writer;
CREATE TEMP TABLE "Some ""table""" (LIKE "it's %I"."Some ""table""" INCLUDING ALL);
SET ROLE flake_writer;
\x on
SELECT code FROM attempt($$SELECT flake_create_shard(4, 'it''s %I')$$);
\x off
RESET ROLE;
SELECT current_database() AS db \gset
GRANT CREATE ON DATABASE :"db" TO flake_writer;
SET ROLE flake_writer;
SELECT flake_create_shard(4, 'it''s %I');
SELECT flake_create_shard(4, 'it''s %I', '"5"');
RESET ROLE;
SELECT flake_create_shard(6, 'it''s %I');
INSERT INTO "it's %I_6"."Some ""table""" VALUES (DEFAULT, NULL) RETURNING flake_shard("The id");
SELECT conrelid::regclass, pg_get_constraintdef(oid), pg_get_userbyid(relowner)
FROM (SELECT k.*, relowner FROM pg_constraint k JOIN pg_class c ON c.oid = conrelid) AS k
WHERE contype IN ('c', 'f') AND connamespace IN ('"it''s %I_4"'::regnamespace, '"""5"""'::regnamespace, '"it''s %I_6"'::regnamespace)
ORDER BY conrelid::regclass::text, contype;
REVOKE CREATE ON DATABASE :"db" FROM flake_writer;

-- A name that means something in search_path, a column that is gone, all kinds of indexes, and identifiers in quotes
CREATE SCHEMA "$user";
CREATE TABLE "$user".t (gone int, id bigint DEFAULT flake_id(0) PRIMARY KEY, n serial, r int4range, EXCLUDE USING gist (r WITH &&) DEFERRABLE);
ALTER TABLE "$user".t DROP COLUMN gone;
CREATE UNIQUE INDEX u ON "$user".t ((n + 1), lower(r) DESC) INCLUDE (id) WHERE n > 0;
CREATE FUNCTION "$user".nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE CONSTRAINT TRIGGER c AFTER INSERT ON "$user".t FROM "$user".t FOR EACH ROW WHEN (NEW.n > 0) EXECUTE FUNCTION "$user".nothing();
SET quote_all_identifiers = on;
SELECT flake_create_shard(7, '$user');
RESET quote_all_identifiers;
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = '"$user_7".t'::regclass ORDER BY indexrelid;
SELECT contype, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = '"$user_7".t'::regclass AND contype NOT IN ('n', 't') ORDER BY conname;
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = '"$user_7".t'::regclass AND NOT tgisinternal;
INSERT INTO "$user_7".t (r) VALUES ('[1,2]') RETURNING flake_shard(id), n, r;
CREATE TRIGGER "x ON photos.album y" AFTER INSERT ON photos.album EXECUTE FUNCTION "$user".nothing();
\x on
SELECT * FROM attempt($$SELECT flake_create_shard(8, 'photos')$$);
DROP TRIGGER "x ON photos.album y" ON photos.album;
CREATE INDEX whole ON "$user".t ((t IS NULL));
SELECT * FROM attempt($$SELECT flake_create_shard(8, '$user')$$);
\x off

-- What copies an index is for the tables' owner.
SET ROLE flake_writer;
\x on
SELECT * FROM attempt($$SELECT _flake_copy_index('photos.photo_pkey'::regclass, '"it''s %I"."Some ""table"""')$$);
SELECT * FROM attempt($$SELECT _flake_copy_index('"it''s %I"."Some ""table""_pkey"'::regclass, 'photos.album')$$);
SELECT * FROM attempt($$SELECT _flake_copy_index(1, 'photos.album')$$);
\x off
RESET ROLE;
SET client_min_messages = warning;
DROP SCHEMA "$user", "$user_7" CASCADE;
RESET client_min_messages;

-- Nobody has more privileges than on the template, whatever is granted by default
CREATE SCHEMA small AUTHORIZATION flake_writer;
SET ROLE flake_writer;
CREATE TABLE small.note (id bigint PRIMARY KEY DEFAULT flake_id(), n serial);
GRANT INSERT ON small.note TO flake_reader;
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC, flake_reader;
ALTER DEFAULT PRIVILEGES GRANT ALL ON SEQUENCES TO flake_reader;
ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO flake_reader;
RESET ROLE;
SELECT flake_create_shard(5, 'small');
SELECT p.oid::regclass AS object, e.privilege_type, e.grantee::regrole
FROM pg_class p, aclexplode(p.relacl) AS e
WHERE p.relnamespace = 'small_5'::regnamespace AND e.grantee <> p.relowner;
SELECT count(*) FROM pg_namespace, aclexplode(nspacl) AS e WHERE nspname = 'small_5' AND e.grantee <> nspowner;
SET ROLE flake_writer;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM PUBLIC, flake_reader;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON SEQUENCES FROM flake_reader;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON SCHEMAS FROM flake_reader;
RESET ROLE;
DROP SCHEMA small, small_5 CASCADE;

-- By which it does things as others: not as nobody, and no more than a function can
\x on
SELECT * FROM attempt('SELECT _flake_execute_as(0, ''SELECT 1'')');
SELECT * FROM attempt('SELECT _flake_execute_as(10, ''COMMIT'')');
SELECT * FROM attempt('SELECT _flake_execute_as(10, ''COPY (SELECT 1) TO STDOUT'')');
\x off

-- Many at once
-- With debug_discard_caches on, this would take hours.
SET debug_discard_caches = 0;
SELECT count(flake_create_shard(n, 'photos')) FROM generate_series(100, 199) AS n;
RESET debug_discard_caches;
SELECT count(*), count(DISTINCT pg_get_expr(adbin, adrelid))
FROM pg_attrdef JOIN pg_class c ON c.oid = adrelid JOIN pg_namespace n ON n.oid = relnamespace
WHERE nspname ~ '^photos_1..$' AND relname = 'photo' AND pg_get_expr(adbin, adrelid) ~ 'flake_id';
INSERT INTO photos_142.photo (user_id) VALUES (1) RETURNING flake_shard(id), n;

SET client_min_messages = warning;
DO $$ DECLARE s name; BEGIN FOR s IN SELECT nspname FROM pg_namespace WHERE nspname ~ '^photos_' LOOP EXECUTE format('DROP SCHEMA %I CASCADE', s); COMMIT; END LOOP; END $$;
DROP SCHEMA photos, "it's %I", "it's %I_4", """5""", "it's %I_6" CASCADE;
DROP FUNCTION description, grants;
DROP ROLE flake_reader, flake_writer;

-- A foreign key to a table elsewhere
CREATE SCHEMA outer_one;
CREATE TABLE outer_one.country (code text PRIMARY KEY);
CREATE SCHEMA inner_one;
CREATE TABLE inner_one.item (id bigint PRIMARY KEY DEFAULT flake_id(0), code text REFERENCES outer_one.country);
SELECT flake_create_shard(1, 'inner_one');
SELECT conname, confrelid::regclass FROM pg_constraint WHERE conrelid = 'inner_one_1.item'::regclass AND contype = 'f';
SET client_min_messages = warning;
DROP SCHEMA inner_one, inner_one_1, outer_one CASCADE;
RESET client_min_messages;

-- Of what belongs to a table but is no part of it, comments are copied, and the rest is refused
CREATE SCHEMA beside;
CREATE TABLE beside.album (id bigint PRIMARY KEY DEFAULT flake_id(0));
CREATE TABLE beside.photo (id bigint PRIMARY KEY DEFAULT flake_id(0), album bigint REFERENCES beside.album) PARTITION BY RANGE (id);
CREATE TABLE beside.photo_all PARTITION OF beside.photo DEFAULT;
COMMENT ON TYPE beside.album IS 'a row';
COMMENT ON TYPE beside.photo_all[] IS 'rows';
COMMENT ON CONSTRAINT photo_album_fkey ON beside.photo IS 'of the parent';
SELECT flake_create_shard(1, 'beside');
SELECT objid::regtype AS type, description
FROM pg_description, LATERAL (VALUES (objoid)) AS o (objid)
WHERE classoid = 'pg_type'::regclass AND objid::regtype::text LIKE 'beside\_1.%' ORDER BY objid::regtype::text;
SELECT conrelid::regclass, obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conrelid::regclass::text LIKE 'beside\_1.%' AND contype = 'f' ORDER BY conrelid::regclass::text;
SET client_min_messages = warning;
DROP SCHEMA beside_1 CASCADE;
RESET client_min_messages;
\x on
COMMENT ON CONSTRAINT photo_album_fkey ON beside.photo_all IS 'of the partition';
SELECT * FROM attempt($$SELECT flake_create_shard(1, 'beside')$$);
COMMENT ON CONSTRAINT photo_album_fkey ON beside.photo_all IS NULL;
SELECT tgname AS trigger FROM pg_trigger WHERE tgrelid = 'beside.album'::regclass ORDER BY oid LIMIT 1 \gset
COMMENT ON TRIGGER :"trigger" ON beside.album IS 'of the key';
SELECT code, detail, hint FROM attempt($$SELECT flake_create_shard(1, 'beside')$$);
COMMENT ON TRIGGER :"trigger" ON beside.album IS NULL;
REVOKE USAGE ON TYPE beside.photo FROM PUBLIC;
SELECT * FROM attempt($$SELECT flake_create_shard(1, 'beside')$$);
GRANT USAGE ON TYPE beside.photo TO PUBLIC;
INSERT INTO pg_seclabel VALUES ('beside.photo'::regtype, 'pg_type'::regclass, 0, 'nobody', 'secret');
SELECT * FROM attempt($$SELECT flake_create_shard(1, 'beside')$$);
DELETE FROM pg_seclabel WHERE provider = 'nobody';
\x off
SELECT flake_create_shard(1, 'beside');
SET client_min_messages = warning;
DROP SCHEMA beside, beside_1 CASCADE;
RESET client_min_messages;

-- A check of the shard is replaced, however it is written
CREATE SCHEMA forms;
CREATE TABLE forms.item (
    a bigint DEFAULT flake_id(0) CHECK (flake_shard(a) IN (0, 9)),
    b bigint DEFAULT flake_id(0) CHECK (0 = flake_shard(b)),
    c bigint DEFAULT flake_id(0) CHECK (flake_shard(id => c) = ANY ('{0}')),
    d text DEFAULT flake_id(0) CHECK (flake_shard(d::bigint) = 0));
SELECT flake_create_shard(1, 'forms');
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'forms_1.item'::regclass AND contype = 'c' ORDER BY conname;
INSERT INTO forms_1.item DEFAULT VALUES RETURNING flake_shard(a), flake_shard(b), flake_shard(c), flake_shard(d::bigint);
SET client_min_messages = warning;
DROP SCHEMA forms, forms_1 CASCADE;
RESET client_min_messages;

-- Long comments, and arguments of triggers, are not compared whole
CREATE SCHEMA noted;
CREATE TABLE noted.item (id bigint);
CREATE TRIGGER t BEFORE UPDATE ON noted.item FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
DO $$BEGIN EXECUTE format('COMMENT ON TABLE noted.item IS %L', repeat('x', 9000)); END$$;
SELECT object, value FROM _flake_traits('noted'::regnamespace) WHERE trait = 'comment';
SELECT count(*) FROM _flake_traits('noted'::regnamespace) WHERE trait = 'tgargs';
DO $$BEGIN
    EXECUTE format('CREATE OR REPLACE TRIGGER t BEFORE UPDATE ON noted.item FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger(%L)', repeat('x', 9000));
END$$;
SELECT value IS NULL AS left_out FROM _flake_traits('noted'::regnamespace) WHERE trait = 'tgargs';
DROP TABLE noted.item;
DROP SCHEMA noted;

-- A table of an extension is not copied, and neither are its indexes
CREATE SCHEMA has_other;
CREATE TABLE has_other.of_extension (id int PRIMARY KEY);
CREATE TABLE has_other.item (id bigint PRIMARY KEY DEFAULT flake_id(0));
ALTER EXTENSION flakeid ADD TABLE has_other.of_extension;
SELECT flake_create_shard(1, 'has_other');
SELECT relname FROM pg_class WHERE relnamespace = 'has_other_1'::regnamespace ORDER BY relname;
ALTER EXTENSION flakeid DROP TABLE has_other.of_extension;
SET client_min_messages = warning;
DROP SCHEMA has_other, has_other_1 CASCADE;
RESET client_min_messages;

-- Of what _flake_traits() converts to json, this alone has values of types of users, who may
-- have written a cast to json: so it leaves it out before.
SELECT attrelid::regclass, attname FROM pg_attribute
WHERE attrelid IN ('pg_class'::regclass, 'pg_attribute'::regclass, 'pg_index'::regclass, 'pg_sequence'::regclass,
                   'pg_constraint'::regclass, 'pg_trigger'::regclass, 'pg_statistic_ext'::regclass)
  AND atttypid IN (SELECT oid FROM pg_type WHERE typtype = 'p');
