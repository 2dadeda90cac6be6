DECLARE
    lock_timeout pg_catalog.text := current_setting('lock_timeout');
    in_use boolean := false;
    next pg_catalog.oid;
BEGIN
    IF ticket IS NULL THEN
        RETURN NULL;
    END IF;
    first := CASE WHEN first = ANY (relations) THEN first ELSE relations[1] END;
    PERFORM @extschema@._flake_guard_tree(ticket, first, exclusive);
    in_use := true;
    FOREACH next IN ARRAY array_remove(relations, first) LOOP
        PERFORM set_config('lock_timeout', '10ms', true);
        first := next;
        PERFORM @extschema@._flake_guard_tree(ticket, next, exclusive);
    END LOOP;
    PERFORM set_config('lock_timeout', lock_timeout, true);
    RETURN NULL;
EXCEPTION WHEN lock_not_available THEN
    -- the caller's own lock_timeout, also of many short waits together
    IF NOT in_use OR lock_timeout <> '0' AND clock_timestamp() > began + lock_timeout::interval THEN
        RAISE;
    END IF;
    RETURN first;
END
