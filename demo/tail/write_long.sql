\set pause random(1, 1500)
BEGIN;
INSERT INTO event SELECT flake_id(100 + :client_id, 'event_id'), 'long';
\sleep :pause ms
INSERT INTO event SELECT flake_id(100 + :client_id, 'event_id'), 'long';
COMMIT;
