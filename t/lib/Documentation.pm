
# Copyright (c) 2026, streamstat contributors

# What the queries of README.md and docs/ are run on: a small shop with a table that lost
# most of its rows, one whose primary key is bloated, and an index of each access method.

package Documentation;

use strict;
use warnings;

use Exporter qw(import);

our @EXPORT = qw(documentation_schema);

# The definition, as a script that psql runs in a database of its own.  Autovacuum stays
# away: the rows and pages are the same each time.  As a script for psql:
#   perl -It/lib -MDocumentation -e 'print documentation_schema()'
sub documentation_schema
{
	return <<'SQL';
-- 90,000 orders, of which every third is left: the table and its indexes are bloated
CREATE TABLE public.orders (
	id bigint PRIMARY KEY,
	customer_id int NOT NULL,
	status text NOT NULL,
	placed_at timestamptz NOT NULL,
	total numeric(10, 2) NOT NULL
) WITH (autovacuum_enabled = off);
INSERT INTO public.orders
	SELECT i, i * 7919 % 5000, (ARRAY['new', 'paid', 'shipped', 'returned'])[1 + i % 4],
		timestamptz '2026-01-01 00:00:00+00' + i * interval '1 minute', i % 1000 + 0.5
	FROM generate_series(1, 90000) AS i;
CREATE INDEX orders_customer_id_idx ON public.orders (customer_id);
CREATE INDEX orders_placed_at_idx ON public.orders (placed_at);
DELETE FROM public.orders WHERE id % 3 > 0;
VACUUM (FREEZE) public.orders;

-- 60,000 visits, in place of 40,000 that were deleted before: the table has used
-- their space again, its primary key could not; each twentieth waits for VACUUM
CREATE TABLE public.visits (
	id bigint PRIMARY KEY,
	at timestamptz NOT NULL,
	visitor text NOT NULL,
	path text NOT NULL
) WITH (autovacuum_enabled = off);
INSERT INTO public.visits
	SELECT i, timestamptz '2026-01-01 00:00:00+00' + i * interval '10 seconds', md5((i % 9000)::text), '/items/' || i % 3000
	FROM generate_series(1, 60000) AS i;
DELETE FROM public.visits WHERE id % 3 > 0;
VACUUM public.visits;
INSERT INTO public.visits
	SELECT i, timestamptz '2026-01-01 00:00:00+00' + i * interval '10 seconds', md5((i % 9000)::text), '/items/' || i % 3000
	FROM generate_series(60001, 100000) AS i;
CREATE INDEX visits_at_idx ON public.visits USING brin (at) WITH (pages_per_range = 16);
CREATE INDEX visits_visitor_idx ON public.visits USING hash (visitor);
VACUUM public.visits;
DELETE FROM public.visits WHERE id % 20 = 0;

-- 30,000 items with long descriptions, some of them outside of the table (TOAST)
CREATE TABLE public.items (
	id bigint PRIMARY KEY,
	order_id bigint NOT NULL,
	sku text NOT NULL,
	tags text[] NOT NULL,
	place point NOT NULL,
	description text
) WITH (autovacuum_enabled = off);
ALTER TABLE public.items ALTER COLUMN description SET STORAGE EXTERNAL;
INSERT INTO public.items
	SELECT i, 3 * (i % 30000), 'sku-' || md5(i::text), ARRAY['colour-' || i % 12, 'size-' || i % 40, 'brand-' || i % 700],
		point(i % 173, i % 211), CASE WHEN i % 100 = 0 THEN repeat(md5(i::text), 100) ELSE md5(i::text) END
	FROM generate_series(1, 30000) AS i;
CREATE INDEX items_tags_idx ON public.items USING gin (tags);
CREATE INDEX items_place_idx ON public.items USING gist (place);
CREATE INDEX items_sku_idx ON public.items USING spgist (sku);
UPDATE public.items SET tags = tags || 'sale'::text WHERE id % 20 = 0;
VACUUM public.items;

ANALYZE public.orders, public.visits, public.items;
SQL
}

1;
