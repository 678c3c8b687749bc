/**
 * Reads JSON in which whole numbers may be larger than doubles hold exactly, 2^53: one of 16 digits or more becomes the text
 * of its digits, as if it had stood in quotes. All else is as `JSON.parse` has it.
 */
export function parseExact(text: string): unknown {
  let exact = '';
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at);
    const outside = quote < 0 ? text.length : quote;
    exact += text.slice(at, outside).replace(LONG_NUMBER, '"$&"');
    at = quote < 0 ? text.length : endOfText(text, quote);
    exact += text.slice(outside, at);
  }
  return JSON.parse(exact);
}

/** 2^53 has 16 digits. Signs, fractions and powers of ten are left as they are. */
const LONG_NUMBER = /(?<![\d.eE+-])\d{16,}(?![\d.eE])/g;

/** Behind the quote that ends the text that begins there; behind everything where none does. */
function endOfText(text: string, quote: number): number {
  for (let end = text.indexOf('"', quote + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === '\\') slashes++;
    // An even number of them are backslashes themselves.
    if (slashes % 2 === 0) return end + 1;
  }
  return text.length;
}
