/* Martlet's executable: CPython in this very process, so that the name in the Dock, the icon and the
 * bundle's identity are ours. Everything it loads lies at fixed places beside it:
 *
 *     <here>/../Resources/{python,site-packages,src}     <here>/../Frameworks/libpython
 *
 * Without arguments, or with files and --options, it runs the package `app`. With a first argument of
 * one dash it is plain Python (-m, -c, -X, ...): so the application starts its own processes, and so
 * multiprocessing starts its helpers, which must never open a second window. The user's PYTHON*
 * variables count for nothing, and no bytecode is written: a signed bundle never changes.
 */
#include <Python.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#else
#include <unistd.h>
#endif

enum { PATH_BYTES = PATH_MAX + 128 };

static void end_if_failed(PyStatus status) {
    if (PyStatus_Exception(status))
        Py_ExitStatusException(status);
}

/* The executable's real path, symlinks resolved. */
static void own_path(char path[PATH_MAX]) {
#ifdef __APPLE__
    char named[PATH_MAX];
    uint32_t size = sizeof named;
    int failed = _NSGetExecutablePath(named, &size) != 0 || !realpath(named, path);
#else
    int failed = !realpath("/proc/self/exe", path);
#endif
    if (failed) {
        fputs("Martlet: its own path cannot be told.\n", stderr);
        exit(1);
    }
}

static void up(char *path) {
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
}

static void set(PyConfig *config, wchar_t **field, const char *value) {
    end_if_failed(PyConfig_SetBytesString(config, field, value));
}

static void add_search_path(PyConfig *config, const char *resources, const char *folder) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", resources, folder);
    wchar_t *wide = Py_DecodeLocale(path, NULL);
    if (!wide)
        end_if_failed(PyStatus_NoMemory());
    end_if_failed(PyWideStringList_Append(&config->module_search_paths, wide));
    PyMem_RawFree(wide);
}

static void set_places(PyConfig *config) {
    char path[PATH_MAX], resources[PATH_BYTES], home[PATH_BYTES + 8];
    own_path(path);
    set(config, &config->executable, path);
    up(path);
    up(path);
    snprintf(resources, sizeof resources, "%s/Resources", path);
    snprintf(home, sizeof home, "%s/python", resources);
    set(config, &config->home, home);
    config->module_search_paths_set = 1;
    add_search_path(config, resources, "python/lib/" PYTHON);
    add_search_path(config, resources, "python/lib/" PYTHON "/lib-dynload");
    add_search_path(config, resources, "site-packages");
    add_search_path(config, resources, "src");
}

/* What an isolated configuration leaves out, and a program with terminals and pipes wants. */
static void set_manners(PyConfig *config, int is_plain) {
    config->configure_c_stdio = 1;
    config->install_signal_handlers = 1;
    config->write_bytecode = 0;
    config->parse_argv = is_plain;
    if (!is_plain)
        set(config, &config->run_module, "app");
}

int main(int argc, char **argv) {
    int is_plain = argc > 1 && argv[1][0] == '-' && argv[1][1] != '-';
    PyPreConfig before;
    PyPreConfig_InitIsolatedConfig(&before);
    before.utf8_mode = 1; /* the Finder sets no locale: text would be ASCII */
    end_if_failed(Py_PreInitialize(&before));
    PyConfig config;
    PyConfig_InitIsolatedConfig(&config);
    set_manners(&config, is_plain);
    end_if_failed(PyConfig_SetBytesArgv(&config, argc, argv));
    set_places(&config);
    end_if_failed(Py_InitializeFromConfig(&config));
    PyConfig_Clear(&config);
    return Py_RunMain();
}
