-- Guards
--
-- Functions in PL/pgSQL are called by functions in SQL, which call by OID and get
-- a ticket from _flake_guard() first: see src/trust/guard.c.

CREATE FUNCTION @extschema@._flake_guard(schema text)
RETURNS @extschema@._flake_ticket
AS 'MODULE_PATHNAME', 'flake_guard'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@._flake_guard(text) IS
'keeps the extension and its schema from being dropped or renamed until the end of the transaction; for functions of flakeid; errors: 25006 on a standby, 42704 if the extension was dropped, 55000 if its schema was renamed';

CREATE FUNCTION @extschema@._flake_guard_schemas(ticket @extschema@._flake_ticket, schemas oid[])
RETURNS void
AS 'MODULE_PATHNAME', 'flake_guard_schemas'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@._flake_guard_schemas(@extschema@._flake_ticket, oid[]) IS
'keeps schemas from being dropped or renamed by others until the end of the transaction; for functions of flakeid; error: 3F000 if one does not exist';

CREATE FUNCTION @extschema@._flake_guard_relation(ticket @extschema@._flake_ticket, relation oid, exclusive boolean)
RETURNS boolean
AS 'MODULE_PATHNAME', 'flake_guard_relation'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@._flake_guard_relation(@extschema@._flake_ticket, oid, boolean) IS
'locks a relation until the end of the transaction, in mode ACCESS EXCLUSIVE or ACCESS SHARE; false if it does not exist; for functions of flakeid; error: 42501 if exclusive and the user may not LOCK TABLE';

CREATE FUNCTION @extschema@._flake_guard_definition(ticket @extschema@._flake_ticket, relation oid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'flake_guard_definition'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@._flake_guard_definition(@extschema@._flake_ticket, oid) IS
'locks a table or view in mode SHARE UPDATE EXCLUSIVE until the end of the transaction; false if it does not exist; for functions of flakeid; error: 42501 if the user may not LOCK TABLE';

CREATE FUNCTION @extschema@._flake_lock_trees(ticket @extschema@._flake_ticket, trees oid[], exclusive boolean,
    keys oid[], named oid[], began timestamptz)
RETURNS void
AS 'MODULE_PATHNAME', 'flake_lock_trees'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@._flake_lock_trees(@extschema@._flake_ticket, oid[], boolean, oid[], oid[], timestamptz) IS
'locks relations until the end of the transaction, all at once or not at all: tables and views, with what inherits from them, and tables at the other end of foreign keys, with their partitions, in mode ACCESS EXCLUSIVE, or EXCLUSIVE and for the latter SHARE ROW EXCLUSIVE; and others as those do who mint from them or select from them; with null all in ACCESS SHARE; leaves out what does not exist; null without a ticket or an array; for functions of flakeid; errors: 42501 if the user may not LOCK TABLE, or for a foreign key refer to it, 55P03 when lock_timeout is over since the beginning, or without one if a relation is in use';

CREATE FUNCTION @extschema@._flake_sequence_state(ticket @extschema@._flake_ticket, sequence oid, only_looks boolean,
    OUT last_value bigint, OUT is_called boolean)
AS 'MODULE_PATHNAME', 'flake_sequence_state'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@._flake_sequence_state(@extschema@._flake_ticket, oid, boolean) IS
'how far a sequence is; if others keep its page locked, nulls for who only looks; null if it is no sequence; for functions of flakeid; errors: 42501 without SELECT on it, 55P03 if others keep its page locked';

CREATE FUNCTION @extschema@._flake_execute_steps(ticket @extschema@._flake_ticket, schemas oid[], relations oid[],
    types oid[], steps text[], announce boolean)
RETURNS void
AS 'MODULE_PATHNAME', 'flake_execute_steps'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@._flake_execute_steps(@extschema@._flake_ticket, oid[], oid[], oid[], text[], boolean) IS
'executes commands, each as a role that the current user may be, and sees to it that what they name stays the same; steps are rows of role, relation, OID of the relation, command, and those without a command look for what that role must not execute: see src/trust/execute_steps.c; for functions of flakeid; errors: those of the commands, 55000 if a command has led to a change of what the next one names';

CREATE FUNCTION @extschema@._flake_largest(ticket @extschema@._flake_ticket, relation oid, attribute name)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_largest'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@._flake_largest(@extschema@._flake_ticket, oid, name) IS
'the largest value in a column of an integer type, in rows that a policy hides, too; null if there is none; for functions of flakeid; errors: 42501 unless the user has the rights of the table''s owner, 55000 if the column cannot be searched, 55P03 if others have kept a page of the table or of an index locked for two seconds';

CREATE FUNCTION @extschema@._flake_ids_above(ticket @extschema@._flake_ticket, relation oid, attribute name, above bigint)
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'flake_ids_above'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@._flake_ids_above(@extschema@._flake_ticket, oid, name, bigint) IS
'the values in a column of an integer type that are above one, in rows that a policy hides, too; for functions of flakeid; errors: 42501 unless the user has the rights of the table''s owner, 55000 if the column cannot be searched, 55P03 if others have kept a page of the table or of an index locked for two seconds';

-- No name of the extension in it, so no need of a ticket.
CREATE FUNCTION @extschema@._flake_related_columns(target oid, attribute name, OUT relation oid, OUT attname name)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/related_columns.sql
$function$;

COMMENT ON FUNCTION @extschema@._flake_related_columns(oid, name) IS
'the columns that have the ids of a column: it, those that inherit it, the columns that refer to these, what they are inherited from, and so on; for functions of flakeid';

CREATE FUNCTION @extschema@._flake_rebind(ticket @extschema@._flake_ticket, query text,
    relations oid[], attributes int2[], types oid[], OUT result_types oid[], OUT named oid[])
AS 'MODULE_PATHNAME', 'flake_rebind'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@._flake_rebind(@extschema@._flake_ticket, text, oid[], smallint[], oid[]) IS
'what a query would mean if columns had other types: the types of its result, and its _flake_named(); it is parsed, and nothing is executed; for functions of flakeid; errors: those of parsing, 22023 unless the query is one SELECT and the arrays are of one length, 42704 no such type';

CREATE FUNCTION @extschema@._flake_named(tree pg_node_tree)
RETURNS oid[]
AS 'MODULE_PATHNAME', 'flake_named'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_named(pg_node_tree) IS
'the functions, operators and types outside of PostgreSQL that a definition names, in its order, each as often as it is named; for functions of flakeid';

CREATE FUNCTION @extschema@._flake_has_record(tree pg_node_tree)
RETURNS boolean
AS 'MODULE_PATHNAME', 'flake_has_record'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_has_record(pg_node_tree) IS
'whether a definition has a row of a join or of several functions as a whole; for functions of flakeid';

-- Anybody may call it: it does no more than SET ROLE would allow.
CREATE FUNCTION @extschema@._flake_execute_as(role oid, command text)
RETURNS void
AS 'MODULE_PATHNAME', 'flake_execute_as'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@._flake_execute_as(oid, text) IS
'executes a command as a role that the current user may be, with no way back for what it calls: for flake_create_shard(); errors: 42501 if the user is no member of the role, 42704 no such role, 0A000 for COMMIT, COPY and other commands that a function cannot execute';
