// The lines of a recording: asciicast v2, which asciinema and others play.
// Source: https://docs.asciinema.org/manual/asciicast/v2/

import { StringDecoder } from "node:string_decoder";

/** "m" is a marker: a note of the server. */
export type AsciicastCode = "o" | "i" | "r" | "m";

export type AsciicastHeader = {
  /** Seconds since the epoch. */
  readonly timestamp: number;
  readonly title: string;
  readonly command?: string | undefined;
};

/** Of terminals whose size is not known. */
const DEFAULT_SIZE = { width: 80, height: 24 };
const MICROSECONDS = 1_000_000;

export type TerminalSize = { readonly width: number; readonly height: number };

export const headerLine = (header: AsciicastHeader, size: TerminalSize = DEFAULT_SIZE): string =>
  `${JSON.stringify({ version: 2, ...size, ...header })}\n`;

/** `ms`: since the beginning of the session. */
export const eventLine = (ms: number, code: AsciicastCode, text: string): string =>
  `${JSON.stringify([Math.round((ms * MICROSECONDS) / 1000) / MICROSECONDS, code, text])}\n`;

/** Makes texts of bytes whose characters are cut anywhere. Bytes that are no UTF-8 become U+FFFD. */
export class ChannelText {
  readonly #decoder = new StringDecoder("utf8");

  read(bytes: Uint8Array): string {
    return this.#decoder.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  }

  /** The rest of a cut character. */
  end(): string {
    return this.#decoder.end();
  }
}
