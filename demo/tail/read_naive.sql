WITH r AS (
    SELECT position FROM reader WHERE name = 'naive' FOR UPDATE
), e AS MATERIALIZED (
    SELECT id FROM event
    WHERE id > (SELECT position FROM r)
    ORDER BY id LIMIT 1000
), written AS (
    INSERT INTO seen (reader, id) SELECT 'naive', id FROM e ORDER BY id
)
UPDATE reader SET position = (SELECT max(id) FROM e)
WHERE name = 'naive' AND EXISTS (SELECT FROM e);
