// Sends the events of a watch as WebSocket messages, for browsers.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/watch.go (HandleWS)

import type { IncomingMessage } from "node:http";
import { badRequestError } from "@postern/apimachinery/meta/api-error";
import { caught } from "@postern/apimachinery/steps/caught";
import { type WebSocket, WebSocketServer } from "ws";
import { webSocketProtocols } from "../../request/credentials.ts";
import type { ApiRequest, UpgradeRequest } from "../../transport/api-request.ts";
import { type ApiResponse, type ByteSink, PeerFault, type ResponseBody } from "../../transport/api-response.ts";
import { PartedSocket } from "../../transport/backpressure/parted-socket.ts";
import { discardResponse } from "../../transport/discard-response.ts";
import type { OutputFormat } from "../negotiation/negotiate-output.ts";

type StreamRun = Extract<ResponseBody, { readonly type: "stream" }>["run"];

/** How long a client may take to confirm the close. */
const CLOSE_TIMEOUT_MS = 2_000;
/** Clients send nothing but control frames. */
const MAX_MESSAGE_BYTES = 4096;

/**
 * The upgrade a request asks for, where it is one to a WebSocket.
 * @throws ApiError 400 when the client leaves the choice of a subprotocol to the server
 */
export function webSocketUpgrade(request: ApiRequest): UpgradeRequest | undefined {
  const { upgrade } = request;
  if (upgrade?.protocol.toLowerCase() !== "websocket") return undefined;
  if (webSocketProtocols(request).length > 1) {
    throw badRequestError("at most one WebSocket subprotocol may be requested");
  }
  return upgrade;
}

/**
 * Takes the connection over and lets `run` write JSON lines to it, or frames of protobuf. `signal` is aborted when the client has closed the connection;
 * once `run` has settled the server closes it, with code 1000. `run` is called exactly once, as that of a stream is: until then its watch has a subscription.
 * Rejects with ApiError 499 where the client has gone.
 */
export async function webSocketResponse(
  request: ApiRequest,
  upgrade: UpgradeRequest,
  run: StreamRun,
  format: OutputFormat,
): Promise<ApiResponse> {
  try {
    const done = serve(request, upgrade.accept(), run, format);
    return { status: 101, headers: {}, body: { type: "upgraded", done } };
  } catch (error) {
    await discardResponse({ type: "stream", run });
    throw error;
  }
}

async function serve(
  request: ApiRequest,
  connection: ReturnType<UpgradeRequest["accept"]>,
  run: StreamRun,
  format: OutputFormat,
): Promise<void> {
  const webSocket = await shakeHands(request, connection).catch(async (error: unknown) => {
    await discardResponse({ type: "stream", run });
    throw error;
  });
  const gone = new AbortController();
  const closed = new Promise<void>((resolve, reject) => {
    const onClose = (): void => {
      gone.abort();
      resolve();
    };
    webSocket.on("close", caught(reject, onClose));
  });
  // Awaited below.
  closed.catch(() => undefined);
  // A broken connection is closed without a further error.
  webSocket.on("error", () => webSocket.terminate());
  try {
    await run(createWebSocketSink(webSocket, format === "protobuf"), gone.signal);
    webSocket.close(1000);
  } catch (error) {
    webSocket.close(1011);
    await closed;
    throw error;
  }
  await closed;
}

/** Rejects if the handshake is invalid; the client has its response by then. */
function shakeHands(request: ApiRequest, { socket, head }: ReturnType<UpgradeRequest["accept"]>): Promise<WebSocket> {
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    // An option of ws 8.19 and later, which its types lack.
    ...{ closeTimeout: CLOSE_TIMEOUT_MS },
  });
  // The handshake reads the method and the headers of a request, nothing else.
  const handshake = { method: request.method, headers: request.headers } as unknown as IncomingMessage;
  return new Promise((resolve, reject) => {
    const onClose = (): void => reject(new PeerFault("the connection ended before the WebSocket was open"));
    socket.once("close", caught(reject, onClose));
    server.handleUpgrade(handshake, new PartedSocket(socket), Buffer.from(head), resolve);
  });
}

/** Bytes that may wait for the client before writers wait, too. */
const HIGH_WATER_BYTES = 64 * 1024;

const NEWLINE = 0x0a;

/** Views of the chunk: a line may be as long as an object, and many watches send it. */
function linesOf(chunk: Buffer): readonly Uint8Array[] {
  const lines: Uint8Array[] = [];
  for (let at = 0; at < chunk.length; ) {
    const newline = chunk.indexOf(NEWLINE, at);
    const end = newline < 0 ? chunk.length : newline;
    if (end > at) lines.push(chunk.subarray(at, end));
    at = end + 1;
  }
  return lines;
}

const LENGTH_BYTES = 4;

/** Without their lengths, which messages have. */
function framesOf(chunk: Buffer): readonly Uint8Array[] {
  const frames: Uint8Array[] = [];
  for (let at = 0; at < chunk.length; ) {
    const start = at + LENGTH_BYTES;
    at = start + chunk.readUInt32BE(at);
    frames.push(chunk.subarray(start, at));
  }
  return frames;
}

/** Each line or frame that is written becomes a message. */
function createWebSocketSink(webSocket: WebSocket, isBinary: boolean): ByteSink {
  const messagesOf = isBinary ? framesOf : linesOf;
  const isOpen = (): boolean => webSocket.readyState === webSocket.OPEN;
  const write = (chunk: Uint8Array | string): boolean | Promise<boolean> => {
    if (!isOpen()) return false;
    let sent: Promise<boolean> | undefined;
    for (const message of messagesOf(asBuffer(chunk))) {
      sent = new Promise((resolve) => webSocket.send(message, { binary: isBinary }, () => resolve(isOpen())));
    }
    return webSocket.bufferedAmount < HIGH_WATER_BYTES ? true : (sent ?? true);
  };
  return {
    write,
    get bufferedBytes() {
      return webSocket.bufferedAmount;
    },
  };
}

const asBuffer = (chunk: Uint8Array | string): Buffer =>
  typeof chunk === "string" ? Buffer.from(chunk) : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
