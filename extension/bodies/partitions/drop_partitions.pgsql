DECLARE
    last_id bigint := @extschema@.flake_lower(before, @extschema@._flake_partition_layout(parent, layout));
    no_end CONSTANT bigint := 9223372036854775807;      -- flake_lower() if no number is above all ids
    partition pg_catalog.record;
    other pg_catalog.record;
    old pg_catalog.oid[] := '{}';       -- those that are locked
    schemas pg_catalog.oid[] := '{}';
    command pg_catalog.text;
    steps pg_catalog.text[] := '{}';
    lock_timeout pg_catalog.text := current_setting('lock_timeout');
    caller CONSTANT pg_catalog.oid := quote_ident(current_user)::regrole::oid;
BEGIN
    -- The caller will execute the statements.  PostgreSQL then evaluates checks of the
    -- partition, and plans queries of what refers to it.  The owner could also add such
    -- things when the statements are there.
    IF "concurrently" AND NOT @extschema@._flake_trusts(caller, (SELECT relowner FROM pg_class WHERE oid = parent)) THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot detach partitions of "%s" concurrently', (SELECT relname FROM pg_class WHERE oid = parent)),
            DETAIL = format('You would execute the statements, and PostgreSQL could evaluate as role "%s" what role "%s" has written.',
                            current_user, (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = parent)),
            HINT = 'Connect as the owner of the table.';
    END IF;
    IF "concurrently" AND EXISTS (SELECT FROM pg_partitioned_table WHERE partrelid = parent AND partdefid <> 0) THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('cannot detach partitions of "%s" concurrently', (SELECT relname FROM pg_class WHERE oid = parent)),
            DETAIL = 'It has a default partition.';
    END IF;

    IF NOT "concurrently" AND EXISTS (SELECT FROM @extschema@.flake_partitions(parent, layout) p WHERE coalesce(p.upper_bound, no_end) <= last_id) THEN
        -- The owner of a schema may be in the midst of renaming it: that is waited for with
        -- nothing locked.
        schemas := ARRAY(SELECT DISTINCT c.relnamespace FROM pg_class c
                         WHERE c.oid = parent OR c.oid IN (SELECT p.partition::oid FROM @extschema@.flake_partitions(parent, layout) p
                                                           WHERE coalesce(p.upper_bound, no_end) <= last_id));
        PERFORM @extschema@._flake_guard_schemas(ticket, schemas);
        -- DROP TABLE takes this lock, too.  From here on nobody else changes its
        -- name or owner, what its partitions are, and their names.
        PERFORM @extschema@._flake_guard_relation(ticket, parent::oid, true);
\i bodies/brief_waits.pgsql
        old := ARRAY(SELECT p.partition::oid FROM @extschema@.flake_partitions(parent, layout) p WHERE coalesce(p.upper_bound, no_end) <= last_id);
        PERFORM @extschema@._flake_guard_relation(ticket, id, false) FROM unnest(old) AS id;
        schemas := ARRAY(SELECT DISTINCT relnamespace FROM pg_class WHERE oid = parent OR oid = ANY (old));
        PERFORM @extschema@._flake_guard_schemas(ticket, schemas);
    END IF;

    FOR partition IN
        SELECT p.partition AS oid, c.relowner, CASE c.relkind WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END AS kind,
               coalesce(p.upper_bound, no_end) <= last_id AS is_old, i.inhdetachpending, EXISTS (SELECT FROM pg_constraint WHERE confrelid = c.oid) AS is_referred_to
        FROM @extschema@.flake_partitions(parent, layout) p
        JOIN pg_class c ON c.oid = p.partition
        JOIN pg_inherits i ON i.inhrelid = c.oid
        WHERE coalesce(p.upper_bound, no_end) <= last_id AND ("concurrently" OR p.partition::oid = ANY (old))
           OR "concurrently" AND i.inhdetachpending
              AND EXISTS (SELECT FROM @extschema@.flake_partitions(parent, layout) q WHERE coalesce(q.upper_bound, no_end) <= last_id)
        ORDER BY i.inhdetachpending DESC, p.upper_bound
    LOOP
        -- What foreign keys refer to cannot be dropped while it is a partition.  An
        -- attempt to detach one may have been broken off: that comes first, because
        -- until it is complete none can be detached concurrently.
        -- PostgreSQL looks for rows that refer to it, as the owner of the parent, and
        -- concurrently whether its checks imply its bounds.
        -- And once the statements are there, the owner of a schema can put another one in its
        -- place, with tables of the same names, and others can let tables of theirs refer.
        SELECT c.oid, u.role, u.what INTO other
        FROM (SELECT relid::oid FROM pg_partition_ancestors(parent)
              UNION SELECT relid::oid FROM pg_partition_tree(partition.oid)
              UNION SELECT conrelid FROM pg_constraint WHERE contype = 'f' AND confrelid = partition.oid::oid) AS r (relation)
        JOIN pg_class c ON c.oid = r.relation
        JOIN pg_namespace n ON n.oid = c.relnamespace
        CROSS JOIN LATERAL (
            SELECT 1, c.relowner, 'has written for table'
            UNION ALL
            SELECT 2, CASE WHEN n.nspowner = 'pg_database_owner'::regrole
                           THEN (SELECT datdba FROM pg_database WHERE datname = current_database()) ELSE n.nspowner END,
                   'would put in the place of table'
            UNION ALL
            SELECT 3, e.grantee, 'would write for another that refers to table'
            FROM (SELECT c.relacl UNION ALL SELECT attacl FROM pg_attribute WHERE attrelid = c.oid) AS a (acl)
            CROSS JOIN LATERAL aclexplode(a.acl) AS e
            WHERE e.privilege_type = 'REFERENCES') AS u (n, role, what)
        WHERE "concurrently" AND (u.role = 0 OR NOT @extschema@._flake_trusts(caller, u.role))
        ORDER BY u.n, c.oid LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                MESSAGE = format('cannot detach partition %s concurrently', partition.oid),
                DETAIL = format('You would execute the statements, and PostgreSQL could evaluate as role "%s" what role "%s" %s %s.',
                                current_user, CASE other.role WHEN 0 THEN 'public' ELSE pg_get_userbyid(other.role) END,
                                other.what, other.oid::regclass),
                HINT = 'Give the tables and their schemas the same owner, revoke REFERENCES from others, and connect as that owner.';
        END IF;
        FOR other IN
            SELECT r.relation, p.relowner, @extschema@._flake_foreign_code(r.relation, p.relowner) AS code
            FROM (SELECT k.conrelid FROM pg_constraint k
                  WHERE k.contype = 'f' AND k.confrelid = partition.oid::oid AND k.conparentid <> 0
                  UNION
                  SELECT partition.oid::oid) AS r (relation), pg_class p
            WHERE (partition.is_referred_to OR "concurrently") AND p.oid = parent
            ORDER BY code, r.relation
        LOOP
            IF other.code IS NOT NULL THEN
                RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                    MESSAGE = CASE WHEN partition.is_referred_to THEN format('cannot detach partition %s, to which rows of another table refer', partition.oid)
                                   ELSE format('cannot detach partition %s concurrently', partition.oid) END,
                    DETAIL = format('PostgreSQL would evaluate %s as role "%s".', other.code, pg_get_userbyid(other.relowner)),
                    HINT = 'Give both tables the same owner, or drop what would be evaluated.';
            END IF;
            IF NOT "concurrently" THEN
                steps := steps || ARRAY[[other.relowner::text, NULL, other.relation::text, NULL]];
            END IF;
        END LOOP;
        -- The bounds of the partition, also by its ancestors, are written as text and read
        -- again, by whoever detaches it.  The owner of a type can add checks to it, and who
        -- can create functions, one that fits better.
        SELECT k.class, k.object, r.role, s.stranger INTO other
        FROM (SELECT relowner AS role FROM pg_class WHERE oid = parent
              UNION SELECT caller WHERE "concurrently") AS r
        CROSS JOIN (
            SELECT 'pg_type'::regclass::oid AS class, a.atttypid AS object
            FROM pg_partition_ancestors(parent) AS up
            JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = up.relid AND d.objsubid > 0
             AND d.refclassid = 'pg_class'::regclass AND d.refobjid = up.relid AND d.refobjsubid = 0 AND d.deptype = 'i'
            JOIN pg_attribute a ON a.attrelid = up.relid AND a.attnum = d.objsubid
            UNION
            SELECT d.refclassid, d.refobjid
            FROM pg_partition_ancestors(parent) AS up
            JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = up.relid AND d.objsubid = 0
            WHERE d.refclassid IN ('pg_type'::regclass, 'pg_proc'::regclass, 'pg_operator'::regclass)
              AND d.refobjid <> '@extschema@.flake_shard(bigint, @extschema@.flake_layout)'::regprocedure) AS k
        CROSS JOIN LATERAL (
            SELECT CASE WHEN k.class = 'pg_type'::regclass THEN @extschema@._flake_type_owner(k.object, r.role)
                        ELSE @extschema@._flake_usurper(k.class, k.object, r.role) END) AS s (stranger)
        WHERE (partition.is_referred_to OR "concurrently") AND s.stranger IS NOT NULL
        ORDER BY k.class, k.object, r.role LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                MESSAGE = CASE WHEN partition.is_referred_to THEN format('cannot detach partition %s, to which rows of another table refer', partition.oid)
                               ELSE format('cannot detach partition %s concurrently', partition.oid) END,
                DETAIL = format('PostgreSQL would read its bounds as role "%s", and role "%s" could change what %s means there.',
                                pg_get_userbyid(other.role), other.stranger, pg_describe_object(other.class, other.object, 0)),
                HINT = 'Give that the owner of the table, and let nobody else create something in its schema.';
        END IF;
        IF "concurrently" OR partition.is_referred_to THEN
            steps := steps || ARRAY[[(SELECT relowner FROM pg_class WHERE oid = parent)::text, parent::text, parent::oid::text,
                format('ALTER TABLE %s DETACH PARTITION %s%s', parent, partition.oid,
                       CASE WHEN partition.inhdetachpending THEN ' FINALIZE' WHEN "concurrently" THEN ' CONCURRENTLY' ELSE '' END)]];
        END IF;
        CONTINUE WHEN NOT partition.is_old;
        command := format('DROP %s %s', partition.kind, partition.oid);
        IF "concurrently" THEN
            -- psql goes on after an error, and what is still attached is in use.
            command := format('DO %L', format(
                'BEGIN IF (SELECT relispartition FROM pg_catalog.pg_class WHERE oid OPERATOR(pg_catalog.=) %L::pg_catalog.regclass) THEN'
                || ' RAISE object_not_in_prerequisite_state USING MESSAGE = %L; END IF; %s; END',
                partition.oid, format('partition %s is not detached yet', partition.oid), command));
        END IF;
        steps := steps || ARRAY[[partition.relowner::text, partition.oid::text, partition.oid::oid::text, command]];
    END LOOP;

    IF NOT "concurrently" AND steps <> '{}' THEN
        -- As the owners, whose code can be executed when one is detached.
        PERFORM @extschema@._flake_execute_steps(ticket, schemas, parent::oid || old, '{}'::oid[], steps, false);
    END IF;
    PERFORM set_config('lock_timeout', lock_timeout, true);
    RETURN QUERY SELECT s.command FROM unnest(steps[:][4:4]) WITH ORDINALITY AS s (command, i) WHERE s.command IS NOT NULL ORDER BY s.i;
END
