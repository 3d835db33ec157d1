/*-------------------------------------------------------------------------
 *
 * report_html.c
 *	  report_html: a report as one page of HTML
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/report_html.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "html/page.h"
#include "run/call.h"
#include "run/progress.h"

PG_FUNCTION_INFO_V1(sst_report_html);

Datum
sst_report_html(PG_FUNCTION_ARGS)
{
	Oid			funcid = fcinfo->flinfo->fn_oid;
	char	   *schema = get_namespace_name(get_func_namespace(funcid));
	int			nestlevel = NewGUCNestLevel();
	SstPageData data;
	SstCall		call;
	StringInfoData page;

	/* Another session can drop the extension. */
	if (schema == NULL)
		elog(ERROR, "cache lookup failed for function %u", funcid);

	/* Names of parents are compared, and were stored without it. */
	(void) set_config_option("quote_all_identifiers", "off", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	initStringInfo(&page);
	sst_call_begin(&call, fcinfo, SST_PROGRESS_UNKNOWN, SST_PROGRESS_UNKNOWN);
	sst_read_page_data(quote_identifier(schema), !PG_ARGISNULL(0),
					   PG_ARGISNULL(0) ? 0 : PG_GETARG_INT64(0), &data);
	sst_html_page(&page, &data, &call.io_stats);
	sst_call_end(&call);
	AtEOXact_GUC(true, nestlevel);

	PG_RETURN_TEXT_P(cstring_to_text_with_len(page.data, page.len));
}
