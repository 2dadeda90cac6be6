-- Mints on every shard in turn, and prints by how many shards and to how many
-- bytes dynamic shared memory has grown on the way. Each segment of that must be
-- a file in pg_dynshmem: dynamic_shared_memory_type = mmap.

\set step 128

CREATE EXTENSION flakeid;

SELECT format('SELECT count(flake_id(s)), (SELECT sum((pg_stat_file(%L || name)).size)
                                           FROM pg_ls_dir(%L) name)
               FROM generate_series(%s, %s) s',
              'pg_dynshmem/', 'pg_dynshmem', shard, shard + :step - 1)
FROM generate_series(0, 8191, :step) shard
\gexec
