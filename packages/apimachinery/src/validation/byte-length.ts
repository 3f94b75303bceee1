// Limits of Kubernetes count UTF-8 bytes, while JavaScript counts UTF-16 units.

/** Bytes of the text in UTF-8, counted without encoding it. A lone surrogate counts as U+FFFD, 3 bytes. */
export function byteLength(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    bytes += unit < 0x800 || isSurrogatePairAt(text, index) ? 1 : 2;
    if (isSurrogatePairAt(text, index)) {
      bytes += 1;
      index++;
    }
  }
  return bytes;
}

const isSurrogatePairAt = (text: string, index: number): boolean => (text.codePointAt(index) ?? 0) > 0xffff;
