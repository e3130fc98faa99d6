/* MPI-IO: every call, on files in the directory that is the argument. */
#include "checked.h"

static int size;
static MPI_File file;

static void wait(MPI_Request *request)
{
	MPI(Wait, request, MPI_STATUS_IGNORE);
}

static void expect_value(int *value, const char *what)
{
	expect(*value == 1000 + rank, what);
	*value = -1;
}

/* Moves the individual pointer back to this rank's place. */
static void rewind_file(void)
{
	MPI(File_seek, file, (MPI_Offset)sizeof(int) * rank, MPI_SEEK_SET);
}

static void individual(void)
{
	int value = 1000 + rank, got = -1;
	const MPI_Offset place = (MPI_Offset)sizeof(int) * rank;
	MPI_Request request;

	L(File_write_at, file, place, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
	L(File_read_at, file, place, &got, 1, MPI_INT, MPI_STATUS_IGNORE);
	expect_value(&got, "File_read_at");
	L(File_iwrite_at, file, place, &value, 1, MPI_INT, &request);
	wait(&request);
	L(File_iread_at, file, place, &got, 1, MPI_INT, &request);
	wait(&request);
	expect_value(&got, "File_iread_at");
	rewind_file();
	L(File_write, file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
	rewind_file();
	L(File_read, file, &got, 1, MPI_INT, MPI_STATUS_IGNORE);
	expect_value(&got, "File_read");
	rewind_file();
	L(File_iwrite, file, &value, 1, MPI_INT, &request);
	wait(&request);
	rewind_file();
	L(File_iread, file, &got, 1, MPI_INT, &request);
	wait(&request);
	expect_value(&got, "File_iread");
}

static void collective(void)
{
	int value = 1000 + rank, got = -1;
	const MPI_Offset place = (MPI_Offset)sizeof(int) * rank;
	MPI_Request request;

	L(File_write_at_all, file, place, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
	L(File_read_at_all, file, place, &got, 1, MPI_INT, MPI_STATUS_IGNORE);
	expect_value(&got, "File_read_at_all");
	L(File_iwrite_at_all, file, place, &value, 1, MPI_INT, &request);
	wait(&request);
	L(File_iread_at_all, file, place, &got, 1, MPI_INT, &request);
	wait(&request);
	expect_value(&got, "File_iread_at_all");
	rewind_file();
	L(File_write_all, file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
	rewind_file();
	L(File_read_all, file, &got, 1, MPI_INT, MPI_STATUS_IGNORE);
	expect_value(&got, "File_read_all");
	rewind_file();
	L(File_iwrite_all, file, &value, 1, MPI_INT, &request);
	wait(&request);
	rewind_file();
	L(File_iread_all, file, &got, 1, MPI_INT, &request);
	wait(&request);
	expect_value(&got, "File_iread_all");
}

static void split(void)
{
	int value = 1000 + rank, got = -1;
	const MPI_Offset place = (MPI_Offset)sizeof(int) * rank;

	L(File_write_at_all_begin, file, place, &value, 1, MPI_INT);
	MPI(File_write_at_all_end, file, &value, MPI_STATUS_IGNORE);
	L(File_read_at_all_begin, file, place, &got, 1, MPI_INT);
	MPI(File_read_at_all_end, file, &got, MPI_STATUS_IGNORE);
	expect_value(&got, "File_read_at_all_begin");
	rewind_file();
	L(File_write_all_begin, file, &value, 1, MPI_INT);
	MPI(File_write_all_end, file, &value, MPI_STATUS_IGNORE);
	rewind_file();
	L(File_read_all_begin, file, &got, 1, MPI_INT);
	MPI(File_read_all_end, file, &got, MPI_STATUS_IGNORE);
	expect_value(&got, "File_read_all_begin");
}

/* A rank may still be about to use the shared pointer that another moves. */
static void rewind_shared(void)
{
	MPI(Barrier, MPI_COMM_WORLD);
	MPI(File_seek_shared, file, 0, MPI_SEEK_SET);
}

/* The pointer that all ranks share. Who comes first is open but in the ordered calls. */
static void shared(void)
{
	int value = 1000 + rank, got = -1;
	MPI_Offset place;
	MPI_Request request;

	rewind_shared();
	L(File_write_ordered, file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
	rewind_shared();
	L(File_read_ordered, file, &got, 1, MPI_INT, MPI_STATUS_IGNORE);
	expect_value(&got, "File_read_ordered");
	rewind_shared();
	L(File_write_ordered_begin, file, &value, 1, MPI_INT);
	MPI(File_write_ordered_end, file, &value, MPI_STATUS_IGNORE);
	rewind_shared();
	L(File_read_ordered_begin, file, &got, 1, MPI_INT);
	MPI(File_read_ordered_end, file, &got, MPI_STATUS_IGNORE);
	expect_value(&got, "File_read_ordered_begin");
	rewind_shared();
	L(File_write_shared, file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
	rewind_shared();
	L(File_read_shared, file, &got, 1, MPI_INT, MPI_STATUS_IGNORE);
	expect(got >= 1000 && got < 1000 + size, "File_read_shared");
	rewind_shared();
	L(File_iwrite_shared, file, &value, 1, MPI_INT, &request);
	wait(&request);
	rewind_shared();
	L(File_iread_shared, file, &got, 1, MPI_INT, &request);
	wait(&request);
	expect(got >= 1000 && got < 1000 + size, "File_iread_shared");
	MPI(Barrier, MPI_COMM_WORLD);
	MPI(File_get_position_shared, file, &place);
	expect(place == size, "File_get_position_shared");
}

int main(int argc, char **argv)
{
	char path[4096];
	MPI_Offset bytes;
	MPI_Info info;

	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	snprintf(path, sizeof path, "%s/file", argv[1]);
	MPI(File_open, MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	MPI(File_set_atomicity, file, 1);
	MPI(File_set_size, file, 0);
	MPI(File_preallocate, file, (MPI_Offset)sizeof(int) * size);
	MPI(File_get_size, file, &bytes);
	expect(bytes == (MPI_Offset)sizeof(int) * size, "File_get_size");
	MPI_Info_create(&info);
	MPI(File_set_info, file, info);
	individual();
	collective();
	split();
	MPI(File_set_view, file, 0, MPI_INT, MPI_INT, "native", info);
	shared();
	MPI(File_sync, file);
	MPI(File_close, &file);
	MPI_Info_free(&info);
	MPI(Barrier, MPI_COMM_WORLD);
	if (rank == 0)
		MPI(File_delete, path, MPI_INFO_NULL);
	MPI(Finalize);
	report(rank);
	return 0;
}
