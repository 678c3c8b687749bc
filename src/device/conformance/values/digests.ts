import {
  chacha20,
  type Expr,
  items,
  keccak,
  md5,
  type RolledOption,
  read,
  ripemd160,
  rw,
  sha1,
  sha3,
  sha512,
} from '../../../kernel/index.js';
import type { Case } from '../case.js';
import { expectEqual, runKernel } from '../rig.js';

type Word = Expr<'u32'>;

interface HashFunction {
  readonly order: 'little' | 'big';
  hash(message: Word[], bytes: Word): readonly (Word | Expr<'u64'>)[];
  /** The published digests of `messages`, in hexadecimal. */
  readonly digests: readonly string[];
}

/** The first messages of the suites of RFC 1321 and RIPEMD-160. */
const messages = ['', 'a', 'abc', 'message digest', 'abcdefghijklmnopqrstuvwxyz'];
const MESSAGE_WORDS = 14;

/** Digests from RFC 1321, FIPS 180-4, FIPS 202, RIPEMD-160's page and Keccak's submission; `node:crypto` has the others. */
const functions: Readonly<Record<string, HashFunction>> = {
  md5: {
    order: 'little',
    hash: (message, bytes) => md5.hash(message, bytes),
    digests: [
      'd41d8cd98f00b204e9800998ecf8427e',
      '0cc175b9c0f1b6a831c399e269772661',
      '900150983cd24fb0d6963f7d28e17f72',
      'f96b697d7cb7938d525a2f31aaf161d0',
      'c3fcd3d76192e4007dfb496cca67e13b',
    ],
  },
  sha1: {
    order: 'big',
    hash: (message, bytes) => sha1.hash(message, bytes),
    digests: [
      'da39a3ee5e6b4b0d3255bfef95601890afd80709',
      '86f7e437faa5a7fce15d1ddcb9eaeaea377667b8',
      'a9993e364706816aba3e25717850c26c9cd0d89d',
      'c12252ceda8be8994d5fa0290a47231c1d16aae3',
      '32d10c7b8cf96570ca04ce37f2a19d84240d3a89',
    ],
  },
  ripemd160: {
    order: 'little',
    hash: (message, bytes) => ripemd160.hash(message, bytes),
    digests: [
      '9c1185a5c5e9fc54612808977ee8f548b2258d31',
      '0bdc9d2d256b3ee9daae347be6f4dc835a467ffe',
      '8eb208f7e05d987a9b044a8e98c6b087f15a0bfc',
      '5d0689ef49d2fae572b881b123a85ffa21595f36',
      'f71c27109c692c1b56bbdceb5b9d2865b3708dbc',
    ],
  },
  sha512: {
    order: 'big',
    hash: (message, bytes) => sha512.hash(message, bytes),
    digests: [
      'cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce' +
        '47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e',
      '1f40fc92da241694750979ee6cf582f2d5d7d28e18335de05abc54d0560e0f53' +
        '02860c652bf08d560252aa5e74210546f369fbbbce8c12cfc7957b2652fe9a75',
      'ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a' +
        '2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f',
      '107dbf389d9e9f71a3a95f6c055b9251bc5268c2be16d6c13492ea45b0199f33' +
        '09e16455ab1e96118e8a905d5597b72038ddb372a89826046de66687bb420e7c',
      '4dbff86cc2ca1bae1e16468a05cb9881c97f1753bce3619034898faa1aabe429' +
        '955a1bf8ec483d7421fe3c1646613a59ed5441fb0f321389f77f48a879c7b1f1',
    ],
  },
  'sha3-256': {
    order: 'little',
    hash: (message, bytes) => sha3.hash256(message, bytes),
    digests: [
      'a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a',
      '80084bf2fba02475726feb2cab2d8215eab14bc6bdd8bfb2c8151257032ecd8b',
      '3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532',
      'edcdb2069366e75243860c18c3a11465eca34bce6143d30c8665cefcfd32bffd',
      '7cab2dc765e21b241dbc1c255ce620b29f527c6d5e7f5f843e56288f0d707521',
    ],
  },
  'sha3-512': {
    order: 'little',
    hash: (message, bytes) => sha3.hash512(message, bytes),
    digests: [
      'a69f73cca23a9ac5c8b567dc185a756e97c982164fe25859e0d1dcc1475c80a6' +
        '15b2123af1f5f94c11e3e9402c3ac558f500199d95b6d3e301758586281dcd26',
      '697f2d856172cb8309d6b8b97dac4de344b549d4dee61edfb4962d8698b7fa80' +
        '3f4f93ff24393586e28b5b957ac3d1d369420ce53332712f997bd336d09ab02a',
      'b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e' +
        '10e116e9192af3c91a7ec57647e3934057340b4cf408d5a56592f8274eec53f0',
      '3444e155881fa15511f57726c7d7cfe80302a7433067b29d59a71415ca9dd141' +
        'ac892d310bc4d78128c98fda839d18d7f0556f2fe7acb3c0cda4bff3a25f5f59',
      'af328d17fa28753a3c9f5cb72e376b90440b96f0289e5703b729324a975ab384' +
        'eda565fc92aaded143669900d761861687acdc0a5ffa358bd0571aaad80aca68',
    ],
  },
  'keccak-256': {
    order: 'little',
    hash: (message, bytes) => keccak.hash256(message, bytes),
    digests: [
      'c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470',
      '3ac225168df54212a25c1c01fd35bebfea408fdac2e31ddd6f80a4bbf9a5f1cb',
      '4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45',
    ],
  },
};

const digestCase = ([name, { order, hash, digests }]: readonly [string, HashFunction]): Case => ({
  name: `std/${name}: published digests`,
  run: async (device) => {
    const count = digests.length;
    const message = new Uint8Array(4 * MESSAGE_WORDS * count).fill(0xa5); // bytes past the end do not matter
    const texts = messages.slice(0, count);
    for (const [i, text] of texts.entries()) message.set(new TextEncoder().encode(text), 4 * MESSAGE_WORDS * i);
    const view = new DataView(message.buffer);
    const words = Uint32Array.from({ length: message.length / 4 }, (_, i) => view.getUint32(4 * i, order === 'little'));
    const width = (digests[0] ?? '').length / 8;
    const kernel = items(
      'digest',
      { buffers: { words: read('u32'), bytes: read('u32'), out: rw('u32') } },
      ({ item, buffers }) => {
        const from = item.mul(MESSAGE_WORDS);
        const all = Array.from({ length: MESSAGE_WORDS }, (_, k) => buffers.words.at(from.add(k)));
        for (const [k, word] of hash(all, buffers.bytes.at(item)).flatMap(halvesIn(order)).entries())
          buffers.out.set(item.mul(width).add(k), word);
      },
    );
    const bytes = Uint32Array.from(texts, ({ length }) => length);
    const out = new Uint32Array(count * width);
    const { buffers } = await runKernel(device, kernel, { count, buffers: { words, bytes, out } });
    expectEqual('digests', buffers.out, digests.flatMap(wordsIn(order)));
  },
});

/** Returns a value as words of 32 bits, the one with the first bytes first. */
const halvesIn =
  (order: 'little' | 'big') =>
  (value: Word | Expr<'u64'>): Word[] => {
    if (value.type === 'u32') return [value as Word];
    const { lo, hi } = value as Expr<'u64'>;
    return order === 'little' ? [lo, hi] : [hi, lo];
  };

const wordsIn =
  (order: 'little' | 'big') =>
  (hex: string): number[] =>
    (hex.match(/.{8}/g) ?? []).map((word) => {
      const pairs = word.match(/../g) ?? [];
      return Number.parseInt((order === 'little' ? pairs.reverse() : pairs).join(''), 16);
    });

/** RFC 8439, 2.3.2: the key is 00 01 … 1f, the counter 1. */
const chachaCase = ({ rolled = false }: RolledOption): Case => ({
  name: `std/chacha20: the block of RFC 8439${rolled ? ', as a loop' : ''}`,
  run: async (device) => {
    const kernel = items('chacha', { buffers: { key: read('u32'), out: rw('u32') } }, ({ item, buffers }) => {
      const key = Array.from({ length: 8 }, (_, k) => buffers.key.at(k));
      const words = chacha20.block(key, item.add(1), [0x0900_0000, 0x4a00_0000, 0], { rolled });
      for (const [k, word] of words.entries()) buffers.out.set(item.mul(16).add(k), word);
    });
    const key = Uint32Array.from({ length: 8 }, (_, k) => 0x0302_0100 + 0x0404_0404 * k);
    const { buffers } = await runKernel(device, kernel, { count: 1, buffers: { key, out: new Uint32Array(16) } });
    const stream =
      '10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e' +
      'd2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e';
    expectEqual('the key stream', buffers.out, wordsIn('little')(stream));
  },
});

export const digestCases: readonly Case[] = [
  ...Object.entries(functions).map(digestCase),
  chachaCase({ rolled: false }),
  chachaCase({ rolled: true }),
];
