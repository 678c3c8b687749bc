export { type DecodeKernelOptions, decodeKernel, type EncodeKernelOptions, encodeKernel } from './kernel.js';
