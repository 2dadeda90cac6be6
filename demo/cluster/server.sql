-- One data server: what every shard looks like, the shards that this server
-- holds, and the functions that the router calls here.
--
--   psql --set=first=0 --set=last=15 --single-transaction --file=server.sql
--
-- once on each data server, with the shards that it is to hold.  In its
-- postgresql.conf "flakeid.require_attach = on", so that it mints no others.

\set ON_ERROR_STOP on

CREATE EXTENSION flakeid;


-- The template of a shard.  It stays empty: flake_create_shard() makes the schema
-- photos_<n> like it, where ids default to flake_id(<n>) and are checked.

CREATE SCHEMA photos;

CREATE TABLE photos.photo (
    id      bigint PRIMARY KEY DEFAULT flake_id(),
    user_id bigint NOT NULL,
    title   text NOT NULL
);

CREATE TABLE photos.comment (
    id       bigint PRIMARY KEY DEFAULT flake_id(),
    photo_id bigint NOT NULL REFERENCES photos.photo,
    body     text NOT NULL
);
CREATE INDEX ON photos.comment (photo_id);

SELECT flake_create_shard(n, 'photos'), flake_attach(n)
FROM generate_series(:first, :last) AS n;


-- What the router calls.  It says which shards to work on, and so the schemas:
-- what else this server may have, such as a shard that was moved away, is left
-- alone.

CREATE SCHEMA shard;

CREATE FUNCTION shard.add_photo(shard int, user_id bigint, title text)
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    new_id bigint;
BEGIN
    EXECUTE format('INSERT INTO %I.photo (user_id, title) VALUES ($1, $2)'
                   ' RETURNING id', 'photos_' || shard)
    INTO new_id USING user_id, title;
    RETURN new_id;
END
$$;

CREATE FUNCTION shard.add_comment(shard int, photo_id bigint, body text)
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    new_id bigint;
BEGIN
    EXECUTE format('INSERT INTO %I.comment (photo_id, body) VALUES ($1, $2)'
                   ' RETURNING id', 'photos_' || shard)
    INTO new_id USING photo_id, body;
    RETURN new_id;
END
$$;

CREATE FUNCTION shard.get_photo(shard int, photo_id bigint)
RETURNS TABLE (id bigint, user_id bigint, title text, comments bigint)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT id, user_id, title,'
        ' (SELECT count(*) FROM %1$I.comment WHERE photo_id = photo.id)'
        ' FROM %1$I.photo WHERE id = $1', 'photos_' || shard)
    USING photo_id;
END
$$;

-- The newest photos of several shards: ids go up with time.
CREATE FUNCTION shard.newest_photos(shards int[], number int)
RETURNS TABLE (id bigint, user_id bigint, title text)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    shard int;
BEGIN
    FOREACH shard IN ARRAY shards LOOP
        RETURN QUERY EXECUTE format(
            'SELECT id, user_id, title FROM %I.photo ORDER BY id DESC LIMIT $1',
            'photos_' || shard)
        USING number;
    END LOOP;
END
$$;

CREATE FUNCTION shard.count_photos(shards int[])
RETURNS TABLE (shard int, photos bigint)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    FOREACH shard IN ARRAY shards LOOP
        EXECUTE format('SELECT count(*) FROM %I.photo', 'photos_' || shard)
        INTO photos;
        RETURN NEXT;
    END LOOP;
END
$$;
