/*
 * MPI for Python as far as a test needs it: for interpreters that have no mpi4py. Like that, it lets other threads of
 * Python run while it is in MPI.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <mpi.h>

static PyObject *init(PyObject *self, PyObject *nothing)
{
	int provided = 0;

	(void)self, (void)nothing;
	Py_BEGIN_ALLOW_THREADS
	MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
	Py_END_ALLOW_THREADS
	return PyLong_FromLong(provided);
}

static PyObject *barrier(PyObject *self, PyObject *nothing)
{
	(void)self, (void)nothing;
	Py_BEGIN_ALLOW_THREADS
	MPI_Barrier(MPI_COMM_WORLD);
	Py_END_ALLOW_THREADS
	Py_RETURN_NONE;
}

static PyObject *finalize(PyObject *self, PyObject *nothing)
{
	(void)self, (void)nothing;
	Py_BEGIN_ALLOW_THREADS
	MPI_Finalize();
	Py_END_ALLOW_THREADS
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
	{"init", init, METH_NOARGS, NULL},
	{"barrier", barrier, METH_NOARGS, NULL},
	{"finalize", finalize, METH_NOARGS, NULL},
	{NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {.m_base = PyModuleDef_HEAD_INIT, .m_name = "MPI", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit_MPI(void)
{
	return PyModule_Create(&module);
}
