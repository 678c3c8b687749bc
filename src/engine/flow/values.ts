import type { Values } from '../../device/device.js';
import type { Fields, Scalar } from '../../kernel/index.js';

/** Types of the values that a kernel's fields accept and return, derived from the kernel's signature. */

/** Values for declared fields: `{ header: [u32, 19] }` takes 19 numbers under that name. */
export type Given<F extends Fields> = Fields extends F
  ? Values
  : {
      readonly [K in keyof F]: F[K] extends readonly [infer T extends Scalar, number]
        ? ArrayLike<GivenScalar<T>>
        : F[K] extends Scalar
          ? GivenScalar<F[K]>
          : never;
    };

/** Values returned in declared fields: arrays for those declared `[type, n]`. */
export type Found<F extends Fields> = Fields extends F
  ? Readonly<Record<string, FoundScalar<Scalar> | readonly FoundScalar<Scalar>[]>>
  : {
      readonly [K in keyof F]: F[K] extends readonly [infer T extends Scalar, number]
        ? readonly FoundScalar<T>[]
        : F[K] extends Scalar
          ? FoundScalar<F[K]>
          : never;
    };

/** `{ job: … }`, optional if the kernel declares no such fields. */
export type Needed<Name extends string, F extends Fields, Value> = Fields extends F
  ? { readonly [K in Name]?: Value }
  : keyof F extends never
    ? { readonly [K in Name]?: Value }
    : { readonly [K in Name]: Value };

type GivenScalar<T extends Scalar> = T extends 'u64' ? bigint | number : T extends 'bool' ? boolean : number;
type FoundScalar<T extends Scalar> = T extends 'u64' ? bigint : T extends 'bool' ? boolean : number;
