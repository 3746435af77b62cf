/*
 * candidate.c: the names of candidates.
 */
#include "plan/candidate.h"

const char *candidate_name(CandidateForm form)
{
    static const char *const names[CANDIDATE_FORMS] = {"plain", "vector", "sparse", "dense",
                                                       "bits",  "split",  "doubles"};
    return names[form];
}
