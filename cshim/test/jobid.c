/* Says which job its environment is that of: the run, the name, and whether the job has no other node. */
#include "job.h"
#include "options.h"

#include <stdio.h>
#include <string.h>

int main(void)
{
	struct moriens_launch_options options;
	struct moriens_job job;
	char run[17] = "";

	moriens_options_launch(&options);
	moriens_job_learn(&job, options.job);
	if (job.id[0] != '\0')
		moriens_job_run(job.id, run);
	printf("%s|%s|%s|%d|%d\n", job.id, run, job.name, job.alone, job.local_rank);
	return 0;
}
