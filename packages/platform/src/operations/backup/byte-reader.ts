// Reads a stream of bytes in pieces of a requested length.

export type ByteReader = {
  /** Fewer bytes than asked for only where the stream ends. */
  read(length: number): Promise<Uint8Array>;
};

export function createByteReader(source: AsyncIterable<Uint8Array>): ByteReader {
  const iterator = source[Symbol.asyncIterator]();
  let pieces: Uint8Array[] = [];
  let buffered = 0;
  return {
    async read(length) {
      while (buffered < length) {
        const next = await iterator.next();
        if (next.done === true) break;
        pieces.push(next.value);
        buffered += next.value.length;
      }
      const all = Buffer.concat(pieces);
      const taken = all.subarray(0, length);
      pieces = [all.subarray(taken.length)];
      buffered = all.length - taken.length;
      return taken;
    },
  };
}
