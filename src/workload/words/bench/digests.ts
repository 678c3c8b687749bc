import type { Layout } from '../space/layout.js';

/** SHA-256 of the first words of ?l?l?l?l?l?l?d?d?d?d, recorded with other programs. */
export const recordedDigests: readonly { readonly words: number; readonly layout: Layout; readonly sha256: string }[] =
  [
    { words: 1_000_000, layout: 'newline', sha256: 'e4a7b7d446764a547590256bde1f75d8185b59fb566851ffd1e40db65b72b810' },
    { words: 1_000_000, layout: 'nul', sha256: 'e8ffe10b384b34e5c6e63394fa5a565c88a08fbbee108489696f001d2b1b0ca5' },
    { words: 1_000_000, layout: 'packed', sha256: 'f41a70a1288fa6555fb6e61f3af5e3cfca4566fa5916ae575b3a7631f7a5e4c5' },
    {
      words: 10_000_000,
      layout: 'newline',
      sha256: '6611e5f122af48171b49155f019f582cad9d34a196754fb7f52cae8e2778ffa6',
    },
    { words: 10_000_000, layout: 'nul', sha256: 'a803a55c9203fc4639880e02163b03b148419f89c198b61e598fa422aa5c7bc7' },
    { words: 10_000_000, layout: 'packed', sha256: '35454ec8aa66489a37c006aa34cb8b0bec817f6d863afacda622c9a140d04967' },
    {
      words: 50_000_000,
      layout: 'newline',
      sha256: 'f3bad4e414182faced4e63670ff6b0ff7c2ab08729a51d3919d9b73ad1a2a8a6',
    },
    { words: 50_000_000, layout: 'nul', sha256: '7c50bfcdd1a8255411c17f6dd5bbe2f7ef74cdef511807cdea41272c090ce608' },
    { words: 50_000_000, layout: 'packed', sha256: '54a993f279b8178162df880bac9a0225250eb6243a384076b1689457badf660e' },
    {
      words: 100_000_000,
      layout: 'newline',
      sha256: '1011ae0cdfa19bf3afa3eab579f457f767e99c7ac285db26d8f6775aca139d9e',
    },
    { words: 100_000_000, layout: 'nul', sha256: 'e506b05463e1e757fdc5de6d19a9966ca3f768caf98c3c59dc6bb4518e4a791b' },
    {
      words: 100_000_000,
      layout: 'packed',
      sha256: 'b33df8d353b153df08c2bd0e20c4b3bf40d484ac835727c336225f91632da676',
    },
  ];
