/* For programs that include <TAU.h>: cc -I PREFIX/include/moriens/tau. */
#include "../../moriens_tau.h"
