import { koffi } from '../../native/koffi.js';

// Compilers (NVRTC, those of drivers and of OpenCL platforms) recurse deeply, and koffi calls functions on a separate
// stack, 2 MiB by default. The setting takes effect only before the first library is loaded, so this must be the first
// import of each thread and process that may compile.
koffi().config({ sync_stack_size: 2 ** 24 });
