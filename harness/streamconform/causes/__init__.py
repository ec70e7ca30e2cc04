"""Why a trial did not pass: the kind of difference, its headline, its harm and its id. Pure."""
