/* Not an MPI program: it loads one, host PLUGIN, so that no global symbol of MPI's is to be found. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*plugin_main)(int, char **);

	if (plugin == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&plugin_main = dlsym(plugin, "plugin_main");
	return plugin_main(argc, argv);
}
