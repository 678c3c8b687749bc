import koffi from 'koffi';

// Compilers (NVRTC, those of drivers and of OpenCL platforms) recurse deeply, and koffi calls functions on a stack of its
// own, 2 MiB unless told. It listens only before the first library is loaded: the first import of each thread and process
// that may compile.
koffi.config({ sync_stack_size: 2 ** 24 });
