// Reads the messages of a WebSocket from its bytes as they pass, without holding them.
// Source: RFC 6455, section 5

/** A frame that no WebSocket may send, or that only an extension would understand: what a peer makes of it is not known. */
export class FrameFault extends Error {
  override readonly name = "FrameFault";
}

/** A part of a message, in the order of its bytes. A message has at least one part, which may be empty. */
export type MessagePart = { readonly bytes: Uint8Array; readonly isFirst: boolean; readonly isLast: boolean };

/** `masked`: from a client. Parts are valid until the next call. */
export type FrameReaderOptions = { readonly masked: boolean; readonly onPart: (part: MessagePart) => void };

const CONTINUATION = 0;
const FIRST_CONTROL = 8;
const CLOSE = 8;
const OPCODES: ReadonlySet<number> = new Set([0, 1, 2, 8, 9, 10]);
const MAX_CONTROL_BYTES = 125;
const MAX_HEAD_BYTES = 14;
const MASK_BYTES = 4;

export class FrameReader {
  readonly #options: FrameReaderOptions;
  /** The part of a head that has come. */
  readonly #head = Buffer.alloc(MAX_HEAD_BYTES);
  #headLength = 0;
  #mask: Uint8Array | undefined;
  #maskAt = 0;
  #left = 0;
  #isFinal = true;
  #isControl = false;
  #isInMessage = false;
  #isFirstPart = false;
  #isClosed = false;

  constructor(options: FrameReaderOptions) {
    this.#options = options;
  }

  /** Bytes that belong to the frame which has begun; undefined between frames, and within the head of one. */
  get bytesLeft(): number | undefined {
    return this.#left > 0 ? this.#left : undefined;
  }

  /** Whether a frame of our own may follow: no head and no message has begun. */
  get isBetweenMessages(): boolean {
    return this.#headLength === 0 && this.#left === 0 && !this.#isInMessage;
  }

  /** Whether the end of the frame that has begun is the end of its message, or of none. */
  get endsMessage(): boolean {
    return this.#isControl ? !this.#isInMessage : this.#isFinal;
  }

  /** Throws FrameFault; the reader cannot be used afterwards. */
  read(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#left === 0) {
        at = this.#readHead(chunk, at);
        continue;
      }
      const end = Math.min(chunk.length, at + this.#left);
      this.#left -= end - at;
      if (this.#isControl) this.#maskAt = 0;
      else this.#part(this.#plain(chunk.subarray(at, end)));
      at = end;
    }
  }

  /** The place behind what was read. */
  #readHead(chunk: Uint8Array, from: number): number {
    let at = from;
    while (at < chunk.length) {
      this.#head[this.#headLength++] = chunk[at++] ?? 0;
      if (this.#headLength === this.#headBytes()) {
        this.#beginFrame();
        return at;
      }
    }
    return at;
  }

  /** As far as the head says already. */
  #headBytes(): number {
    if (this.#headLength < 2) return 2;
    const length = (this.#head[1] ?? 0) & 0x7f;
    const extended = length === 127 ? 8 : length === 126 ? 2 : 0;
    return 2 + extended + (this.#options.masked ? MASK_BYTES : 0);
  }

  #beginFrame(): void {
    const head = this.#head;
    const [first = 0, second = 0] = head;
    const opcode = first & 0x0f;
    if (this.#isClosed) throw new FrameFault("a frame follows the close of the connection");
    if ((first & 0x70) !== 0) throw new FrameFault("a frame has reserved bits");
    if (!OPCODES.has(opcode)) throw new FrameFault("a frame has a reserved opcode");
    if (second >> 7 !== (this.#options.masked ? 1 : 0)) throw new FrameFault("a frame has the wrong masking");
    const short = second & 0x7f;
    const length = short === 127 ? Number(head.readBigUInt64BE(2)) : short === 126 ? head.readUInt16BE(2) : short;
    if (length > Number.MAX_SAFE_INTEGER) throw new FrameFault("a frame is too long");
    const isFinal = (first & 0x80) !== 0;
    this.#isControl = opcode >= FIRST_CONTROL;
    if (this.#isControl) {
      if (!isFinal || length > MAX_CONTROL_BYTES) throw new FrameFault("a control frame is too long, or not whole");
      this.#isClosed = opcode === CLOSE;
    } else {
      if ((opcode === CONTINUATION) !== this.#isInMessage)
        throw new FrameFault("messages are not one behind the other");
      this.#isFirstPart ||= opcode !== CONTINUATION;
      this.#isInMessage = true;
      this.#isFinal = isFinal;
    }
    this.#mask = this.#options.masked
      ? Uint8Array.from(head.subarray(this.#headLength - MASK_BYTES, this.#headLength))
      : undefined;
    this.#maskAt = 0;
    this.#headLength = 0;
    this.#left = length;
    if (length === 0 && !this.#isControl) this.#part(NO_BYTES);
  }

  #part(bytes: Uint8Array): void {
    const isLast = this.#isFinal && this.#left === 0;
    const isFirst = this.#isFirstPart;
    this.#isFirstPart = false;
    if (isLast) this.#isInMessage = false;
    this.#options.onPart({ bytes, isFirst, isLast });
  }

  #plain(bytes: Uint8Array): Uint8Array {
    const mask = this.#mask;
    if (mask === undefined) return bytes;
    const plain = new Uint8Array(bytes.length);
    for (let index = 0; index < bytes.length; index++) {
      plain[index] = (bytes[index] ?? 0) ^ (mask[(this.#maskAt + index) & 3] ?? 0);
    }
    this.#maskAt = (this.#maskAt + bytes.length) & 3;
    return plain;
  }
}

const NO_BYTES = new Uint8Array(0);
