import type { FieldValues } from '../../device/device.js';
import type { Fields, Type } from '../../kernel/index.js';

/** Types of the values that a kernel's fields accept and return, derived from the kernel's signature. */

/** Values for declared fields: `{ header: [u32, 19] }` takes 19 numbers under that name. */
export type InputValues<F extends Fields> = Fields extends F
  ? FieldValues
  : {
      readonly [K in keyof F]: F[K] extends readonly [infer T extends Type, number]
        ? ArrayLike<InputScalar<T>>
        : F[K] extends Type
          ? InputScalar<F[K]>
          : never;
    };

/** Values returned in declared fields: arrays for those declared `[type, n]`. */
export type OutputValues<F extends Fields> = Fields extends F
  ? Readonly<Record<string, OutputScalar<Type> | readonly OutputScalar<Type>[]>>
  : {
      readonly [K in keyof F]: F[K] extends readonly [infer T extends Type, number]
        ? readonly OutputScalar<T>[]
        : F[K] extends Type
          ? OutputScalar<F[K]>
          : never;
    };

/** `{ job: … }`, optional if the kernel declares no such fields. */
export type RequiredIfDeclared<Name extends string, F extends Fields, Value> = Fields extends F
  ? { readonly [K in Name]?: Value }
  : keyof F extends never
    ? { readonly [K in Name]?: Value }
    : { readonly [K in Name]: Value };

type InputScalar<T extends Type> = T extends 'u64' | 'i64' ? bigint | number : T extends 'bool' ? boolean : number;
type OutputScalar<T extends Type> = T extends 'u64' | 'i64' ? bigint : T extends 'bool' ? boolean : number;
