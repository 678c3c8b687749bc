/**
 * Translates text with inline PTX to C, so that a test can run it without NVIDIA's hardware. Knows the instructions that our
 * native bodies use; throws for others. The text needs the types u32 and u64.
 */
export function ptxInC(text: string): string {
  return text.replace(/\basm\(([\s\S]*?)\);/g, (_, inside: string) => block(inside));
}

function block(inside: string): string {
  const [code = '', outputs = '', inputs = ''] = inside.split(/\n?\s*: (?=")/);
  const instructions = [...code.matchAll(/"([^"]*)"/g)]
    .map(([, line = '']) => line.replaceAll(/\\[nt]/g, ''))
    .join(' ');
  const operands = [...`${outputs}, ${inputs}`.matchAll(/"(=?)&?r"\((\w+)\)/g)].map(([, mark, value = '']) => ({
    isOutput: mark === '=',
    value,
  }));
  const statements = instructions
    .split(';')
    .map((part) => part.replaceAll(/[{}]/g, '').trim())
    .filter((part) => part !== '')
    .map(statement);
  return [
    `{ u32 flag = 0; ${operands.map(({ isOutput, value }, i) => `u32 o${i} = ${isOutput ? '0' : value};`).join(' ')}`,
    ...statements,
    `${operands.map(({ isOutput, value }, i) => (isOutput ? `${value} = o${i};` : '')).join(' ')} }`,
  ].join('\n');
}

function statement(text: string): string {
  const declared = /^\.reg \.(?:u32|pred) (.*)$/.exec(text)?.[1];
  if (declared !== undefined) return `u32 ${declared.split(',').map((name) => `${operand(name)} = 0`)};`;
  const [, when, op = '', rest = ''] = /^(?:@(\w+) )?(\S+) (.*)$/.exec(text) ?? [];
  const [to = '', ...from] = rest.split(',').map(operand);
  return `${when === undefined ? '' : `if (${operand(when)}) `}${effect(op, to, from)}`;
}

const operand = (name: string): string => {
  const trimmed = name.trim();
  if (trimmed.startsWith('%')) return `o${trimmed.slice(1)}`;
  return /^\d/.test(trimmed) ? `${trimmed}u` : `r_${trimmed}`;
};

function effect(op: string, to: string, [x = '', y = '', z = '']: readonly string[]): string {
  const [name = '', ...marks] = op.split('.');
  const wide = (value: string): string =>
    `{ const u64 w = ${value}; ${to} = (u32)w; ${marks.includes('cc') ? 'flag = (w >> 32) != 0;' : ''} }`;
  const carry = (sign: string): string => (name.endsWith('c') ? ` ${sign} flag` : '');
  const product = marks.includes('hi') ? `((u64)${x} * ${y} >> 32)` : `(u64)(u32)(${x} * ${y})`;
  if (/^madc?$/.test(name)) return wide(`${product} + ${z}${carry('+')}`);
  if (/^addc?$/.test(name)) return wide(`(u64)${x} + ${y}${carry('+')}`);
  if (/^subc?$/.test(name)) return wide(`(u64)${x} - ${y}${carry('-')}`);
  const others: Readonly<Record<string, string>> = {
    'mul.lo.u32': `${x} * ${y}`,
    'and.b32': `${x} & ${y}`,
    'shf.l.wrap.b32': `(u32)(((u64)${y} << 32 | ${x}) << (${z} & 31) >> 32)`,
    'setp.ne.u32': `${x} != ${y}`,
    'setp.lt.s32': `(int)${x} < (int)${y}`,
    'selp.b32': `${z} ? ${x} : ${y}`,
    'bfind.u32': `${x} ? 31u - (u32)__builtin_clz(${x}) : ~0u`,
  };
  const value = others[op];
  if (value === undefined) throw new Error(`no C for ${op}`);
  return `${to} = ${value};`;
}
