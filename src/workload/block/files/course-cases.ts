/**
 * The blocks of the course's four cases: the first 76 bytes of each header, and its smallest nonce. `block solve` finds
 * these nonces in the files of the same names.
 */
export const courseCases: readonly CourseCase[] = [
  {
    name: 'case00',
    blocks: [
      {
        prefix:
          '020000004d6dc0a5110966efabb4d5f297100c5b12012e14a881560e0000000000000000f2b5603aae318f844371bfae999a7f272f4eaee113039f2ea60470f6dcacaa02352a4555f0171718',
        nonce: 2954867437,
      },
    ],
  },
  {
    name: 'case01',
    blocks: [
      {
        prefix:
          '00000020ceaaf1a77ff8a5483aa8d5bc7a5e82708bc6bf0c54483300000000000000000067910f2319afaef988a0177ad57bdb40adc972c7d4e9acb02e9b0a2a349ceb7b8b2fc25ab72a5017',
        nonce: 1175691358,
      },
      {
        prefix:
          '0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a29ab5f49ffff001d',
        nonce: 2083236893,
      },
      {
        prefix:
          '01000000089d17c94d8664a8762ecb72229ac1e7e84e0f3f36e1aa947080000000000000ecd0aae650b83eb207d186cd42afd1442dd900888a2e7465dea4f27999acb4e2d73ebf4dfa98001b',
        nonce: 40936455,
      },
      {
        prefix:
          '00000020ebec81240e2148094587c977997c186a4a01a10a57cf3a000000000000000000409839bdfe15723ae3bc8431b9ebd551090364aafa84fc778afaea499ebd0c30868dc75ab72a5017',
        nonce: 3947571077,
      },
    ],
  },
  {
    name: 'case02',
    blocks: [
      {
        prefix:
          '00000020a13b565333e9bba1b362d424880b2b6f702f74528a343200000000000000000089b21cf9c42a5e61f93403c3a9c3a39b2be9d3e3aa393d04c9bed850624a1cd93910d35a0d504917',
        nonce: 783073466,
      },
    ],
  },
  {
    name: 'case03',
    blocks: [
      {
        prefix:
          '00000020ff22b74017bc62a214112e46a20450a204237f0669290e000000000000000000af7d2d8c748125eb6b30f82d0c3d0c992a63f0391c7aec73135be94806f8c99f7e32d35a0d504917',
        nonce: 384305184,
      },
    ],
  },
];

export interface CourseCase {
  readonly name: string;
  readonly blocks: readonly { readonly prefix: string; readonly nonce: number }[];
}
