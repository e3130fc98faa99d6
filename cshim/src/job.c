#include "job.h"
#include "os.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *variable(const char *name)
{
	const char *text = getenv(name);

	return text != NULL && text[0] != '\0' ? text : NULL;
}

/* -1: it is not set, or no number. */
static long number(const char *name)
{
	const char *text = variable(name);

	return text != NULL && text[strspn(text, "0123456789")] == '\0' ? strtol(text, NULL, 10) : -1;
}

/* Joins what the variables say. False: the first of them says nothing. */
static bool join(struct moriens_job *job, const char *kind, const char *const *names)
{
	size_t used = (size_t)snprintf(job->id, sizeof job->id, "%s", kind);

	if (variable(names[0]) == NULL) {
		job->id[0] = '\0';
		return false;
	}
	for (; *names != NULL && used < sizeof job->id; names++) {
		const char *text = variable(*names);
		used += (size_t)snprintf(job->id + used, sizeof job->id - used, "/%s", text != NULL ? text : "");
	}
	return true;
}

/* A job that was put back into the queue keeps its number, and two clusters can share nodes. */
static void add_requeue(struct moriens_job *job)
{
	size_t used = strlen(job->id);
	const char *cluster = variable("SLURM_CLUSTER_NAME"), *restarts = variable("SLURM_RESTART_COUNT");

	snprintf(job->id + used, sizeof job->id - used, "/%s/%s", cluster != NULL ? cluster : "", restarts != NULL ? restarts : "");
}

/* PMIx has one namespace for each world. Those of one job, which MPI_Comm_spawn makes, have something in common: PRRTE
 * counts them behind an @, and Open MPI 4 in the lower half of a number. */
static bool by_namespace(struct moriens_job *job)
{
	const char *name = variable("PMIX_NAMESPACE");

	if (name == NULL)
		return false;
	if (name[strspn(name, "0123456789")] == '\0')
		snprintf(job->id, sizeof job->id, "pmix/%llu", strtoull(name, NULL, 10) >> 16);
	else
		snprintf(job->id, sizeof job->id, "pmix/%.*s", (int)strcspn(name, "@"), name);
	if (strncmp(name, "slurm.", 6) == 0)
		add_requeue(job);
	return true;
}

/*
 * Hydra names no job. Its proxy, an ancestor of ours, has mpiexec's address on its command line; but MPI_Comm_spawn
 * starts proxies with another address. Where the world is on this node alone, their common parent mpiexec is identified
 * by its pid and start.
 */
static bool by_hydra(struct moriens_job *job)
{
	char parent[256], address[256];
	bool alone = number("PMI_SIZE") > 0 && number("PMI_SIZE") == number("MPI_LOCALNRANKS");

	if ((variable("PMI_FD") == NULL && variable("PMI_PORT") == NULL) ||
		!moriens_os_ancestor("--control-port", address, sizeof address, parent, sizeof parent))
		return false;
	if (alone && parent[0] != '\0')
		snprintf(job->id, sizeof job->id, "hydra/%s", parent);
	else
		snprintf(job->id, sizeof job->id, "hydra/%s", address);
	return true;
}

static void learn_id(struct moriens_job *job, const char *given)
{
	static const char *const open_mpi[] = {"OMPI_MCA_orte_hnp_uri", NULL};
	static const char *const pals[] = {"PALS_APID", NULL};
	static const char *const alps[] = {"ALPS_APP_ID", NULL};
	static const char *const flux[] = {"FLUX_JOB_ID", "FLUX_URI", NULL};
	static const char *const slurm[] = {"SLURM_JOB_ID", "SLURM_STEP_ID", NULL};
	static const char *const pbs[] = {"PBS_JOBID", NULL};
	static const char *const lsf[] = {"LSB_JOBID", "LSB_JOBINDEX", NULL};

	job->id[0] = '\0';
	if (given != NULL)
		snprintf(job->id, sizeof job->id, "given/%s", given);
	else if (join(job, "openmpi", open_mpi) || by_namespace(job) || by_hydra(job) || join(job, "pals", pals) ||
		join(job, "alps", alps) || join(job, "flux", flux))
		return;
	else if (variable("SLURM_STEP_ID") != NULL && join(job, "slurm", slurm)) /* the script of a batch job is no step */
		add_requeue(job);
	else if (!join(job, "pbs", pbs))
		join(job, "lsf", lsf);
}

static void learn_name(struct moriens_job *job)
{
	static const char *const names[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "PALS_APID", "ALPS_APP_ID"};
	const char *name = NULL;
	size_t used = 0;

	for (size_t i = 0; name == NULL && i < sizeof names / sizeof names[0]; i++)
		name = variable(names[i]);
	for (; name != NULL && *name != '\0' && used < sizeof job->name - 1; name++)
		job->name[used++] = isalnum((unsigned char)*name) || strchr("._-", *name) != NULL ? *name : '_';
	job->name[used] = '\0';
}

static bool equal(const char *whole, const char *here)
{
	return number(whole) > 0 && number(whole) == number(here);
}

void moriens_job_learn(struct moriens_job *job, const char *given)
{
	learn_id(job, given);
	learn_name(job);
	/* MPI_Comm_spawn may go to the other nodes of an allocation. */
	job->alone = number("SLURM_JOB_NUM_NODES") <= 1 && (equal("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE") ||
		equal("PMI_SIZE", "MPI_LOCALNRANKS") || number("SLURM_STEP_NUM_NODES") == 1);
	job->local_rank = (int)number("OMPI_COMM_WORLD_LOCAL_RANK");
	if (job->local_rank < 0)
		job->local_rank = (int)number("MPI_LOCALRANKID");
	if (job->local_rank < 0)
		job->local_rank = (int)number("SLURM_LOCALID");
}

void moriens_job_run(const char *id, char run[17])
{
	uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a, and then murmur3's last step: short texts that are alike must not end alike */

	for (; *id != '\0'; id++)
		hash = (hash ^ (uint8_t)*id) * 0x100000001b3u;
	hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdu;
	hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53u;
	snprintf(run, 17, "%016" PRIx64, hash ^ hash >> 33);
}

int moriens_job_rank(int *size)
{
	static const char *const names[][2] = {
		{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}, {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
	};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		long rank = number(names[i][0]), of = number(names[i][1]);
		if (rank >= 0 && rank < of && of <= 999999999) {
			*size = (int)of;
			return (int)rank;
		}
	}
	*size = 0;
	return -1;
}
