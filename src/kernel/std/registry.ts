import type { StdCall } from '../language/std-function.js';
import { encodedName } from '../language/std-function.js';
import { aesRounds } from './hash/aes.js';
import { blake3Rounds } from './hash/blake3.js';
import { sha256Functions } from './hash/sha256.js';
import { compressBytesFunction } from './hash/sha256-bytes.js';
import { halfFunctions } from './number/half.js';
import { montgomeryFunction } from './number/montgomery.js';

/** The std functions with native bodies, by the name that they have in encoded kernels. */
const functions: ReadonlyMap<string, StdCall> = new Map(
  [...sha256Functions, compressBytesFunction, aesRounds, blake3Rounds, ...halfFunctions].map((call) => [
    encodedName(call.definition),
    call,
  ]),
);

/** Returns the std function of a name; undefined if there is none. */
export const findStdFunction = (name: string): StdCall | undefined => functions.get(name) ?? montgomeryFunction(name);
