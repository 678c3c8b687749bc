// Numbers whose SHA-256, together with a name, begins with 12 zero bits

import { items, sha256, u32, when } from 'millrace';

const vanity = items('vanity', { job: { name: [u32, 2] }, hit: { digest: [u32, 8] } }, ({ job, index, emit }) => {
  const digest = sha256.hash([...job.name, index.lo]);
  when(digest[0].shr(20).eq(0), () => emit({ digest }));
});

// "millrace" as two words
export default { kernel: vanity, job: { name: [0x6d696c6c, 0x72616365] }, space: 20_000 };
