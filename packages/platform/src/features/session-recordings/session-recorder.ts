// Writes the recording of one session: gathers its events, and bounds what waits for the disk.

import { asError } from "@postern/apimachinery/steps/caught";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { type AsciicastCode, type AsciicastHeader, eventLine, headerLine, type TerminalSize } from "./asciicast.ts";
import { RecordingsFullError } from "./recording-file.ts";
import type { OpenRecording } from "./recordings-directory.ts";

/** Why a recording is not whole. */
export type RecordingFaultReason = "SizeLimit" | "TotalLimit" | "WriteFailed" | "DiskTooSlow" | "UnreadableStream";

export class RecordingFault extends Error {
  override readonly name = "RecordingFault";
  readonly reason: RecordingFaultReason;

  constructor(reason: RecordingFaultReason, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** A crash loses at most the events of this time, where they need not be written first. */
const FLUSH_MS = 250;
const FLUSH_BYTES = 64 << 10;
const MAX_WAITING_BYTES = 1 << 20;
/** A disk that takes nothing for this long holds a session up no longer. */
const MAX_WAIT_MS = 10_000;

export type RecorderOptions = {
  readonly recording: OpenRecording;
  readonly header: AsciicastHeader;
  readonly maxBytes: number;
  /** Whether a piece of the session must be in the file before it is shown. */
  readonly isRequired: boolean;
  readonly runtime: Pick<Runtime, "clock" | "scheduler">;
};

export type FinishedRecording = {
  readonly sha256: string;
  /** Undefined: it is whole. */
  readonly fault: RecordingFault | undefined;
};

export class SessionRecorder {
  readonly #options: RecorderOptions;
  readonly #startedAt: number;
  /** Not settled: the session has not shown it. */
  #offered: string[] = [];
  #offeredBytes = 0;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #writing: Promise<void> | undefined;
  #timer: Disposable | undefined;
  #hasHeader = false;
  /** Whether anything is, or will be, written. */
  #isTaken = false;
  #fault: RecordingFault | undefined;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#startedAt = options.runtime.clock.elapsed();
  }

  get fault(): RecordingFault | undefined {
    return this.#fault;
  }

  add(code: AsciicastCode, text: string): void {
    if (text === "" || this.#fault !== undefined) return;
    this.#begin();
    this.#append(eventLine(this.#elapsed(), code, text));
  }

  /** The first size, before any output, is that of the header. */
  resize(size: TerminalSize): void {
    if (this.#hasHeader) this.add("r", `${size.width}x${size.height}`);
    else this.#begin(size);
  }

  /** Drops what is not settled: the session does not show it where recording is required. */
  fail(fault: RecordingFault): void {
    this.#fault ??= fault;
    this.#offered = [];
    this.#offeredBytes = 0;
    this.#hasHeader = this.#isTaken;
  }

  /**
   * After each piece of the session, before it is shown: undefined where that may be at once, otherwise resolves when the disk has taken enough. Throws and rejects with
   * the RecordingFault with which the recording ends.
   */
  settle(): Promise<void> | undefined {
    if (this.#fault !== undefined) throw this.#fault;
    const { recording, maxBytes } = this.#options;
    const bytes = this.#waitingBytes + this.#offeredBytes;
    if (recording.writer.size + bytes > maxBytes) {
      this.fail(new RecordingFault("SizeLimit", "the recording has reached its largest size"));
      throw this.#fault;
    }
    const reserved = recording.writer.reserve(bytes);
    return reserved === undefined ? this.#go() : this.#whenReserved(reserved);
  }

  async #whenReserved(reserved: Promise<void>): Promise<void> {
    try {
      await this.#inTime(reserved);
    } catch (error) {
      if (!(error instanceof RecordingsFullError)) this.#writeFailed(error);
      this.fail(new RecordingFault("TotalLimit", "there is no more room for recordings"));
    }
    if (this.#fault !== undefined) throw this.#fault;
    await this.#go();
  }

  #go(): Promise<void> | undefined {
    this.#take();
    if (this.#waitingBytes >= FLUSH_BYTES) this.#flushSoon();
    const most = this.#options.isRequired ? 0 : MAX_WAITING_BYTES;
    return this.#waitingBytes > most ? this.#untilWritten() : undefined;
  }

  /** Offered lines may be written from here on. */
  #take(): void {
    if (this.#offered.length === 0) return;
    this.#isTaken = true;
    this.#waiting.push(...this.#offered);
    this.#waitingBytes += this.#offeredBytes;
    this.#offered = [];
    this.#offeredBytes = 0;
    this.#timer ??= this.#options.runtime.scheduler.schedule(FLUSH_MS, () => {
      this.#timer = undefined;
      this.#flushSoon();
    });
  }

  /** Once, when the session has ended. Never rejects. */
  async finish(): Promise<FinishedRecording> {
    const { recording } = this.#options;
    const { writer } = recording;
    try {
      this.#begin();
      const why =
        this.#fault === undefined ? "" : eventLine(this.#elapsed(), "m", `recording ended: ${this.#fault.message}`);
      this.#append(why);
      this.#take();
      this.#timer?.[Symbol.dispose]();
      await this.#flush();
      if (this.#isBroken()) return { sha256: await writer.abandon(), fault: this.#fault };
      const sha256 = await writer.finish();
      await recording.complete();
      return { sha256, fault: this.#fault };
    } catch (error) {
      this.#writeFailed(error);
      return { sha256: await writer.abandon().catch(() => ""), fault: this.#fault };
    } finally {
      recording.end();
    }
  }

  #isBroken(): boolean {
    return this.#fault?.reason === "WriteFailed" || this.#fault?.reason === "DiskTooSlow";
  }

  #begin(size?: TerminalSize): void {
    if (this.#hasHeader) return;
    this.#hasHeader = true;
    this.#append(headerLine(this.#options.header, size));
  }

  #elapsed(): number {
    return this.#options.runtime.clock.elapsed() - this.#startedAt;
  }

  #append(line: string): void {
    if (line === "") return;
    this.#offered.push(line);
    this.#offeredBytes += Buffer.byteLength(line);
  }

  #flushSoon(): void {
    void this.#flush();
  }

  /** Resolves when all that waits now is written, or cannot be. Never rejects. */
  async #flush(): Promise<void> {
    while (this.#waiting.length > 0 || this.#writing !== undefined) {
      this.#writing ??= this.#writeWaiting().finally(() => {
        this.#writing = undefined;
      });
      await this.#writing;
    }
  }

  async #writeWaiting(): Promise<void> {
    const text = this.#waiting.join("");
    this.#waiting = [];
    try {
      if (!this.#isBroken()) await this.#options.recording.writer.write(text);
    } catch (error) {
      this.#writeFailed(error);
    } finally {
      this.#waitingBytes -= Buffer.byteLength(text);
    }
  }

  #writeFailed(error: unknown): void {
    this.fail(new RecordingFault("WriteFailed", "the recording cannot be written", asError(error)));
  }

  async #untilWritten(): Promise<void> {
    await this.#inTime(this.#flush());
    if (this.#fault !== undefined) throw this.#fault;
  }

  /** Resolves at last when the disk is too slow, with that fault. */
  async #inTime(work: Promise<void>): Promise<void> {
    const { scheduler } = this.#options.runtime;
    let timer: Disposable | undefined;
    const late = new Promise<void>((resolve) => {
      timer = scheduler.schedule(MAX_WAIT_MS, () => {
        this.fail(new RecordingFault("DiskTooSlow", "the disk takes the recording too slowly"));
        resolve();
      });
    });
    try {
      await Promise.race([work, late]);
    } finally {
      timer?.[Symbol.dispose]();
    }
  }
}
