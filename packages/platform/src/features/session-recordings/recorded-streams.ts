// Records what passes between a client and the container that it has a session in, and ends the session where it must not go on unrecorded.
// Source: k8s.io/client-go/tools/remotecommand/websocket.go, k8s.io/apiserver/pkg/util/wsstream

import type { IncomingHttpHeaders } from "node:http";
import { Transform, type TransformCallback } from "node:stream";
import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { ApiError } from "@postern/apimachinery/meta/api-error";
import { asError } from "@postern/apimachinery/steps/caught";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import type { StreamTap, TappedStreams } from "../proxy/stream-tap.ts";
import { ChannelText, type TerminalSize } from "./asciicast.ts";
import { FrameFault, FrameReader, type MessagePart } from "./frame-reader.ts";
import { RecordingFault, type SessionRecorder } from "./session-recorder.ts";

/** Each message of these begins with the number of its channel. Clients that ask for none speak the first one. */
const PROTOCOLS: readonly string[] = ["channel.k8s.io", "v4.channel.k8s.io", "v5.channel.k8s.io"];
const PROTOCOL_OF_NONE = "channel.k8s.io";
const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;
const ERROR = 3;
const RESIZE = 4;

/** Sizes and statuses are read whole. */
const MAX_DOCUMENT_BYTES = 16 << 10;
/** The rest of a frame that the client has begun to read, which we complete with zeros to say why the session ends. */
const MAX_PADDING = 1 << 20;
/** How long a client may take to close the connection after that. */
const CLOSE_TIMEOUT_MS = 5_000;

export type RecordedStreamsOptions = {
  readonly recorder: SessionRecorder;
  /** Whether the session ends with its recording. */
  readonly isRequired: boolean;
  readonly input: boolean;
  /** Whether the client asked for subprotocols. */
  readonly asksForProtocol: boolean;
  readonly scheduler: Scheduler;
  /** Called once, when both sides are closed. Never rejects. */
  readonly onEnd: () => Promise<void>;
};

/** Why a session cannot be recorded that is no WebSocket of these protocols. */
export const unrecordedProtocolError = (): ApiError =>
  new ApiError({
    code: 403,
    reason: "Forbidden",
    message:
      "forbidden: sessions here must be recorded, which takes a WebSocket with the protocol v4.channel.k8s.io or v5.channel.k8s.io: use kubectl 1.31 or later, and a cluster that accepts WebSockets",
    details: { causes: [{ reason: "RecordingRequired", message: "the session cannot be recorded" }] },
  });

export class RecordedStreams implements StreamTap {
  readonly #options: RecordedStreamsOptions;
  readonly #texts = new Map([STDIN, STDOUT, STDERR].map((channel) => [channel, new ChannelText()]));
  readonly #fromTarget: RecordedDirection;
  readonly #fromClient: RecordedDirection;
  #isRecording = true;
  /** The client knows why the session ends, and gets nothing more. */
  #isOver = false;
  #closing: Disposable | undefined;

  constructor(options: RecordedStreamsOptions) {
    this.#options = options;
    const recorded = options.input ? [STDIN, STDOUT, STDERR] : [STDOUT, STDERR];
    const take = (channel: number, part: Uint8Array): void => {
      if (!recorded.includes(channel)) return;
      options.recorder.add(channel === STDIN ? "i" : "o", this.#texts.get(channel)?.read(part) ?? "");
    };
    const onDocument = (channel: number, text: string): void => {
      if (channel === RESIZE) this.#resize(text);
      else options.recorder.add("m", exitOf(text));
    };
    const pass = (direction: RecordedDirection, chunk: Buffer, done: TransformCallback): void =>
      this.#pass(direction, chunk, done);
    this.#fromTarget = new RecordedDirection({ masked: false, documents: [ERROR], take, onDocument, pass });
    this.#fromClient = new RecordedDirection({ masked: true, documents: [RESIZE], take, onDocument, pass });
  }

  begin(headers: IncomingHttpHeaders): TappedStreams {
    const protocol = headers["sec-websocket-protocol"] ?? (this.#options.asksForProtocol ? "" : PROTOCOL_OF_NONE);
    if (!PROTOCOLS.includes(protocol) || headers["sec-websocket-extensions"] !== undefined) {
      if (this.#options.isRequired) throw unrecordedProtocolError();
      this.#stop(new RecordingFault("UnreadableStream", "the protocol of the session is not recorded"));
    }
    return { fromClient: this.#fromClient.stream, fromTarget: this.#fromTarget.stream };
  }

  async end(): Promise<void> {
    this.#closing?.[Symbol.dispose]();
    for (const [channel, text] of this.#texts) {
      if (channel !== STDIN || this.#options.input)
        this.#options.recorder.add(channel === STDIN ? "i" : "o", text.end());
    }
    await this.#options.onEnd();
  }

  /** A piece is passed on when it was recorded. */
  #pass(direction: RecordedDirection, chunk: Buffer, done: TransformCallback): void {
    /** Pieces that come after the session has ended are dropped. */
    const goOn = (): void => {
      if (this.#isOver) done();
      else done(null, chunk);
    };
    const passed = (): void => {
      if (!this.#isOver) direction.passed();
      goOn();
    };
    const failed = (error: unknown): void => {
      this.#stop(faultOf(error));
      goOn();
    };
    if (!this.#isRecording) {
      goOn();
      return;
    }
    try {
      direction.read(chunk);
      const settled = this.#options.recorder.settle();
      if (settled === undefined) passed();
      else void settled.then(passed, failed);
    } catch (error) {
      failed(error);
    }
  }

  #stop(fault: RecordingFault): void {
    this.#isRecording = false;
    this.#options.recorder.fail(fault);
    if (!this.#options.isRequired || this.#isOver) return;
    this.#isOver = true;
    const { stream } = this.#fromTarget;
    stream.push(this.#fromTarget.farewell(this.#options.recorder.fault ?? fault));
    this.#closing = this.#options.scheduler.schedule(CLOSE_TIMEOUT_MS, () => void stream.destroy());
  }

  #resize(text: string): void {
    const size = sizeOf(text);
    if (size !== undefined) this.#options.recorder.resize(size);
  }
}

type DirectionOptions = {
  readonly masked: boolean;
  /** Channels whose messages are read whole. */
  readonly documents: readonly number[];
  readonly take: (channel: number, part: Uint8Array) => void;
  readonly onDocument: (channel: number, text: string) => void;
  readonly pass: (direction: RecordedDirection, chunk: Buffer, done: TransformCallback) => void;
};

/** One direction of a session. */
class RecordedDirection {
  readonly stream: Transform;
  readonly #options: DirectionOptions;
  readonly #reader: FrameReader;
  #channel: number | undefined;
  #document = "";
  /** Where in its frames the other side is. */
  #place = { isBetween: true, endsMessage: true, left: 0 };

  constructor(options: DirectionOptions) {
    this.#options = options;
    this.#reader = new FrameReader({ masked: options.masked, onPart: (part) => this.#part(part) });
    this.stream = new Transform({
      transform: (chunk: Buffer, _encoding, done) => options.pass(this, chunk, done),
    });
  }

  /** Throws FrameFault. */
  read(chunk: Buffer): void {
    this.#reader.read(chunk);
  }

  /** All that was read is on its way. */
  passed(): void {
    const { isBetweenMessages: isBetween, endsMessage, bytesLeft: left = 0 } = this.#reader;
    this.#place = { isBetween, endsMessage, left };
  }

  /** The bytes with which the client learns why, and closes. Empty where it would not understand them. */
  farewell(fault: RecordingFault): Buffer {
    const { isBetween, endsMessage, left } = this.#place;
    if (isBetween) return farewellOf(fault);
    if (!endsMessage || left === 0 || left > MAX_PADDING) return Buffer.alloc(0);
    return Buffer.concat([Buffer.alloc(left), farewellOf(fault)]);
  }

  #part({ bytes, isFirst, isLast }: MessagePart): void {
    const { take, onDocument, documents } = this.#options;
    if (isFirst) {
      this.#channel = undefined;
      this.#document = "";
    }
    let content = bytes;
    if (this.#channel === undefined && bytes.length > 0) {
      this.#channel = bytes[0];
      content = bytes.subarray(1);
    }
    const channel = this.#channel;
    if (channel === undefined) return;
    if (!documents.includes(channel)) {
      take(channel, content);
      return;
    }
    if (this.#document.length < MAX_DOCUMENT_BYTES) this.#document += Buffer.from(content).toString("latin1");
    if (isLast) onDocument(channel, Buffer.from(this.#document, "latin1").toString("utf8"));
  }
}

function faultOf(error: unknown): RecordingFault {
  if (error instanceof RecordingFault) return error;
  if (error instanceof FrameFault) return new RecordingFault("UnreadableStream", error.message, error);
  return new RecordingFault("UnreadableStream", "the session cannot be read", asError(error));
}

function farewellOf({ reason, message }: RecordingFault): Buffer {
  const status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: `sessions here must be recorded, and the session was ended: ${message}`,
    reason: "Forbidden",
    details: { causes: [{ reason, message }] },
    code: 403,
  };
  const payload = Buffer.concat([Buffer.from([ERROR]), Buffer.from(JSON.stringify(status))]);
  return Buffer.concat([frame(BINARY, payload), frame(CLOSE, NORMAL_CLOSURE)]);
}

const BINARY = 2;
const CLOSE = 8;
/** 1000. */
const NORMAL_CLOSURE = Buffer.from([0x03, 0xe8]);

function frame(opcode: number, payload: Buffer): Buffer {
  const isLong = payload.length > 125;
  const head = Buffer.alloc(isLong ? 4 : 2);
  head[0] = 0x80 | opcode;
  head[1] = isLong ? 126 : payload.length;
  if (isLong) head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload]);
}

/** As client-go sends it. A terminal without a window, such as that of a job, is 0 x 0: players refuse it. */
function sizeOf(text: string): TerminalSize | undefined {
  const document = parsed(text);
  if (!isJsonObject(document)) return undefined;
  const { Width: width, Height: height } = document;
  return isLength(width) && isLength(height) ? { width, height } : undefined;
}

const isLength = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0;

/** How the command ended, of the Status that says it. */
function exitOf(text: string): string {
  const document = parsed(text);
  if (!isJsonObject(document)) return "";
  const { status, message } = document;
  if (status === "Success") return "command ended: exit status 0";
  return typeof message === "string" ? message : "command failed";
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
