-- The router: which server holds which shards, and functions by PL/Proxy that run
-- there.  Clients call the functions at the end, and need not know of shards.
--
--   psql --set=alpha='host=... dbname=...' --set=beta=... --set=gamma=... \
--        --set=delta=... --single-transaction --file=router.sql
--
-- with a connection string for each data server, as a superuser: PL/Proxy is for
-- superusers to set up.  Leave out user=: PL/Proxy connects as whoever calls it.
-- Passwords belong into the file ~/.pgpass of the account that the router runs as.
--
-- In its postgresql.conf "flakeid.require_attach = on", so that no id is minted
-- here by mistake.

\set ON_ERROR_STOP on

CREATE EXTENSION flakeid;
CREATE EXTENSION plproxy;


-- The map: which of the 64 shards are where.  It changes when shards are moved; see
-- docs/plproxy.md.

CREATE SERVER alpha FOREIGN DATA WRAPPER plproxy OPTIONS (p0 :'alpha');
CREATE SERVER beta  FOREIGN DATA WRAPPER plproxy OPTIONS (p0 :'beta');
CREATE SERVER gamma FOREIGN DATA WRAPPER plproxy OPTIONS (p0 :'gamma');
CREATE SERVER delta FOREIGN DATA WRAPPER plproxy OPTIONS (p0 :'delta');

INSERT INTO flake_shard_map VALUES
    ('[0,15]', 'alpha'),
    ('[16,31]', 'beta'),
    ('[32,47]', 'gamma'),
    ('[48,63]', 'delta');

CREATE FUNCTION shard_count() RETURNS int IMMUTABLE
RETURN 64;

CREATE FUNCTION all_shards() RETURNS int[] IMMUTABLE
RETURN ARRAY(SELECT generate_series(0, shard_count() - 1));


-- What PL/Proxy asks: the cluster's partitions are the shards, in order.  Shards
-- of one server have the same connection string, and share a connection.
--
-- A shard that no server is known for is an error, raised here before PL/Proxy is
-- given anything.  A row less would move the others up to wrong places; and a null
-- leaves PL/Proxy 2.10 with half a list, which it crashes on if it goes on with it
-- because the version below has become the old one again.

CREATE FUNCTION connection_string(server name) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    result text;
BEGIN
    SELECT option_value INTO result
    FROM pg_foreign_server, pg_options_to_table(srvoptions)
    WHERE srvname = server AND option_name = 'p0';
    IF result IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'undefined_object',
            MESSAGE = format('server "%s" has no connection string', server),
            HINT = 'Use CREATE SERVER, or correct "flake_shard_map".';
    END IF;
    RETURN result;
END
$$;

CREATE SCHEMA plproxy;

CREATE FUNCTION plproxy.get_cluster_partitions(cluster_name text)
RETURNS SETOF text LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT connection_string(flake_server(shard))
    FROM generate_series(0, shard_count() - 1) AS shard
    ORDER BY shard;
END;

-- Asked for at each call: partitions are read anew if it has changed.  So it is
-- made from the map: whoever changes that, open sessions follow when he commits.
-- (PL/Proxy notices ALTER SERVER itself.)  A trigger that counts the changes would
-- be lost in a dump, because the map belongs to the extension.
CREATE FUNCTION plproxy.get_cluster_version(cluster_name text)
RETURNS int LANGUAGE sql STABLE
RETURN (SELECT coalesce(hashtext(string_agg(shards || ' ' || server, ','
                                            ORDER BY shards)), 0)
        FROM flake_shard_map);

CREATE FUNCTION plproxy.get_cluster_config(cluster_name text,
    OUT key text, OUT val text)
RETURNS SETOF record LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT NULL::text, NULL::text WHERE false;
END;


-- The functions of the data servers, called from here: the same names and
-- arguments.

CREATE SCHEMA shard;

CREATE FUNCTION shard.add_photo(shard int, user_id bigint, title text)
RETURNS bigint
LANGUAGE plproxy AS $$
    CLUSTER 'photos';
    RUN ON shard;
$$;

CREATE FUNCTION shard.add_comment(shard int, photo_id bigint, body text)
RETURNS bigint
LANGUAGE plproxy AS $$
    CLUSTER 'photos';
    RUN ON shard;
$$;

CREATE FUNCTION shard.get_photo(shard int, photo_id bigint)
RETURNS TABLE (id bigint, user_id bigint, title text, comments bigint)
LANGUAGE plproxy AS $$
    CLUSTER 'photos';
    RUN ON shard;
$$;

-- On many shards: each server is called once, at the same time as the others,
-- with those of the shards that the map says it has.

CREATE FUNCTION shard.newest_photos(shards int[], number int)
RETURNS TABLE (id bigint, user_id bigint, title text)
LANGUAGE plproxy AS $$
    CLUSTER 'photos';
    SPLIT shards;
    RUN ON shards;
$$;

CREATE FUNCTION shard.count_photos(shards int[])
RETURNS TABLE (shard int, photos bigint)
LANGUAGE plproxy AS $$
    CLUSTER 'photos';
    SPLIT shards;
    RUN ON shards;
$$;


-- For clients.  A user's photos are together on one shard; what belongs to a photo
-- is on the shard that the photo's id names.

CREATE FUNCTION add_photo(user_id bigint, title text) RETURNS bigint
RETURN shard.add_photo(flake_shard_for(user_id, shard_count()), user_id, title);

CREATE FUNCTION add_comment(photo_id bigint, body text) RETURNS bigint
RETURN shard.add_comment(flake_shard(photo_id), photo_id, body);

CREATE FUNCTION get_photo(photo_id bigint, OUT id bigint, OUT user_id bigint,
    OUT title text, OUT comments bigint)
RETURNS SETOF record LANGUAGE sql
BEGIN ATOMIC
    SELECT * FROM shard.get_photo(flake_shard(photo_id), photo_id);
END;

CREATE FUNCTION newest_photos(number int, OUT id bigint, OUT user_id bigint,
    OUT title text)
RETURNS SETOF record LANGUAGE sql
BEGIN ATOMIC
    SELECT * FROM shard.newest_photos(all_shards(), number) AS photo
    ORDER BY photo.id DESC LIMIT number;
END;

CREATE FUNCTION count_photos() RETURNS bigint
RETURN (SELECT sum(photos) FROM shard.count_photos(all_shards()));
