// Writes the recording of one session: gathers its events, and bounds what waits for the disk.

import { asError } from "@postern/apimachinery/steps/caught";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { type AsciicastCode, type AsciicastHeader, eventLine, headerLine, type TerminalSize } from "./asciicast.ts";
import type { OpenRecording } from "./recordings-directory.ts";

/** Why a recording is not whole. */
export type RecordingFaultReason = "SizeLimit" | "WriteFailed" | "DiskTooSlow" | "UnreadableStream";

export class RecordingFault extends Error {
  override readonly name = "RecordingFault";
  readonly reason: RecordingFaultReason;

  constructor(reason: RecordingFaultReason, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** A crash loses at most the events of this time. */
const FLUSH_MS = 250;
/** In characters. */
const FLUSH_LENGTH = 64 << 10;
const MAX_WAITING_LENGTH = 1 << 20;
/** A disk that takes nothing for this long holds a session up no longer. */
const MAX_WAIT_MS = 10_000;

export type RecorderOptions = {
  readonly recording: OpenRecording;
  readonly header: AsciicastHeader;
  readonly maxBytes: number;
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
  #waiting: string[] = [];
  #waitingLength = 0;
  #writing: Promise<void> | undefined;
  #timer: Disposable | undefined;
  #hasHeader = false;
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

  fail(fault: RecordingFault): void {
    this.#fault ??= fault;
  }

  /**
   * After each piece of the session: undefined where more may follow at once, otherwise resolves when the disk has taken enough. Throws and rejects with
   * the RecordingFault with which the recording ends.
   */
  settle(): Promise<void> | undefined {
    if (this.#fault !== undefined) throw this.#fault;
    if (this.#options.recording.writer.size + this.#waitingLength > this.#options.maxBytes) {
      this.fail(new RecordingFault("SizeLimit", "the recording has reached its largest size"));
      throw this.#fault;
    }
    if (this.#waitingLength >= FLUSH_LENGTH) this.#flushSoon();
    return this.#waitingLength > MAX_WAITING_LENGTH ? this.#untilWritten() : undefined;
  }

  /** Once, when the session has ended. Never rejects. */
  async finish(): Promise<FinishedRecording> {
    this.#timer?.[Symbol.dispose]();
    const { recording } = this.#options;
    const { writer } = recording;
    try {
      this.#begin();
      const why =
        this.#fault === undefined ? "" : eventLine(this.#elapsed(), "m", `recording ended: ${this.#fault.message}`);
      this.#append(why);
      await this.#flush();
      if (this.#isBroken()) return { sha256: await writer.abandon(), fault: this.#fault };
      const sha256 = await writer.finish();
      await recording.complete();
      return { sha256, fault: this.#fault };
    } catch (error) {
      this.#writeFailed(error);
      return { sha256: await writer.abandon().catch(() => ""), fault: this.#fault };
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
    this.#waiting.push(line);
    this.#waitingLength += line.length;
    this.#timer ??= this.#options.runtime.scheduler.schedule(FLUSH_MS, () => {
      this.#timer = undefined;
      this.#flushSoon();
    });
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
      this.#waitingLength -= text.length;
    }
  }

  #writeFailed(error: unknown): void {
    this.fail(new RecordingFault("WriteFailed", "the recording cannot be written", asError(error)));
  }

  async #untilWritten(): Promise<void> {
    const { scheduler } = this.#options.runtime;
    let timer: Disposable | undefined;
    const late = new Promise<void>((resolve) => {
      timer = scheduler.schedule(MAX_WAIT_MS, () => {
        this.fail(new RecordingFault("DiskTooSlow", "the disk takes the recording too slowly"));
        resolve();
      });
    });
    await Promise.race([this.#flush(), late]);
    timer?.[Symbol.dispose]();
    if (this.#fault !== undefined) throw this.#fault;
  }
}
