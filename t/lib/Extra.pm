
# Copyright (c) 2026, streamstat contributors

# Tests that are run only where PG_TEST_EXTRA has their word, as in PostgreSQL's own
# tree: t/README.md lists the words.
#
#   use Extra 'slow';              the whole file; before what takes long to load
#   Extra::has('browser')          a part of it

package Extra;

use strict;
use warnings;

use Test::More ();

sub has
{
	my ($word) = @_;

	return grep { $_ eq $word } split ' ', $ENV{PG_TEST_EXTRA} // '';
}

sub import
{
	my ($class, @words) = @_;

	foreach my $word (@words)
	{
		Test::More::plan(skip_all => "\"$word\" is not in PG_TEST_EXTRA") if !has($word);
	}
}

1;
