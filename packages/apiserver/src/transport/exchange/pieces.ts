// Bytes of a body that were not read yet. A client may send a byte at a time, and each piece is an object of some hundred bytes: many are copied into one.

const MAX_PIECES = 256;

export class Pieces {
  #list: Buffer[] = [];
  /** How many entries of the list, from its start, are joined pieces. */
  #merged = 0;

  add(piece: Buffer): void {
    this.#list.push(piece);
    if (this.#list.length - this.#merged < MAX_PIECES) return;
    this.#merged = this.#list.push(Buffer.concat(this.#list.splice(this.#merged)));
  }

  /** All of them in one, which are none of these any more. */
  take(): Buffer {
    const list = this.#list;
    this.#list = [];
    this.#merged = 0;
    const [first] = list;
    return list.length === 1 && first !== undefined ? first : Buffer.concat(list);
  }
}
