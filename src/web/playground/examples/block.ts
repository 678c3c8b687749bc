import { headerScan } from '../../../workload/block/kernel/kernel.js';

/** The first block of Bitcoin: 76 bytes of its header as words, the target, and nonces around the one on the chain. */
const header = [
  ...[0x01000000, 0, 0, 0, 0, 0, 0, 0, 0, 0x3ba3edfd, 0x7a7b12b2, 0x7ac72c3e, 0x67768f61],
  ...[0x7fc81bc3, 0x888a5132, 0x3a9fb8aa, 0x4b1e5e4a, 0x29ab5f49, 0xffff001d],
];
const target = [0, 0xffff0000, 0, 0, 0, 0, 0, 0];

export default {
  kernel: headerScan({ topWordZero: true }),
  job: { header, target },
  space: { start: 2083236893n - 100n, length: 200n },
};
