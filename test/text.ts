import fc from 'fast-check';

/**
 * Text of any characters but halves of surrogate pairs. The same from fast-check, `unit: 'binary'`, makes a table of all of
 * Unicode first, which takes a second.
 */
export const anyText = (maxLength: number): fc.Arbitrary<string> =>
  fc
    .array(
      fc.oneof(
        fc.integer({ min: 0, max: 0xff }),
        fc.integer({ min: 0x100, max: 0xd7ff }),
        fc.integer({ min: 0xe000, max: 0x10ffff }),
      ),
      { maxLength },
    )
    .map((points) => String.fromCodePoint(...points));
