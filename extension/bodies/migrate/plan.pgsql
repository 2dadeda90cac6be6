DECLARE
    rest pg_catalog.oid[];
    members pg_catalog.oid[];
    ready pg_catalog.oid[];
    ranked pg_catalog.oid[];    -- the group, in this order
BEGIN
    -- Those that were dropped, moved or migrated meanwhile are not wanted any more.
    wanted := ARRAY(SELECT DISTINCT i.relation FROM @extschema@._flake_id_columns() AS i
                    WHERE NOT i.minted AND i.namespace = ANY (schemas) AND i.relation = ANY (wanted) ORDER BY i.relation);
    rest := wanted;
    groups := 0;
    WHILE rest <> '{}' LOOP
        members := @extschema@._flake_joined_tables(rest[1]);
        IF groups = 0 THEN
            tables := members;
        END IF;
        groups := groups + 1;
        EXIT WHEN NOT counted;
        rest := ARRAY(SELECT r FROM unnest(rest) AS r WHERE r <> ALL (members) ORDER BY r);
    END LOOP;

    -- Tables that refer to none of the rest come next; of a circle, the oldest one.
    rest := ARRAY(SELECT t FROM unnest(tables) AS t ORDER BY t);
    WHILE rest <> '{}' LOOP
        ready := ARRAY(SELECT r FROM unnest(rest) AS r
                       WHERE NOT EXISTS (SELECT FROM pg_constraint k
                                         WHERE k.contype = 'f' AND k.conrelid = r AND k.confrelid <> r AND k.confrelid = ANY (rest))
                       ORDER BY r);
        IF ready = '{}' THEN
            ready := rest[1:1];
        END IF;
        ranked := ranked || ready;
        rest := ARRAY(SELECT r FROM unnest(rest) AS r WHERE r <> ALL (ready) ORDER BY r);
    END LOOP;
    SELECT array_agg(i.relation ORDER BY i.rank, i.attnum), array_agg(i.attname ORDER BY i.rank, i.attnum),
           array_agg(i.extension ORDER BY i.rank, i.attnum)
    INTO targets, attributes, extensions
    FROM (SELECT c.relation, c.attname, c.extension, a.attnum, array_position(ranked, c.relation) AS rank
          FROM @extschema@._flake_id_columns() AS c
          JOIN pg_attribute a ON a.attrelid = c.relation AND a.attname = c.attname
          WHERE NOT c.minted AND c.namespace = ANY (schemas) AND c.relation = ANY (wanted)) AS i
    WHERE i.rank IS NOT NULL;
    wanted := ARRAY(SELECT w FROM unnest(wanted) AS w WHERE w <> ALL (tables) ORDER BY w);
END
