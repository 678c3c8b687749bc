import { describe, expect, it } from 'vitest';
import { byTier, isShort } from '../../../../test/tier.js';
import { foldGrid, gridSize, LaunchHeader, launchBlock } from '../../abi/grid.js';
import { type GpuOptions, type GpuTarget, lowerAhead, lowerGpu } from '../../abi/lower-gpu.js';
import { MillraceError } from '../../error.js';
import { atomic, read, rw } from '../../language/buffers.js';
import { cell, loop, table, when, whileTrue } from '../../language/control.js';
import { items } from '../../language/items.js';
import { funnel, select } from '../../language/operations.js';
import { tiles } from '../../language/tiles.js';
import { f32, f64, i32, u32, u64 } from '../../language/types.js';
import { sha256 } from '../../std/hash/sha256.js';

const text = (kernel: Parameters<typeof lowerGpu>[0], target: GpuTarget, workgroup = 64) =>
  lowerGpu(kernel, { target, workgroup }).text;

/** A kernel that uses most features of items. */
const collatz = items(
  'collatz',
  { job: { least: u32 }, buffers: { x: read(u32), out: rw(u32), seen: atomic() }, hit: { steps: u32 } },
  ({ job, item, buffers, emit }) => {
    const odd = table(u32, [1, 3]);
    const n = cell(u32, buffers.x.at(item));
    const steps = cell(u32, 0);
    loop(100, () => {
      when(n.ne(1), () => {
        const half = n.shr(1);
        when(n.and(1).eq(0), () => n.set(half)).otherwise(() => n.set(n.mul(odd.at(n.and(1))).add(1)));
        steps.set(steps.add(1));
      });
    });
    buffers.out.set(item, funnel(steps, n, item).rotr(7));
    buffers.seen.add(0, 1);
    when(steps.ge(job.least), () => emit({ steps }));
  },
);

/** Returns the text from the definition of the tile number onward. */
const tileText = (whole: string): string => whole.slice(whole.search(/ *(const u32|let) tile =/));

describe('texts for GPUs', () => {
  it('cuda', () => {
    expect(text(collatz, 'cuda')).toMatchInlineSnapshot(`
      "// kernel collatz, workgroups of 64
      typedef unsigned int u32; typedef int i32; typedef unsigned long long u64; typedef float f32; typedef double f64;
      struct Launch { u32 words[20]; };
      __device__ __forceinline__ u32 rotr_u32(u32 a, u32 b) { return __funnelshift_r(a, a, b); }

      extern "C" __global__ void __launch_bounds__(64) millrace_range(const __grid_constant__ Launch launch, const u32 *counted, const volatile u32 *cancel, u32 *status, const u32 *__restrict__ tables, const u32 *__restrict__ b_x, u32 *__restrict__ b_out, u32 *b_seen, u32 *b_ring) {
        __shared__ __align__(16) u32 table_0[4];
        const u32 thread = threadIdx.x, group = blockIdx.x, groups = gridDim.x;
        const u32 epoch = launch.words[1];
        const u32 first = launch.words[4];
        u32 last = launch.words[0];
        if (counted) {
          const u32 count = *counted;
          if (count == 0u) return;
          if (count - 1u < last) last = count - 1u;
        }
        const u32 p_least = launch.words[16];
        const u32 p_ringCapacity = launch.words[17];
        for (u32 i = thread; i < 2u; i += 64u) {
          table_0[i] = tables[0u + i];
        }
        __syncthreads();
        const u32 least = first / 64u;
        const u32 most = last / 64u;
        if (least <= most && group <= most - least) {
          const u32 own = least + group;
          for (u32 round = 0u; round <= (most - own) / groups; round++) {
            if (round % 64u == 0u && __syncthreads_or(thread == 0u && *cancel != epoch)) {
              if (thread == 0u) status[0] = 1u;
              break;
            }
            const u32 item = (own + round * groups) * 64u + thread;
            if (item <= last) {
              const u32 v0 = b_x[item];
              u32 c0 = v0;
              u32 c1 = 0u;
              for (u32 v1 = 0; v1 < 100u; v1++) {
                const u32 v2 = c0;
                if (v2 != 1u) {
                  const u32 v3 = v2 & 1u;
                  if (v3 == 0u) {
                    c0 = v2 >> 1;
                  }
                  else {
                    c0 = (v2 * (table_0[v3])) + 1u;
                  }
                  const u32 v4 = c1;
                  c1 = v4 + 1u;
                }
              }
              const u32 v5 = c1;
              const u32 v6 = c0;
              b_out[item] = (rotr_u32((__funnelshift_r(v6, v5, item)), 7u));
              atomicAdd(&b_seen[0u], 1u);
              if (p_least <= v5) {
                const u32 v7 = atomicAdd(&b_ring[0u], 1u);
                if (v7 < p_ringCapacity) {
                  const u32 v8 = v7 << 1;
                  *(volatile u32 *)&b_ring[(v8 + 4u)] = item;
                  *(volatile u32 *)&b_ring[(v8 + 5u)] = v5;
                }
              }
            }
          }
        }
      }
      "
    `);
  });
  it('opencl', () => {
    expect(text(collatz, 'opencl')).toMatchInlineSnapshot(`
      "// kernel collatz, workgroups of 64
      #pragma OPENCL FP_CONTRACT OFF
      typedef uint u32; typedef int i32; typedef ulong u64; typedef float f32;
      typedef struct { u32 words[20]; } Launch;

      __kernel __attribute__((reqd_work_group_size(64, 1, 1))) void millrace_range(const Launch launch, __global const u32 *counted, __global const volatile u32 *cancel, __global u32 *status, __global const u32 *restrict tables, __global const u32 *restrict b_x, __global u32 *restrict b_out, __global u32 *b_seen, __global u32 *b_ring) {
        __local u32 table_0[2] __attribute__((aligned(16)));
        const u32 thread = get_local_id(0), group = get_group_id(0), groups = get_num_groups(0);
        const u32 epoch = launch.words[1];
        const u32 first = launch.words[4];
        u32 last = launch.words[0];
        if (counted) {
          const u32 count = *counted;
          if (count == 0u) return;
          if (count - 1u < last) last = count - 1u;
        }
        const u32 p_least = launch.words[16];
        const u32 p_ringCapacity = launch.words[17];
        for (u32 i = thread; i < 2u; i += 64u) {
          table_0[i] = tables[0u + i];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const u32 least = first / 64u;
        const u32 most = last / 64u;
        if (least <= most && group <= most - least) {
          const u32 own = least + group;
          for (u32 round = 0u; round <= (most - own) / groups; round++) {
            if (round % 64u == 0u && *cancel != epoch) {
              status[0] = 1u;
              break;
            }
            const u32 item = (own + round * groups) * 64u + thread;
            if (item <= last) {
              const u32 v0 = b_x[item];
              u32 c0 = v0;
              u32 c1 = 0u;
              for (u32 v1 = 0; v1 < 100u; v1++) {
                const u32 v2 = c0;
                if (v2 != 1u) {
                  const u32 v3 = v2 & 1u;
                  if (v3 == 0u) {
                    c0 = v2 >> 1;
                  }
                  else {
                    c0 = (v2 * (table_0[v3])) + 1u;
                  }
                  const u32 v4 = c1;
                  c1 = v4 + 1u;
                }
              }
              const u32 v5 = c1;
              const u32 v6 = c0;
              b_out[item] = (rotate(((u32)(upsample(v5, v6) >> (item & 31u))), 25u));
              atomic_add(&b_seen[0u], 1u);
              if (p_least <= v5) {
                const u32 v7 = atomic_add(&b_ring[0u], 1u);
                if (v7 < p_ringCapacity) {
                  const u32 v8 = v7 << 1;
                  *(volatile __global u32 *)&b_ring[(v8 + 4u)] = item;
                  *(volatile __global u32 *)&b_ring[(v8 + 5u)] = v5;
                }
              }
            }
          }
        }
      }
      "
    `);
  });
  it('wgsl', () => {
    expect(text(collatz, 'wgsl')).toMatchInlineSnapshot(`
      "// kernel collatz, workgroups of 64
      @group(0) @binding(0) var<uniform> launch: array<vec4<u32>, 5>;
      @group(0) @binding(1) var<uniform> cancel: vec4<u32>;
      @group(0) @binding(2) var<storage, read_write> status: array<atomic<u32>, 8>;
      @group(0) @binding(3) var<storage, read> tables: array<u32>;
      @group(0) @binding(4) var<storage, read> b_x: array<u32>;
      @group(0) @binding(5) var<storage, read_write> b_out: array<u32>;
      @group(0) @binding(6) var<storage, read_write> b_seen: array<atomic<u32>>;
      @group(0) @binding(7) var<storage, read_write> b_ring: array<atomic<u32>>;
      var<workgroup> table_0: array<u32, 2>;
      fn funnel_u32(a: u32, b: u32, c: u32) -> u32 { return (b >> (c & 31u)) | ((a << 1u) << (31u - (c & 31u))); }
      fn rotr_u32(a: u32, b: u32) -> u32 { return (a >> (b & 31u)) | (a << ((32u - b) & 31u)); }

      @compute @workgroup_size(64) fn millrace_range(@builtin(workgroup_id) place: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
        let group = place.y * grid.x + place.x;
        let groups = grid.x * grid.y;
        let epoch = launch[0].y;
        let first = launch[1].x;
        var last: u32 = launch[0].x;
        if (launch[0].w != 0u) {
          if (launch[0].z == 0u) { return; }
          last = min(last, launch[0].z - 1u);
        }
        let p_least = launch[4].x;
        let p_ringCapacity = launch[4].y;
        for (var i: u32 = thread; i < 2u; i += 64u) {
          table_0[i] = tables[0u + i];
        }
        workgroupBarrier();
        if (cancel.x != epoch) {
          if (thread == 0u) { atomicStore(&status[0], 1u); }
          return;
        }
        let least = first / 64u;
        let most = last / 64u;
        if (least <= most && group <= most - least) {
          let own = least + group;
          for (var round: u32 = 0u; round <= (most - own) / groups; round++) {
            let item = (own + round * groups) * 64u + thread;
            if (item <= last) {
              let v0 = b_x[item];
              var c0: u32 = v0;
              var c1: u32 = 0u;
              for (var v1: u32 = 0; v1 < 100u; v1++) {
                let v2 = c0;
                if (v2 != 1u) {
                  let v3 = v2 & 1u;
                  if (v3 == 0u) {
                    c0 = v2 >> 1u;
                  }
                  else {
                    c0 = (v2 * (table_0[v3])) + 1u;
                  }
                  let v4 = c1;
                  c1 = v4 + 1u;
                }
              }
              let v5 = c1;
              let v6 = c0;
              b_out[item] = (rotr_u32((funnel_u32(v5, v6, item)), 7u));
              atomicAdd(&b_seen[0u], 1u);
              if (p_least <= v5) {
                let v7 = atomicAdd(&b_ring[0u], 1u);
                if (v7 < p_ringCapacity) {
                  let v8 = v7 << 1u;
                  atomicStore(&b_ring[(v8 + 4u)], item);
                  atomicStore(&b_ring[(v8 + 5u)], v5);
                }
              }
            }
          }
        }
      }
      "
    `);
  });

  it('are the same each time', () => {
    for (const target of ['cuda', 'opencl', 'wgsl'] as const) expect(text(collatz, target)).toBe(text(collatz, target));
  });
});

describe('launch values on OpenCL', () => {
  const launchArgument = (words: number): string | undefined => {
    const kernel = items(
      'values',
      { job: { v: [u32, words] }, buffers: { out: rw(u32) } },
      ({ job, item, buffers }) => {
        for (const value of job.v) buffers.out.set(item, value.xor(item));
      },
    );
    return /millrace_range\(([^,]*),/.exec(text(kernel, 'opencl'))?.[1];
  };
  it('are an argument as long as all arguments have at most 1,024 bytes, which every device accepts', () => {
    // Besides the job's words 8 of a header, 2 of the buffer's size, and 4 pointers of 8 bytes; padded to 16 bytes.
    expect(launchArgument(238)).toBe('const Launch launch');
    expect(launchArgument(239)).toBe('__constant const u32 *launch');
  });
});

describe('a long loop', () => {
  const patient = (isLong: boolean) =>
    items('patient', { job: { rounds: u32 }, buffers: { out: rw(u32) } }, ({ item, job, buffers }) => {
      const done = cell(u32, 0);
      loop(3, () => {
        whileTrue(
          () => done.lt(job.rounds),
          () => done.set(done.add(1)),
          { isLong },
        );
      });
      buffers.out.set(item, done);
    });
  const cancels = (isLong: boolean, target: GpuTarget) =>
    text(patient(isLong), target)
      .split('\n')
      .map((line, i, all) => (/\*cancel != epoch/.test(line) ? all.slice(i, i + 3).map((one) => one.trim()) : []))
      .filter((lines) => lines.length > 0);

  it.each(['cuda', 'opencl'] as const)('that is cancelled leaves the item: %s', (target) => {
    expect(cancels(true, target).map((lines) => lines.at(-1))).toEqual(['break;', 'return;']);
    expect(cancels(false, target)).toHaveLength(1);
  });
  it('may end the first thread early, so every thread checks for cancellation (CUDA)', () => {
    expect([true, false].map((isLong) => cancels(isLong, 'cuda')[0]?.[0])).toEqual([
      'if (round % 64u == 0u && __syncthreads_or(*cancel != epoch)) {',
      'if (round % 64u == 0u && __syncthreads_or(thread == 0u && *cancel != epoch)) {',
    ]);
  });
});

describe('tiles on GPUs', () => {
  const kernel = tiles('sums', { buffers: { x: read(f32), out: rw(f32) } }, ({ tile, sum, each, buffers }) => {
    const total = sum(f32, 1000, (i) => buffers.x.at(i).mul(buffers.x.at(i)));
    each(10, (i) => buffers.out.set(tile.mul(10).add(i), total));
  });
  it('sum with whole partials per thread', () => {
    expect(tileText(text(kernel, 'cuda', 32))).toMatchInlineSnapshot(`
      "      const u32 tile = own + round * groups;
            __syncthreads();
            for (u32 p0 = thread; p0 < 256u; p0 += 32u) {
              f32 sum0 = 0.0f;
              for (u32 v0 = p0; v0 < 0x3e8u; v0 += 256u) {
                const f32 v1 = b_x[v0];
                const f32 v2 = b_x[v0];
                sum0 = sum0 + (__fmul_rn(v1, v2));
              }
              partials_f32[p0] = sum0;
            }
            __syncthreads();
            for (u32 half0 = 128u; half0 > 0u; half0 /= 2u) {
              for (u32 p0 = thread; p0 < half0; p0 += 32u) {
                partials_f32[p0] = partials_f32[p0] + partials_f32[p0 + half0];
              }
              __syncthreads();
            }
            const f32 v3 = partials_f32[0];
            const u32 v4 = tile * 10u;
            for (u32 v5 = thread; v5 < 10u; v5 += 32u) {
              b_out[(v4 + v5)] = v3;
            }
          }
        }
      }
      "
    `);
  });
  it('use subgroups where a WebGPU device has them, and only for integers', () => {
    const kernel = tiles('reduced', { buffers: { out: rw(f32) } }, ({ tile, sum, near, scan, once, buffers }) => {
      const words = near(u32, 8);
      const total = scan(8, words).add(sum(u32, 100, (i) => i));
      const exact = sum(f32, 100, (i) => i.to(f32));
      once(() => buffers.out.set(tile, exact.add(total.to(f32))));
    });
    const print = (subgroups: boolean, workgroup = 64) =>
      lowerGpu(kernel, { target: 'wgsl', workgroup, subgroups }).text;
    expect(print(false)).not.toContain('subgroup');
    expect(print(true, 1024)).not.toContain('subgroupAdd');
    const lines = print(true).split('\n');
    expect(lines[1]).toBe('enable subgroups;');
    expect(lines.filter((line) => line.includes('subgroup')).map((line) => line.trim())).toMatchInlineSnapshot(`
      [
        "enable subgroups;",
        "let lanes0 = subgroupAdd(1u);",
        "let first0 = subgroupExclusiveAdd(1u) * share0;",
        "var step0: u32 = subgroupExclusiveAdd(own0);",
        "let stores0 = subgroupAny(thread == 0u);",
        "let lanes1 = subgroupAdd(1u);",
        "let first1 = subgroupExclusiveAdd(1u) * share1;",
        "let all1 = subgroupAdd(own1);",
      ]
    `);
  });
  it('mark uniform values in WGSL', () => {
    const scanned = tiles('scans', { buffers: { out: rw(u32) } }, ({ tile, near, each, scan, buffers }) => {
      const counts = near(u32, 100);
      each(100, (i) => counts.set(i, i));
      when(buffers.out.at(0).gt(3), () => {
        const total = scan(100, counts);
        each(total, (i) => counts.or(0, i));
      });
      each(100, (i) => buffers.out.set(tile.add(i), counts.at(i)));
    });
    expect(tileText(text(scanned, 'wgsl', 32))).toMatchInlineSnapshot(`
      "      let tile = own + round * groups;
            workgroupBarrier();
            for (var v0: u32 = thread; v0 < 100u; v0 += 32u) {
              atomicStore(&near0[v0], v0);
            }
            if (thread == 0u) { spread_u32[0] = b_out[0u]; }
            let v1 = workgroupUniformLoad(&spread_u32[0]);
            if (3u < v1) {
              workgroupBarrier();
              let from0 = select(100u, (thread * 4u), ((thread * 4u) < 100u));
              let to0 = select(100u, (thread * 4u + 4u), ((thread * 4u + 4u) < 100u));
              var before0: u32 = 0u;
              for (var at0: u32 = from0; at0 < to0; at0++) {
                before0 += atomicLoad(&near0[at0]);
              }
              totals[thread] = before0;
              workgroupBarrier();
              for (var step0: u32 = 1u; step0 < 32u; step0 *= 2u) {
                var add0: u32 = 0u;
                if (thread >= step0) { add0 = totals[thread - step0]; }
                workgroupBarrier();
                totals[thread] += add0;
                workgroupBarrier();
              }
              before0 = totals[thread] - before0;
              for (var at0: u32 = from0; at0 < to0; at0++) {
                let add0 = atomicLoad(&near0[at0]);
                atomicStore(&near0[at0], before0);
                before0 += add0;
              }
              let v2 = workgroupUniformLoad(&totals[31]);
              workgroupBarrier();
              for (var v3: u32 = thread; v3 < v2; v3 += 32u) {
                atomicOr(&near0[0u], v3);
              }
            }
            storageBarrier();
            workgroupBarrier();
            for (var v4: u32 = thread; v4 < 100u; v4 += 32u) {
              let v5 = atomicLoad(&near0[v4]);
              b_out[(tile + v4)] = v5;
            }
          }
        }
      }
      "
    `);
  });
});

describe('constants', () => {
  const values = [Number.POSITIVE_INFINITY, Number.NaN, -0, 0.1, 2 ** -149, -3];
  const kernel = (type: 'f32' | 'f64') =>
    items('literals', { buffers: { out: rw(type) } }, ({ item, buffers }) => {
      for (const [i, value] of values.entries()) buffers.out.set(item.add(i), value);
    });
  const stored = (type: 'f32' | 'f64', target: GpuTarget) =>
    [...text(kernel(type), target).matchAll(/b_out\[.*\] = (.*);/g)].map((match) => match[1]);
  it('are exact in each language', () => {
    expect(stored('f32', 'cuda')).toMatchInlineSnapshot(`
      [
        "__uint_as_float(0x7f800000u)",
        "__uint_as_float(0x7fc00000u)",
        "(-0x0.0000000000000p-1022f)",
        "0x1.99999a0000000p-4f",
        "0x1.0000000000000p-149f",
        "(-3.0f)",
      ]
    `);
    expect(stored('f64', 'opencl')).toMatchInlineSnapshot(`
      [
        "as_double(0x7ff0000000000000ul)",
        "as_double(0x7ff8000000000000ul)",
        "(-0x0.0000000000000p-1022)",
        "0x1.999999999999ap-4",
        "0x1.0000000000000p-149",
        "(-3.0)",
      ]
    `);
    expect(stored('f32', 'wgsl')).toMatchInlineSnapshot(`
      [
        "f32_of(0x7f800000u)",
        "f32_of(0x7fc00000u)",
        "(-0.0f)",
        "0x1.99999a0000000p-4f",
        "0x1.0000000000000p-149f",
        "(-3.0f)",
      ]
    `);
  });
  it('of type i32 wrap where C would not', () => {
    const wraps = items('wraps', { buffers: { x: read(i32), out: rw(i32) } }, ({ item, buffers }) => {
      const x = buffers.x.at(item);
      buffers.out.set(item, x.add(-2147483648).mul(x).div(x));
    });
    const line = (target: GpuTarget) => /b_out\[.*/.exec(text(wraps, target))?.[0];
    expect([line('cuda'), line('opencl'), line('wgsl')]).toMatchInlineSnapshot(`
      [
        "b_out[item] = (div_i32(((i32)((u32)((i32)((u32)v0 + (u32)(-2147483647 - 1))) * (u32)v0)), v0));",
        "b_out[item] = (div_i32(((i32)((u32)((i32)((u32)v0 + (u32)(-2147483647 - 1))) * (u32)v0)), v0));",
        "b_out[item] = (((v0 + i32(-2147483648)) * v0) / v0);",
      ]
    `);
  });
});

it('CUDA and OpenCL compare floats with 0 by their bits, since a compiler may take a maximum for the selection', () => {
  const relu = items('relu', { buffers: { x: rw(f32) } }, ({ item, buffers }) => {
    const x = buffers.x.at(item);
    buffers.x.set(item, select(x.gt(0), x, -0));
  });
  const line = (target: GpuTarget) => /b_x\[item\] = .*/.exec(text(relu, target))?.[0];
  expect(line('cuda')).toMatchInlineSnapshot(
    `"b_x[item] = ((__float_as_uint(v0) - 1 < 0x7f800000u) ? v0 : (-0x0.0000000000000p-1022f));"`,
  );
  expect(line('opencl')).toMatchInlineSnapshot(
    `"b_x[item] = ((as_uint(v0) - 1 < 0x7f800000u) ? v0 : (-0x0.0000000000000p-1022f));"`,
  );
});

it('complements on NVIDIA are instructions, since its assembler takes x for ~x where it knows x', () => {
  const complements = items('complements', { buffers: { x: rw(u32), y: rw(u64) } }, ({ item, buffers }) => {
    const [x, y] = [buffers.x.at(item), buffers.y.at(item)];
    buffers.x.set(item, x.not());
    buffers.y.set(item, y.not().and(y.add(1)));
    const others = [x.xor(0xffff_ffff), x.sub(x).sub(1).sub(x.add(2)), x.add(3).neg().sub(1)];
    for (const [i, other] of others.entries()) buffers.x.set(item.add(i), other);
  });
  for (const options of [{ target: 'cuda' }, { target: 'opencl', inlinePtx: true }] as const) {
    const { text: said } = lowerGpu(complements, options);
    expect(said).not.toContain('~');
    expect(said).toMatch(/u32 not_u32\(u32 a\) \{ u32 rest; asm\("sub.u32 %0, 0xffffffff, %1;"/);
    // a and not b, of columns 0xf0 and 0xcc
    expect(said).toMatch(/lop3\.b32 a0, a0, b0, c0, 0x30;/);
  }
  expect(lowerGpu(complements, { target: 'opencl' }).text).not.toContain('asm');
});

describe('a target rejects', () => {
  const refusal = (make: () => unknown): MillraceError => {
    try {
      make();
    } catch (error) {
      if (error instanceof MillraceError) return error;
      throw error;
    }
    throw new Error('lowering succeeded');
  };

  it('f64 on WGSL', () => {
    const kernel = items('doubles', { buffers: { out: rw(f64) } }, ({ item, buffers }) => buffers.out.set(item, 1.5));
    expect(refusal(() => lowerGpu(kernel, { target: 'wgsl' }))).toMatchObject({ code: 'device-capability' });
  });

  it.skipIf(isShort)('more statements than the budget', () => {
    const kernel = items('long', { buffers: { x: read(u32), out: rw(u32) } }, ({ item, buffers }) => {
      for (let i = 0; i < 2600; i++) buffers.out.set(item.add(i), buffers.x.at(item.add(i)));
    });
    for (const target of ['opencl', 'wgsl'] as const) {
      const error = refusal(() => lowerGpu(kernel, { target }));
      expect(error.code).toBe('kernel-budget');
      expect(error.message).toMatch(/kernel long has \d+ statements as \w+, the limit is 5000\n.*\n.*rolled variant/);
    }
    expect(lowerGpu(kernel, { target: 'cuda' }).statements).toBeGreaterThan(5000);
  });

  it('more near memory than the device has', () => {
    const kernel = tiles('big', { buffers: { out: rw(u64) } }, ({ near, each, sum, buffers }) => {
      const a = near(u64, 6000);
      each(6000, (i) => a.set(i, i.to(u64)));
      each(1, () => buffers.out.set(0, a.at(5)));
      sum(f32, 3, () => 1);
    });
    const error = refusal(() => lowerGpu(kernel, { target: 'opencl' }));
    expect(error).toMatchObject({ code: 'kernel-budget' });
    expect(error.message).toContain('48000 bytes of workgroup memory, the device has 32768');
    expect(lowerGpu(kernel, { target: 'cuda' }).shape).toMatchObject({ nearBytes: 48000, dynamicBytes: 0 });
    const wider = lowerGpu(
      tiles('wider', { buffers: { out: rw(u64) } }, ({ near, once, buffers }) => {
        const a = near(u64, 9000);
        once(() => a.set(0, 1n));
        once(() => buffers.out.set(0, a.at(0)));
      }),
      { target: 'cuda', nearLimit: 100_000 },
    );
    expect(wider.shape).toMatchObject({ nearBytes: 72000, dynamicBytes: 72000 });
    expect(wider.text).toContain('u64 *const near0 = (u64 *)(near_bytes + 0);');
  });

  it('workgroups that are not a power of two', () => {
    expect(refusal(() => lowerGpu(collatz, { target: 'cuda', workgroup: 48 })).code).toBe('kernel-budget');
  });
});

describe('the shape of a launch', () => {
  it('lists the bindings in order', () => {
    const shape = (target: GpuTarget) => lowerGpu(collatz, { target }).shape;
    const kinds = (target: GpuTarget) => shape(target).bindings.map(({ name, kind }) => `${name} ${kind}`);
    expect(kinds('cuda').join(', ')).toBe(
      'launch launch, counted counted, cancel cancel, status status, tables tables, x read, out rw, seen atomic, ring atomic',
    );
    expect(kinds('wgsl')).toEqual(kinds('cuda').filter((kind) => !kind.startsWith('counted')));
    expect([...shape('opencl').tables]).toEqual([1, 3]);
  });

  it('has sizes and parameters at the given offsets', () => {
    const { shape } = lowerGpu(collatz, { target: 'cuda' });
    const block = launchBlock(shape, { count: 2 ** 32, epoch: 7, bytes: [2 ** 33, 8, 4, 64] }, Uint32Array.of(5, 6));
    expect(block[LaunchHeader.last]).toBe(0xffff_ffff);
    expect(block[LaunchHeader.first]).toBe(0);
    expect(block[LaunchHeader.epoch]).toBe(7);
    expect([...block.slice(shape.launch.sizesAt, shape.launch.parametersAt)]).toEqual([0, 2, 8, 0, 4, 0, 64, 0]);
    expect([...block.slice(shape.launch.parametersAt)].slice(0, 2)).toEqual([5, 6]);
    expect(block.length % 4).toBe(0);
  });

  it('has large parameters in a buffer', () => {
    const kernel = items('many', { job: { x: [u32, 901] }, buffers: { out: rw(u32) } }, ({ item, job, buffers }) => {
      buffers.out.set(item, table(u32, job.x).at(item));
    });
    expect(lowerGpu(kernel, { target: 'cuda' }).shape.launch.byValue).toBe(false);
    expect(text(kernel, 'wgsl')).toContain('var<storage, read> launch: array<u32>;');
  });

  it('has a grid no larger than the work, folded for WebGPU', () => {
    const { shape } = lowerGpu(collatz, { target: 'wgsl', workgroup: 64 });
    expect(gridSize(shape, 1, 1000)).toBe(1);
    expect(gridSize(shape, 65, 1000)).toBe(2);
    expect(gridSize(shape, 2 ** 32, 1000)).toBe(1000);
    expect(foldGrid(65_535)).toEqual([65_535, 1]);
    const [x, y] = foldGrid(200_000);
    expect(x).toBeLessThanOrEqual(65_535);
    expect(x * y).toBeGreaterThanOrEqual(200_000);
  });
});

describe('a kernel lowered ahead', () => {
  const hash = () =>
    items('hash', { job: { from: u32 }, hit: { word: u32 } }, ({ job, index, emit }) => {
      const [first] = sha256.hash([job.from, index.lo]);
      when(first.lt(9), () => emit({ word: first }));
    });

  it('has the same text, and is lowered once', () => {
    const kernel = hash();
    lowerAhead(kernel, { target: 'cuda', pipes: 'nvidia' });
    const asked = { target: 'cuda', workgroup: 256, nearLimit: 200_000, pipes: 'nvidia', checked: false } as const;
    const lowered = lowerGpu(kernel, asked);
    expect(lowerGpu(kernel, asked) === lowered).toBe(true);
    expect(lowered.text).toBe(lowerGpu(hash(), asked).text);
  });

  const others: readonly GpuOptions[] = [
    { target: 'cuda', workgroup: 128 },
    { target: 'cuda', checked: true },
    { target: 'cuda', pipes: 'nvidia' },
    { target: 'cuda', hoist: false },
    { target: 'cuda', harness: 'queue' },
    { target: 'opencl' },
  ];
  it.each(others.slice(0, byTier(3, others.length)))('is not reused for %o', (options) => {
    const kernel = hash();
    lowerAhead(kernel, { target: 'cuda' });
    expect(lowerGpu(kernel, options).text).toBe(lowerGpu(hash(), options).text);
  });

  it('is not kept if it depends on the size of workgroup memory', () => {
    const kernel = items('near', { hit: { word: u32 } }, ({ index, emit }) => {
      emit({
        word: table(
          u32,
          Array.from({ length: 13_000 }, (_, i) => i),
        ).at(index.lo.and(15)),
      });
    });
    lowerAhead(kernel, { target: 'cuda' });
    expect(lowerGpu(kernel, { target: 'cuda' }).shape.nearBytes).toBe(0);
    expect(lowerGpu(kernel, { target: 'cuda', nearLimit: 100_000 }).shape.nearBytes).toBe(52_000);
  });
});
