import { bytesOf, type Scalar } from '../../language/types.js';
import { highHalves, lowHalves, shuffle } from './simd-forms.js';

/**
 * Transposes quads (per lane: four elements, in registers) to elements (per element: all lanes, in registers), or back.
 * `keep` assigns a register to a variable. 32-bit: a square of 4 × 4 words for each four lanes, by 8 shuffles. 64-bit: two
 * squares of 2 × 2 for each two lanes.
 */
export function transposed(
  type: Scalar,
  rows: readonly (readonly string[])[],
  keep: (text: string) => string,
  direction: 'forth' | 'back' = 'forth',
): string[][] {
  return bytesOf[type] === 4 ? words(rows, keep, direction) : doubles(rows, keep, direction);
}

function words(rows: readonly (readonly string[])[], keep: (text: string) => string, direction: string): string[][] {
  if (direction === 'back') {
    // Elements in registers of four lanes: the square of each register gives the quads of its lanes.
    const registers = rows[0]?.length ?? 0;
    return Array.from({ length: registers }, (_, r) =>
      square(
        rows.map((row) => row[r] ?? ''),
        keep,
      ),
    )
      .flat()
      .map((quad) => [quad]);
  }
  const columns: string[][] = [[], [], [], []];
  for (let lane = 0; lane < rows.length; lane += 4) {
    const turned = square(
      rows.slice(lane, lane + 4).map(([register = '']) => register),
      keep,
    );
    for (const [element, register] of turned.entries()) columns[element]?.push(register);
  }
  return columns;
}

/** Transposes four registers of four words. */
function square([a = '', b = '', c = '', d = '']: readonly string[], keep: (text: string) => string): string[] {
  const low = [a, c].map((x, i) => keep(shuffle([0, 4, 1, 5], x, i === 0 ? b : d)));
  const high = [a, c].map((x, i) => keep(shuffle([2, 6, 3, 7], x, i === 0 ? b : d)));
  return [low, high].flatMap(([x = '', y = '']) => [keep(lowHalves(x, y)), keep(highHalves(x, y))]);
}

function doubles(rows: readonly (readonly string[])[], keep: (text: string) => string, direction: string): string[][] {
  if (direction === 'back') {
    // rows[element][pair of lanes]
    const pairs = rows[0]?.length ?? 0;
    return Array.from({ length: 2 * pairs }, (_, lane) =>
      [0, 2].map((element) => {
        const [x = '', y = ''] = [rows[element]?.[lane >> 1], rows[element + 1]?.[lane >> 1]];
        return keep(lane % 2 === 0 ? lowHalves(x, y) : highHalves(x, y));
      }),
    );
  }
  // rows[lane][half of the quad]
  return [0, 1, 2, 3].map((element) =>
    Array.from({ length: rows.length / 2 }, (_, pair) => {
      const [x = '', y = ''] = [rows[2 * pair]?.[element >> 1], rows[2 * pair + 1]?.[element >> 1]];
      return keep(element % 2 === 0 ? lowHalves(x, y) : highHalves(x, y));
    }),
  );
}
