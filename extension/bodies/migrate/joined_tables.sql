    WITH RECURSIVE joined AS MATERIALIZED (
        SELECT conrelid AS relation, confrelid AS other FROM pg_constraint WHERE contype = 'f'
        UNION SELECT confrelid, conrelid FROM pg_constraint WHERE contype = 'f'
        UNION SELECT inhrelid, inhparent FROM pg_inherits
        UNION SELECT inhparent, inhrelid FROM pg_inherits
    ), member (oid) AS (
        SELECT relation
        UNION
        SELECT j.other FROM member JOIN joined j ON j.relation = member.oid
    )
    SELECT ARRAY(SELECT oid FROM member)
