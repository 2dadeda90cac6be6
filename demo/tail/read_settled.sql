WITH r AS (
    SELECT position FROM reader WHERE name = 'settled' FOR UPDATE
), e AS MATERIALIZED (
    SELECT id FROM event
    WHERE id > (SELECT position FROM r) AND id <= flake_settled('event_id')
    ORDER BY id LIMIT 1000
), written AS (
    INSERT INTO seen (reader, id) SELECT 'settled', id FROM e ORDER BY id
)
UPDATE reader SET position = (SELECT max(id) FROM e)
WHERE name = 'settled' AND EXISTS (SELECT FROM e);
