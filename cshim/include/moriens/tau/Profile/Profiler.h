/* For programs that include <Profile/Profiler.h>: cc -I PREFIX/include/moriens/tau. */
#include "../../../moriens_tau.h"
