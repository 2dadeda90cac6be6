# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

FlakeExtension - what the extension is in a database, to compare it with another

=head1 SYNOPSIS

  use FlakeExtension;

  is(describe_extension($node, 'updated'), describe_extension($node, 'new'), 'the same');

=head1 FUNCTIONS

=over

=item describe_extension($node, $dbname)

All that the extension consists of, as text: functions, views, tables, constraints,
triggers, with privileges and comments.  Privileges that are the default ones are the
same whether they are written out or not: pg_upgrade leaves such out.

=back

=cut

package FlakeExtension;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(describe_extension);

sub describe_extension
{
	my ($node, $dbname) = @_;

	return $node->safe_psql(
		$dbname, q(
SET search_path = pg_catalog;
WITH members AS (
	SELECT classid, objid, pg_describe_object(classid, objid, 0) AS name
	FROM pg_depend
	WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
	  AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'flakeid')
)
SELECT name, obj_description(objid, classid::regclass::name) FROM members
UNION ALL
SELECT name, pg_get_functiondef(objid) || (
	SELECT string_agg(a::text, ' ' ORDER BY a::text) FROM unnest(coalesce(proacl, acldefault('f', proowner))) AS a)
FROM members JOIN pg_proc p ON classid = 'pg_proc'::regclass AND p.oid = objid
UNION ALL
SELECT name, format('%s %s %s %s', relkind,
	(SELECT string_agg(a::text, ' ' ORDER BY a::text)
	 FROM unnest(coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", relowner))) AS a),
	CASE relkind WHEN 'v' THEN pg_get_viewdef(objid) END,
	(SELECT string_agg(format('%s %s %s %s', attname, format_type(atttypid, atttypmod), attnotnull, col_description(objid, attnum)), ', ' ORDER BY attnum)
	 FROM pg_attribute WHERE attrelid = objid AND attnum > 0))
FROM members JOIN pg_class c ON classid = 'pg_class'::regclass AND c.oid = objid
UNION ALL
SELECT name, conname || ' ' || pg_get_constraintdef(k.oid)
FROM members JOIN pg_constraint k ON classid = 'pg_class'::regclass AND conrelid = objid
WHERE contype <> 'n'
UNION ALL
SELECT name, pg_get_triggerdef(t.oid) || tgenabled::text
FROM members JOIN pg_trigger t ON classid = 'pg_class'::regclass AND tgrelid = objid
WHERE NOT tgisinternal
ORDER BY 1, 2
));
}

1;
