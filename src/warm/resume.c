/*-------------------------------------------------------------------------
 *
 * resume.c
 *	  Where a second call continues
 *
 * The place is a fork and a block, as text: "16384/main/1024 16390/fsm 16390/main +".
 * Forks that follow it are named as well, so that the call goes on when a relation is
 * dropped in between: the next one of its table, and those of the next tables.  "+" says
 * that the set had more of them.  The second call makes the set again, and leaves out
 * what comes before the first of the forks that is in it.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/resume.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "lib/stringinfo.h"

#include "warm/resume.h"

/* Forks to name that belong to the table of the first one */
#define PLACES_OF_TABLE 4

/* The relation that is dropped together with this one */
static Oid
owner_of(const SstRelation *relation)
{
	return OidIsValid(relation->parent) &&
		(relation->relkind == RELKIND_INDEX ||
		 relation->relkind == RELKIND_TOASTVALUE) ?
		relation->parent : relation->relid;
}

/* Can a call go on at that fork? */
static bool
is_place(const SstWarmFork *fork)
{
	return fork->forknum != InvalidForkNumber &&
		OidIsValid(fork->relation->relid);
}

/* The fork that a set is to be gone on with, or the number of forks if there is none */
static int
first_left(const SstWarmSet *set)
{
	int			i = 0;

	while (i < set->nforks && (set->forks[i].next_block == InvalidBlockNumber ||
							   !is_place(&set->forks[i])))
		i++;

	return i;
}

/*
 * Return the text from which a second call goes on with a set, or NULL if there is
 * nothing left.
 */
char *
sst_resume_text(const SstWarmSet *set)
{
	int			first = first_left(set);
	const SstWarmFork *last;
	StringInfoData text;
	int			nplaces = 1;

	if (first == set->nforks)
		return NULL;

	last = &set->forks[first];
	initStringInfo(&text);
	appendStringInfo(&text, "%u/%s/%u", last->relation->relid,
					 forkNames[last->forknum], last->next_block);
	for (int i = first + 1; i < set->nforks; i++)
	{
		const SstWarmFork *fork = &set->forks[i];

		if (!is_place(fork) || (nplaces >= PLACES_OF_TABLE &&
								owner_of(fork->relation) == owner_of(last->relation)))
			continue;
		if (nplaces++ == SST_MAX_WARM_PLACES)
		{
			appendStringInfoString(&text, " +");
			break;
		}
		appendStringInfo(&text, " %u/%s", fork->relation->relid,
						 forkNames[fork->forknum]);
		last = fork;
	}

	return text.data;
}

/* Take a number up to a delimiter, and step over that.  False if there is none. */
static bool
take_number(const char **text, const char *delimiters, uint32 most,
			uint32 *number)
{
	char	   *end;
	unsigned long value;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	value = strtoul(*text, &end, 10);
	if (errno != 0 || value > most || strchr(delimiters, *end) == NULL)
		return false;
	*number = (uint32) value;
	*text = *end == '\0' ? end : end + 1;

	return true;
}

/* Take the name of a fork, up to a delimiter that is not stepped over. */
static bool
take_fork(const char **text, ForkNumber *forknum)
{
	size_t		length = strcspn(*text, "/ ");

	for (int i = 0; i <= MAX_FORKNUM; i++)
	{
		if (strlen(forkNames[i]) == length &&
			strncmp(forkNames[i], *text, length) == 0)
		{
			*forknum = i;
			*text += length;
			return true;
		}
	}

	return false;
}

/* Find out what sst_resume_text() has put into a text; false if it is none of its. */
bool
sst_parse_resume(const char *text, SstWarmResume *resume)
{
	memset(resume, 0, sizeof(SstWarmResume));
	do
	{
		SstWarmPlace *place = &resume->places[resume->nplaces];

		if (resume->nplaces > 0 && strcmp(text, "+") == 0)
		{
			resume->more = true;
			return true;
		}
		if (resume->nplaces == SST_MAX_WARM_PLACES ||
			!take_number(&text, "/", PG_UINT32_MAX, &place->relid) ||
			!OidIsValid(place->relid) || !take_fork(&text, &place->forknum))
			return false;
		if (resume->nplaces == 0 &&
			(*text++ != '/' ||
			 !take_number(&text, " ", MaxBlockNumber, &resume->blkno)))
			return false;
		else if (resume->nplaces > 0 && *text != '\0' && *text++ != ' ')
			return false;
		resume->nplaces++;
	} while (*text != '\0');

	return text[-1] != ' ';
}

static int
find_place(const SstWarmSet *set, const SstWarmPlace *place)
{
	int			i = 0;

	while (i < set->nforks &&
		   (set->forks[i].relation->relid != place->relid ||
			set->forks[i].forknum != place->forknum))
		i++;

	return i;
}

/* Leave out the first forks of a set, and their ranges. */
static void
leave_out(SstWarmSet *set, int nforks)
{
	int64		nranges = 0;

	set->nforks -= nforks;
	memmove(set->forks, set->forks + nforks, sizeof(SstWarmFork) * set->nforks);
	for (int64 i = 0; i < set->nranges; i++)
	{
		if (set->ranges[i].fork < nforks)
			continue;
		set->ranges[nranges] = set->ranges[i];
		set->ranges[nranges++].fork -= nforks;
	}
	set->nranges = nranges;
}

/*
 * Leave out the forks of a set that come before the place where a call is to go on.
 * Returns the block to begin with in the first one that stays.  ERROR if the set has
 * none of the places, but there may be something left.
 */
BlockNumber
sst_resume_forks(SstWarmSet *set, const SstWarmResume *resume)
{
	for (int i = 0; i < resume->nplaces; i++)
	{
		int			found = find_place(set, &resume->places[i]);

		if (found < set->nforks)
		{
			leave_out(set, found);
			return i == 0 ? resume->blkno : 0;
		}
	}

	if (resume->more)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("could not find the place to resume from"),
				 errhint("Call the function with the arguments of the earlier call, or with null for \"%s\".",
						 "resume_from")));
	leave_out(set, set->nforks);

	return 0;
}

/* Leave out the blocks of the first fork of a set that come before one. */
void
sst_resume_blocks(SstWarmSet *set, BlockNumber blkno)
{
	int64		nranges = 0;

	for (int64 i = 0; i < set->nranges; i++)
	{
		SstWarmRange *range = &set->ranges[i];

		if (range->fork == 0)
			range->first = Max(range->first, blkno);
		if (range->first < range->end)
			set->ranges[nranges++] = *range;
	}
	set->nranges = nranges;
}
