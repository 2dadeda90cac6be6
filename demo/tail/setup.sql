\set ON_ERROR_STOP 1
SET client_min_messages = warning;
CREATE EXTENSION flakeid;
SELECT flake_create_generator('event_id') \g /dev/null
CREATE TABLE event (
    id   bigint PRIMARY KEY,
    what text NOT NULL
);
CREATE TABLE reader (name text PRIMARY KEY, position bigint NOT NULL);
INSERT INTO reader VALUES ('naive', 0), ('settled', 0);

-- What the readers have read, in the order in which they have
CREATE TABLE seen (
    reader text NOT NULL,
    n      bigint GENERATED ALWAYS AS IDENTITY,
    id     bigint NOT NULL
);
CREATE INDEX ON seen (id, reader);

CREATE FUNCTION progress(who text, OUT read bigint, OUT lost bigint) LANGUAGE sql STABLE
RETURN (SELECT ROW ((SELECT count(*) FROM seen WHERE reader = who),
                    (SELECT count(*) FROM event e
                     WHERE e.id <= (SELECT position FROM reader WHERE name = who)
                       AND NOT EXISTS (SELECT FROM seen s WHERE s.reader = who AND s.id = e.id))));
