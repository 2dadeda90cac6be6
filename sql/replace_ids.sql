--
-- Other ids for rows, and for those that refer to them
--
SET client_min_messages = warning;
CREATE SCHEMA wrong;
CREATE ROLE flake_keeper;
SELECT flake_create_generator('wrong.thing_id');

-- foreign keys of every kind, of several steps, to itself, of several columns and composite
CREATE TABLE wrong.thing (
    id     bigint PRIMARY KEY DEFAULT flake_id(5, 'wrong.thing_id'),
    parent bigint REFERENCES wrong.thing,
    name   text,
    tenant int NOT NULL DEFAULT 1,
    twice  numeric GENERATED ALWAYS AS (id::numeric * 2) STORED,
    UNIQUE (tenant, id)
);
CREATE TABLE wrong.no_action (id bigint PRIMARY KEY REFERENCES wrong.thing, n int);
CREATE TABLE wrong.restricted (id bigint REFERENCES wrong.no_action ON UPDATE RESTRICT, "other Thing" bigint REFERENCES wrong.thing ON UPDATE RESTRICT);
CREATE TABLE wrong.cascaded (id bigint REFERENCES wrong.thing ON UPDATE CASCADE);
CREATE TABLE wrong.nulled (id bigint REFERENCES wrong.thing ON UPDATE SET NULL);
CREATE TABLE wrong.defaulted (id bigint DEFAULT 0 REFERENCES wrong.thing ON UPDATE SET DEFAULT);
CREATE TABLE wrong.deferred (id bigint REFERENCES wrong.thing DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE wrong.composite (tenant int, id bigint, FOREIGN KEY (tenant, id) REFERENCES wrong.thing (tenant, id));
CREATE TABLE wrong.parted (id bigint REFERENCES wrong.thing, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE wrong.elder (id bigint REFERENCES wrong.thing, thing bigint REFERENCES wrong.thing);
CREATE TABLE wrong.base (id bigint);
ALTER TABLE wrong.elder INHERIT wrong.base;
CREATE TABLE wrong.heir (thing bigint REFERENCES wrong.thing, FOREIGN KEY (id) REFERENCES wrong.thing) INHERITS (wrong.base);
SELECT flake_upper(now() + '1 day') AS above \gset
CREATE TABLE wrong.low PARTITION OF wrong.parted FOR VALUES FROM (MINVALUE) TO (:above);
CREATE TABLE wrong.high PARTITION OF wrong.parted FOR VALUES FROM (:above) TO (MAXVALUE);

-- good ids, and those of next year: of shards 5 and 6, in no order
INSERT INTO wrong.thing (name) SELECT 'good ' || i FROM generate_series(1, 3) AS i;
INSERT INTO wrong.thing (id, name)
SELECT flake_make(now() + '1 year' + (i * 7919 % 1000) * interval '1 ms', 5 + i % 2, i % 2), 'bad ' || i FROM generate_series(1, 100) AS i;
UPDATE wrong.thing AS t SET parent = (SELECT o.id FROM wrong.thing AS o WHERE o.id <= t.id ORDER BY id % 100, id LIMIT 1);
INSERT INTO wrong.no_action SELECT id, 1 FROM wrong.thing;
INSERT INTO wrong.restricted SELECT id, parent FROM wrong.thing UNION ALL SELECT NULL, id FROM wrong.thing;
INSERT INTO wrong.cascaded SELECT id FROM wrong.thing;
INSERT INTO wrong.nulled SELECT id FROM wrong.thing;
INSERT INTO wrong.defaulted SELECT id FROM wrong.thing;
INSERT INTO wrong.deferred SELECT id FROM wrong.thing;
INSERT INTO wrong.composite SELECT tenant, id FROM wrong.thing;
INSERT INTO wrong.parted SELECT id FROM wrong.thing;
INSERT INTO wrong.base SELECT id FROM wrong.thing;
INSERT INTO wrong.heir SELECT id, parent FROM wrong.thing;
INSERT INTO wrong.elder SELECT id, parent FROM wrong.thing;
CREATE VIEW wrong.everything AS
SELECT t.name, p.name AS parent, t.twice = t.id * 2 AS twice,
       (SELECT count(*) FROM wrong.no_action AS r WHERE r.id = t.id) AS no_action,
       (SELECT count(*) FROM wrong.restricted AS r WHERE r.id = t.id) AS restricted, (SELECT count(*) FROM wrong.restricted AS r WHERE r."other Thing" = t.id) AS restricted_other,
       (SELECT count(*) FROM wrong.cascaded AS r WHERE r.id = t.id) AS cascaded, (SELECT count(*) FROM wrong.nulled AS r WHERE r.id = t.id) AS nulled,
       (SELECT count(*) FROM wrong.defaulted AS r WHERE r.id = t.id) AS defaulted, (SELECT count(*) FROM wrong.deferred AS r WHERE r.id = t.id) AS deferred,
       (SELECT count(*) FROM wrong.composite AS r WHERE r.id = t.id) AS composite, (SELECT count(*) FROM wrong.parted AS r WHERE r.id = t.id) AS parted,
       (SELECT count(*) FROM wrong.heir AS r WHERE r.id = t.id) AS heir,
       (SELECT count(*) FROM wrong.heir AS r WHERE r.thing = t.id) AS heir_thing,
       (SELECT count(*) FROM wrong.elder AS r WHERE r.id = t.id) AS elder, (SELECT count(*) FROM wrong.elder AS r WHERE r.thing = t.id) AS elder_thing
FROM wrong.thing AS t LEFT JOIN wrong.thing AS p ON p.id = t.parent;
CREATE TABLE wrong.before AS SELECT t.id, e.* FROM wrong.everything AS e JOIN wrong.thing AS t USING (name);
CREATE TABLE wrong.everything_before AS TABLE wrong.everything;

-- a dry run changes nothing
SET client_min_messages = notice;
SELECT count(*), count(new_id) AS new, min(old_id) > :above AS above FROM flake_replace_ids('wrong.thing', 'id', :above, generator => 'wrong.thing_id');
SET client_min_messages = warning;
SELECT count(*) FROM (TABLE wrong.everything EXCEPT TABLE wrong.everything_before) AS changed;

-- triggers fire as with UPDATE, with the caller's search_path
CREATE TABLE wrong.fired (what text, path text, who name);
CREATE FUNCTION wrong.note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO fired VALUES (TG_TABLE_NAME || ' ' || TG_OP, current_setting('search_path'), current_user);
    RETURN NEW;
END
$$;
CREATE TRIGGER note BEFORE UPDATE OF id ON wrong.thing FOR EACH ROW EXECUTE FUNCTION wrong.note();
SET search_path = wrong, public;
CREATE TABLE map AS SELECT * FROM flake_replace_ids('thing', 'id', :above, generator => 'thing_id', dry_run => false);
RESET search_path;
SELECT what, path, who = current_user AS who, count(*) FROM wrong.fired GROUP BY 1, 2, 3;

-- every row is as it was, but for the ids of next year
SELECT count(*), bool_and(flake_shard(old_id) = flake_shard(new_id)) AS shards, bool_and(abs(extract(epoch FROM flake_timestamp(new_id) - now())) < 3600) AS present FROM wrong.map;
SELECT count(*) AS misordered FROM (SELECT new_id < lag(new_id) OVER (PARTITION BY flake_shard(old_id) ORDER BY old_id) AS is FROM wrong.map) AS o WHERE o.is;
SELECT count(*) FROM wrong.everything;
SELECT count(*) FROM (TABLE wrong.everything EXCEPT TABLE wrong.everything_before) AS changed;
SELECT count(*) FROM wrong.thing AS t JOIN wrong.before AS b USING (name) LEFT JOIN wrong.map AS m ON m.old_id = b.id WHERE t.id <> coalesce(m.new_id, b.id);
SELECT count(*) FROM wrong.low UNION ALL SELECT count(*) FROM wrong.high;
SELECT * FROM flake_replace_ids('wrong.thing', 'id', :above, generator => 'wrong.thing_id', dry_run => false);

-- all of one shard, and of another generator; a column without foreign keys, with ids that occur twice
CREATE TABLE wrong.log (id bigint, n int);
INSERT INTO wrong.log SELECT flake_make(now() + '1 year', 7, i % 3), i FROM generate_series(1, 9) AS i;
SELECT count(*), bool_and(flake_shard(new_id) = 9) AS shard, bool_and(new_id < :above) AS present FROM flake_replace_ids('wrong.log', 'id', :above, 9, dry_run => false);
SELECT count(*), count(DISTINCT id), count(DISTINCT id) FILTER (WHERE n % 3 = 0) AS "of the third" FROM wrong.log;

-- rows that others refer to, and that refer to each other, move to another partition
CREATE TABLE wrong.event (id bigint PRIMARY KEY, up bigint REFERENCES wrong.event, n int) PARTITION BY RANGE (id);
CREATE TABLE wrong.event_low PARTITION OF wrong.event FOR VALUES FROM (MINVALUE) TO (:above);
CREATE TABLE wrong.event_high (n int, up bigint, id bigint NOT NULL);
ALTER TABLE wrong.event ATTACH PARTITION wrong.event_high FOR VALUES FROM (:above) TO (MAXVALUE);
CREATE TABLE wrong.detail (event bigint REFERENCES wrong.event ON UPDATE CASCADE, n int);
INSERT INTO wrong.event (id, up, n) SELECT flake_make(now() + '1 year', 4, i), flake_make(now() + '1 year', 4, i / 2), i FROM generate_series(0, 9) AS i;
INSERT INTO wrong.detail SELECT id, n FROM wrong.event;
SELECT count(*) FROM flake_replace_ids('wrong.event', 'id', :above, dry_run => false);
SELECT e.tableoid::regclass, count(*), bool_and(u.n = e.n / 2) AS up, bool_and(d.n = e.n) AS detail
FROM wrong.event AS e JOIN wrong.event AS u ON u.id = e.up JOIN wrong.detail AS d ON d.event = e.id GROUP BY 1;

-- tables with the same ids that do not refer to them: siblings, and heirs of a table that does
CREATE TABLE wrong.parent (id bigint);
CREATE TABLE wrong.one (PRIMARY KEY (id)) INHERITS (wrong.parent);
CREATE TABLE wrong.other (PRIMARY KEY (id)) INHERITS (wrong.parent);
CREATE TABLE wrong.child (n int) INHERITS (wrong.one);
CREATE TABLE wrong.to_one (one bigint REFERENCES wrong.one);
CREATE TABLE wrong.to_one_heir () INHERITS (wrong.to_one);
INSERT INTO wrong.parent SELECT flake_make(now() + '1 year', 5, i) FROM generate_series(0, 2) AS i;
INSERT INTO wrong.one TABLE ONLY wrong.parent;
INSERT INTO wrong.other TABLE ONLY wrong.parent;
INSERT INTO wrong.child SELECT id + 1024, 0 FROM ONLY wrong.parent;
INSERT INTO wrong.to_one TABLE ONLY wrong.one;
INSERT INTO wrong.to_one_heir TABLE ONLY wrong.one;
SELECT count(*) FROM flake_replace_ids('wrong.one', 'id', :above, dry_run => false);
SELECT tableoid::regclass, bool_and(id > :above) AS is_old FROM wrong.parent GROUP BY 1 ORDER BY 1;
SELECT tableoid::regclass, bool_and(one > :above) AS is_old FROM wrong.to_one GROUP BY 1 ORDER BY 1;
DROP TABLE wrong.to_one CASCADE;
DROP TABLE wrong.parent CASCADE;

-- what it refuses
UPDATE wrong.thing SET parent = NULL;
INSERT INTO wrong.thing (id, name) VALUES (flake_make(now() + '1 year', 5, 0), 'one more');
CREATE FUNCTION wrong.refused(change text, statement text DEFAULT $$SELECT * FROM flake_replace_ids('wrong.thing', 'id', flake_upper(now() + '1 day'), generator => 'wrong.thing_id', dry_run => false)$$)
RETURNS TABLE (code text, message text, detail text, hint text) LANGUAGE plpgsql AS $$
BEGIN
    BEGIN
        EXECUTE change;
        RETURN QUERY SELECT a.code, a.message, replace(a.detail, session_user, 'tester'), a.hint FROM attempt(statement) AS a;
        RAISE SQLSTATE 'F0000';
    EXCEPTION WHEN SQLSTATE 'F0000' THEN
    END;
END
$$;
\x on
SELECT * FROM wrong.refused('');
SELECT * FROM wrong.refused('ALTER TABLE wrong.cascaded OWNER TO flake_keeper');
SELECT * FROM wrong.refused('CREATE RULE r AS ON UPDATE TO wrong.cascaded DO ALSO NOTHING');
SELECT * FROM wrong.refused('CREATE TABLE wrong.narrow (id int REFERENCES wrong.thing)');
SELECT * FROM wrong.refused('ALTER TABLE wrong.no_action ADD g bigint GENERATED ALWAYS AS (nullif(n, n)) STORED REFERENCES wrong.thing');
SELECT * FROM wrong.refused('CREATE TABLE wrong.always (id bigint GENERATED ALWAYS AS IDENTITY REFERENCES wrong.thing)');
SELECT * FROM wrong.refused('CREATE TABLE wrong.top (id bigint PRIMARY KEY); ALTER TABLE wrong.log ADD FOREIGN KEY (id) REFERENCES wrong.top NOT VALID',
                            $$SELECT * FROM flake_replace_ids('wrong.log', 'id', 0)$$);
SELECT * FROM wrong.refused('CREATE DOMAIN wrong.thing_id_type AS bigint; ALTER DOMAIN wrong.thing_id_type OWNER TO flake_keeper; CREATE TABLE wrong.typed (id wrong.thing_id_type REFERENCES wrong.thing)');
SELECT * FROM wrong.refused('CREATE DOMAIN wrong.doubled AS bigint; ALTER DOMAIN wrong.doubled OWNER TO flake_keeper; ALTER TABLE wrong.thing ADD again wrong.doubled GENERATED ALWAYS AS (id) STORED');
SELECT a.detail FROM unnest(ARRAY['CREATE INDEX again ON wrong.thing ((id::wrong.doubled))', 'ALTER TABLE wrong.thing ADD CONSTRAINT again CHECK (id::wrong.doubled > 0)',
                                  'ALTER TABLE wrong.thing ADD again bigint GENERATED ALWAYS AS (id::wrong.doubled) STORED',
                                  'CREATE TRIGGER again AFTER UPDATE ON wrong.thing FOR EACH ROW WHEN (NEW.id::wrong.doubled > 0) EXECUTE FUNCTION wrong.note()']) WITH ORDINALITY AS c (change, n),
    wrong.refused('CREATE DOMAIN wrong.doubled AS bigint; ALTER DOMAIN wrong.doubled OWNER TO flake_keeper; ' || change) AS a ORDER BY n;
SELECT * FROM wrong.refused('CREATE FOREIGN DATA WRAPPER nowhere; CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere; CREATE FOREIGN TABLE wrong.away () INHERITS (wrong.thing) SERVER nowhere');
SELECT * FROM wrong.refused('CREATE TABLE wrong.parts (kind int, thing bigint) PARTITION BY LIST (kind); CREATE TABLE wrong.part PARTITION OF wrong.parts (FOREIGN KEY (thing) REFERENCES wrong.thing) FOR VALUES IN (1)');
SELECT code, message, hint FROM wrong.refused('CREATE FUNCTION wrong.keep() RETURNS trigger LANGUAGE plpgsql AS ''BEGIN RETURN NULL; END''; CREATE TRIGGER keep BEFORE UPDATE ON wrong.thing FOR EACH ROW EXECUTE FUNCTION wrong.keep()');
SELECT code, message FROM wrong.refused('DROP TRIGGER note ON wrong.thing; ALTER TABLE wrong.thing ADD CHECK (name <> ''one more'' OR flake_timestamp(id) > now() + ''1 day'')');
SELECT code, message FROM wrong.refused('SELECT flake_detach(5, ''wrong.thing_id'')');
\x off
SELECT * FROM attempt($$SELECT flake_replace_ids('wrong.thing', NULL, 0)$$);
SELECT * FROM attempt($$SELECT flake_replace_ids('wrong.thing', 'id', NULL)$$);
SELECT * FROM attempt($$SELECT flake_replace_ids('wrong.thing', 'id', 0, generator => NULL)$$);
SELECT * FROM attempt($$SELECT flake_replace_ids('wrong.thing', 'id', 0, generator => 'wrong.log')$$);
SELECT * FROM attempt($$SELECT flake_replace_ids('wrong.thing', 'id', flake_upper(now() + '1 day'), 8192, 'wrong.thing_id', false)$$);
SELECT * FROM attempt($$SELECT flake_replace_ids('wrong.thing', 'none', 0)$$);
SELECT * FROM attempt($$SELECT flake_replace_ids('wrong.thing', 'name', 0)$$);
SELECT * FROM attempt($$SELECT flake_replace_ids('wrong.everything', 'parent', 0)$$);
SELECT * FROM attempt($$SELECT flake_replace_ids('wrong.low', 'id', 0)$$);
SELECT * FROM attempt($$SELECT flake_replace_ids(1::regclass, 'id', 0)$$);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM attempt($$SELECT flake_replace_ids('wrong.thing', 'id', 0, dry_run => false)$$);
ROLLBACK;
SELECT count(*) AS "still there" FROM wrong.thing WHERE id > :above;

-- as the owner, who may do what the trigger may; and by others
SELECT * FROM wrong.refused('GRANT ALL ON wrong.thing TO flake_keeper; GRANT USAGE ON SCHEMA wrong TO flake_keeper; SET LOCAL ROLE flake_keeper',
                            $$SELECT flake_replace_ids('wrong.thing', 'id', 0)$$);
CREATE TABLE wrong.hers (id bigint PRIMARY KEY, up bigint REFERENCES wrong.hers);
CREATE TRIGGER note AFTER UPDATE ON wrong.hers FOR EACH ROW EXECUTE FUNCTION wrong.note();
INSERT INTO wrong.hers SELECT flake_make(now() + '1 year', 3, i), flake_make(now() + '1 year', 3, i / 2) FROM generate_series(0, 9) AS i;
ALTER TABLE wrong.hers OWNER TO flake_keeper;
GRANT USAGE ON SCHEMA wrong TO flake_keeper;
GRANT INSERT ON wrong.fired TO flake_keeper;
TRUNCATE wrong.fired;
SET search_path = wrong, public;
\x on
SELECT * FROM refused('ALTER TABLE wrong.hers FORCE ROW LEVEL SECURITY, ENABLE ROW LEVEL SECURITY', $$SELECT flake_replace_ids('hers', 'id', 0)$$);
SELECT * FROM refused('ALTER TABLE wrong.hers ALTER CONSTRAINT hers_up_fkey DEFERRABLE INITIALLY DEFERRED', $$SELECT flake_replace_ids('hers', 'id', 0)$$);
\x off
SELECT count(*) FROM flake_replace_ids('hers', 'id', :above, dry_run => false);
SELECT what, who, count(*) FROM fired GROUP BY 1, 2;
SELECT count(*), count(*) FILTER (WHERE up < :above) AS up FROM hers;
SELECT id AS last, up AS last_up FROM hers ORDER BY id DESC LIMIT 1 \gset
SET ROLE flake_keeper;
SELECT count(*), bool_and(new_id > old_id) AS later FROM flake_replace_ids('hers', 'id', 0, dry_run => false);
RESET ROLE;
SELECT what, who, count(*) FROM fired GROUP BY 1, 2;
RESET search_path;
DROP SCHEMA wrong CASCADE;
DROP ROLE flake_keeper;
