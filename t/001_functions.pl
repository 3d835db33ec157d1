
# Copyright (c) 2026, streamstat contributors

# The list of all functions and views, from which other tests make their calls, is
# what the extension has, argument by argument.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Functions;
use Node;

my $node = new_node('functions');

# Two lists, where they differ
sub same
{
	my ($what, $columns, $catalog, @known) = @_;
	my @members = split /\n/, $node->safe_psql('postgres', qq(
SELECT concat_ws(' ', $columns)
FROM pg_depend JOIN $catalog m ON classid = '$catalog'::regclass AND objid = m.oid
WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'streamstat') AND deptype = 'e'));
	my %known = map { $_ => 1 } @known;
	my %member = map { $_ => 1 } @members;

	is(join("\n", grep { !$known{$_} } @members), '', "$what: none but those of the list");
	is(join("\n", grep { !$member{$_} } @known), '', "$what: all of the list");
}

# names and types of what a caller can give
my $arguments = q((SELECT coalesce(string_agg(coalesce(nullif(quote_ident(proargnames[i]), '""') || ' ', '')
		|| format_type(proargtypes[i - 1], NULL), ', ' ORDER BY i), '')
	FROM generate_series(1, pronargs) i));
same('functions', "prokind, proname || '(' || $arguments || ')'", 'pg_proc',
	map { ($_->{procedure} ? 'p' : 'f') . " $_->{name}($_->{arguments})" } all_functions(), internal_functions());
same('arguments without a default', 'proname, pronargs - pronargdefaults', 'pg_proc',
	map { "$_->{name} " . (($_->{relation} && !$_->{optional}) || $_->{required} ? 1 : 0) } all_functions(), internal_functions());
my %views = views();
same('views', 'relname', 'pg_class', sort keys %views);

# Each line says how the function can be called.
is(join(' ', map { $_->{name} } grep { !@{ $_->{calls} } } all_functions()), '', 'calls');
is( join(' ', map { $_->{name} } grep { $_->{relation} && !grep { /\{/ } @{ $_->{calls} } } all_functions()),
	'', 'calls over relations');

stop_clean($node);
done_testing();
