DECLARE
    months int := extract(year FROM width) * 12 + extract(month FROM width);
    days int := extract(day FROM width);
    rest interval := width - make_interval(months => months, days => days);
    step pg_catalog.record;
    first_id bigint;
    end_id bigint;
    is_uuid boolean;
    first_bound pg_catalog.text;
    end_bound pg_catalog.text;
    no_end CONSTANT bigint := 9223372036854775807;    -- flake_lower() if no number is above all ids
    suffix pg_catalog.text;
    existing pg_catalog.record;
    of_parent pg_catalog.record;
    created bigint[] := '{}';   -- where the new partitions begin
    steps pg_catalog.text[] := '{}';
    lock_timeout pg_catalog.text := current_setting('lock_timeout');
BEGIN
    layout := @extschema@._flake_partition_layout(parent, layout);
    is_uuid := layout::text LIKE '% form=uuidv7 %';
    IF NOT isfinite(since) OR NOT isfinite(upto) THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'partitions must begin and end at a finite time';
    ELSIF ((months > 0)::int + (days > 0)::int + (rest > '0')::int = 1 AND months >= 0 AND days >= 0 AND rest >= '0') IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = format('cannot make partitions of width "%s"', width),
            HINT = 'Give a number of years and months, or of weeks and days, or of hours, minutes and seconds.';
    END IF;

    -- The owner of the schema may be in the midst of renaming it: that is waited for with
    -- nothing locked.
    PERFORM @extschema@._flake_guard_schemas(ticket, ARRAY(SELECT relnamespace FROM pg_class WHERE oid = parent));
    -- From here on nobody else changes its name, schema, owner or partitions.
    PERFORM @extschema@._flake_guard_definition(ticket, parent::oid);
    SELECT relname, relnamespace, relowner INTO of_parent FROM pg_class WHERE oid = parent;
\i bodies/brief_waits.pgsql
    PERFORM @extschema@._flake_guard_schemas(ticket, ARRAY[of_parent.relnamespace]::oid[]);

    -- What is made as the owner of the parent looks at the default partition, and
    -- evaluates its checks; nobody can add one from here on.
    PERFORM @extschema@._flake_guard_relation(ticket, t.relid::oid, false)
    FROM pg_partitioned_table p CROSS JOIN LATERAL pg_partition_tree(p.partdefid) t
    WHERE p.partrelid = parent;
    SELECT c.relname INTO existing
    FROM pg_partitioned_table p
    CROSS JOIN LATERAL pg_partition_tree(p.partdefid) t
    JOIN pg_class c ON c.oid = t.relid
    WHERE p.partrelid = parent AND NOT @extschema@._flake_trusts(of_parent.relowner, c.relowner)
      -- its owner can give it another partition, with checks, at any time
      AND (c.relkind = 'p' OR EXISTS (SELECT FROM pg_constraint WHERE conrelid = c.oid AND contype = 'c'))
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot create partitions of "%s" beside default partition "%s"', of_parent.relname, existing.relname),
            DETAIL = 'They belong to different roles, and checks of the default partition would be evaluated as the owner of the table.',
            HINT = 'Give both to one role with ALTER TABLE ... OWNER TO.';
    END IF;

    -- An index of another owner's table, of which this one is a partition, is on the new one, too.
    SELECT @extschema@._flake_evaluated_code(parent::oid, of_parent.relowner, true) AS code INTO existing;
    IF existing.code IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot create partitions of "%s", which is itself a partition', of_parent.relname),
            DETAIL = format('PostgreSQL would evaluate %s as role "%s".', existing.code, pg_get_userbyid(of_parent.relowner)),
            HINT = 'Give both tables the same owner, or drop what would be evaluated.';
    END IF;

    WHILE since < upto LOOP
        SELECT * INTO step FROM @extschema@._flake_partition_step(width, since, zone);
        first_id := @extschema@.flake_lower(step.since, layout);
        end_id := @extschema@.flake_lower(step.upto, layout);
        IF first_id >= end_id THEN
            RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range',
                MESSAGE = format('layout "%s" has no ids from %s to %s', layout, step.since, step.upto);
        END IF;

        first_bound := CASE WHEN is_uuid THEN quote_literal(@extschema@.flake_uuidv7_lower(step.since)) ELSE first_id::text END;
        end_bound := CASE WHEN is_uuid THEN quote_literal(@extschema@.flake_uuidv7_lower(step.upto))
                          WHEN end_id = no_end THEN 'MAXVALUE'
                          ELSE end_id::text END;

        SELECT p.*, i.inhdetachpending INTO existing
        FROM @extschema@.flake_partitions(parent, layout) p JOIN pg_inherits i ON i.inhrelid = p.partition
        WHERE coalesce(p.lower_bound < end_id, true) AND coalesce(p.upper_bound > first_id, true)
           OR end_id = no_end AND p.lower_bound = no_end
        ORDER BY i.inhdetachpending DESC, p.lower_bound NULLS FIRST LIMIT 1;
        IF NOT FOUND THEN
            suffix := CASE WHEN months > 0 THEN to_char(step.since AT TIME ZONE zone, '"_p"YYYYMM')
                           WHEN days > 0 THEN to_char(step.since AT TIME ZONE zone, '"_p"YYYYMMDD')
                           ELSE to_char(step.since AT TIME ZONE 'UTC', CASE WHEN rest >= '1 minute' THEN '"_p"YYYYMMDD"_"HH24MI"z"'
                                                                            ELSE '"_p"YYYYMMDD"_"HH24MISSUS"z"' END)
                      END;
            -- A name has 63 bytes, and it is the suffix that tells partitions apart.
            steps := steps || (
                SELECT ARRAY[[of_parent.relowner::text, parent::text, parent::oid::text,
                              format('CREATE TABLE %I.%I PARTITION OF %s FOR VALUES FROM (%s) TO (%s)', nspname,
                                     left(of_parent.relname, i) || suffix, parent, first_bound, end_bound)]]
                FROM pg_namespace, generate_series(0, 63) AS i
                WHERE oid = of_parent.relnamespace AND octet_length(left(of_parent.relname, i)) <= 63 - length(suffix)
                ORDER BY i DESC LIMIT 1);
            created := created || first_id;
        ELSIF existing.inhdetachpending THEN
            RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
                MESSAGE = format('partition from %s to %s cannot be created before partition "%s" is detached', step.since, step.upto, existing.partition),
                DETAIL = 'Detaching it concurrently has begun, and is not complete.',
                HINT = format('If nobody is doing it, complete it with ALTER TABLE %s DETACH PARTITION %s FINALIZE.', parent, existing.partition);
        ELSIF (existing.lower_bound, coalesce(existing.upper_bound, no_end)) IS DISTINCT FROM (first_id, end_id) THEN
            RAISE EXCEPTION USING ERRCODE = 'invalid_object_definition',
                MESSAGE = format('partition from %s to %s would overlap partition "%s"', step.since, step.upto, existing.partition),
                DETAIL = format('Its ids would be from %s to below %s, and that one''s are from %s to below %s.',
                                first_id, coalesce(nullif(end_id, no_end)::text, 'the end'), coalesce(existing.lower_bound::text, 'the first'), coalesce(existing.upper_bound::text, 'the end')),
                HINT = 'Use the width and the time zone that the existing ones were made with, or begin after them.';
        END IF;
        since := step.upto;
    END LOOP;

    -- Who reads the table, or writes to it, is waited for as for any command that changes it.
    -- What refers to it can be anybody's.
    IF steps <> '{}' THEN
        PERFORM set_config('lock_timeout', lock_timeout, true);
        PERFORM @extschema@._flake_guard_relation(ticket, parent::oid, true);
\i bodies/brief_waits.pgsql
    END IF;

    -- As the owner: a partition key and a default partition can have code of his.
    PERFORM @extschema@._flake_execute_steps(ticket, ARRAY[of_parent.relnamespace]::oid[], ARRAY[parent]::oid[], '{}'::oid[], steps, false);
    PERFORM set_config('lock_timeout', lock_timeout, true);
    RETURN QUERY SELECT p.partition FROM @extschema@.flake_partitions(parent, layout) p
                 WHERE p.lower_bound = ANY (created) ORDER BY p.lower_bound;
END
