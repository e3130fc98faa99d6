/*
 * Call paths of Python programs. mpi4py's functions call MPI from a compiled module without line numbers, at one
 * place for all of a program's calls of that function, and ctypes from libffi, at one place for all. What a user
 * knows is the Python line: where the return address is in one of those, the frames of the path are the innermost
 * ones of CPython's stack (pyframe.h), and there is no return address in it.
 *
 * Where CPython's frames are not known, or this thread has none (MPI_Finalize after the interpreter's end), the
 * path is made of return addresses as everywhere.
 *
 * At every call the thread's frames are read and looked up by what distinguishes them: no lock, no system call and
 * no allocation but where they are new.
 */
#ifndef MORIENS_PYTHON_H
#define MORIENS_PYTHON_H

#include "base.h"

/* One thread's. */
struct moriens_python_cache;

/* Whether the call that returns to site is one of Python's, as far as it was met. cache may be NULL. */
bool moriens_python_owns(struct moriens_python_cache *cache, uintptr_t site);

/* The path of a call that returns to site, with so many frames at most. False: it is none of Python's, or of
 * none that was met. cache may be NULL. */
bool moriens_python_path(struct moriens_python_cache *cache, uintptr_t site, uint32_t depth, uint32_t *path);

/* The same of a site that was not met before; the cache is made for the first that is Python's. */
bool moriens_python_meet(struct moriens_python_cache **cache, uintptr_t site, uint32_t depth, uint32_t *path);

/* Another library can lie where one was. */
void moriens_python_forget(struct moriens_python_cache *cache);

void moriens_python_free(struct moriens_python_cache *cache);

/* Whether a module calls MPI for Python programs, by its file's name. */
bool moriens_python_calls_from(const char *module);

#endif
