INSERT INTO event SELECT flake_id(:client_id, 'event_id'), 'short';
\sleep 10 ms
