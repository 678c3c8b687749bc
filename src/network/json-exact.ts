/**
 * Parses JSON that may contain integers beyond 2^53, which doubles do not hold exactly: an integer of 16 digits or more
 * becomes the text of its digits, as if it were quoted. Otherwise like `JSON.parse`.
 */
export function parseExact(text: string): unknown {
  let exact = '';
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at);
    const outside = quote < 0 ? text.length : quote;
    exact += text.slice(at, outside).replace(LONG_NUMBER, '"$&"');
    at = quote < 0 ? text.length : endOfString(text, quote);
    exact += text.slice(outside, at);
  }
  return JSON.parse(exact);
}

/** 2^53 has 16 digits. Numbers with a sign, fraction or exponent are unchanged. */
const LONG_NUMBER = /(?<![\d.eE+-])\d{16,}(?![\d.eE])/g;

/**
 * Returns the position after the closing quote of the string that starts at `quote`; the end of the text if there is
 * none.
 */
function endOfString(text: string, quote: number): number {
  for (let end = text.indexOf('"', quote + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === '\\') slashes++;
    // An even number of backslashes are escaped backslashes, so the quote is not escaped.
    if (slashes % 2 === 0) return end + 1;
  }
  return text.length;
}
