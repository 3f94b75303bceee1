// Sends the events of a watch as WebSocket messages, for browsers.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/watch.go (HandleWS)

import type { IncomingMessage } from "node:http";
import { badRequestError } from "@postern/apimachinery/meta/api-error";
import { caught } from "@postern/apimachinery/steps/caught";
import { type WebSocket, WebSocketServer } from "ws";
import { webSocketProtocols } from "../../request/credentials.ts";
import type { ApiRequest, UpgradeRequest } from "../../transport/api-request.ts";
import type { ApiResponse, ByteSink } from "../../transport/api-response.ts";
import type { OutputFormat } from "../negotiation/negotiate-output.ts";

/** How long a client may take to confirm the close. */
const CLOSE_TIMEOUT_MS = 2_000;
/** Clients send nothing but control frames. */
const MAX_MESSAGE_BYTES = 4096;

/** The upgrade a request asks for, where it is one to a WebSocket. */
export const webSocketUpgrade = ({ upgrade }: ApiRequest): UpgradeRequest | undefined =>
  upgrade !== undefined && upgrade.protocol.toLowerCase() === "websocket" ? upgrade : undefined;

/**
 * Takes the connection over and lets `run` write JSON lines to it, or frames of protobuf. `signal` is aborted when the client has closed the connection;
 * once `run` has settled the server closes it, with code 1000.
 * @throws ApiError 400 when the client leaves the choice of a subprotocol to the server
 */
export function webSocketResponse(
  request: ApiRequest,
  upgrade: UpgradeRequest,
  run: (sink: ByteSink, signal: AbortSignal) => Promise<void>,
  format: OutputFormat,
): ApiResponse {
  if (webSocketProtocols(request).length > 1) {
    throw badRequestError("at most one WebSocket subprotocol may be requested");
  }
  return { status: 101, headers: {}, body: { type: "upgraded", done: serve(request, upgrade, run, format) } };
}

async function serve(
  request: ApiRequest,
  upgrade: UpgradeRequest,
  run: (sink: ByteSink, signal: AbortSignal) => Promise<void>,
  format: OutputFormat,
): Promise<void> {
  const webSocket = await shakeHands(request, upgrade);
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
    await run(createWebSocketSink(webSocket, format === "protobuf" ? framesOf : linesOf), gone.signal);
    webSocket.close(1000);
  } catch (error) {
    webSocket.close(1011);
    await closed;
    throw error;
  }
  await closed;
}

/** Rejects if the handshake is invalid; the client has its response by then. */
function shakeHands(request: ApiRequest, upgrade: UpgradeRequest): Promise<WebSocket> {
  const { socket, head } = upgrade.accept();
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
    const onClose = (): void => reject(new Error("the connection ended before the WebSocket was open"));
    socket.once("close", caught(reject, onClose));
    server.handleUpgrade(handshake, socket, Buffer.from(head), resolve);
  });
}

/** Bytes that may wait for the client before writers wait, too. */
const HIGH_WATER_BYTES = 64 * 1024;

const linesOf = (chunk: Buffer): readonly string[] =>
  chunk
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "");

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
function createWebSocketSink(
  webSocket: WebSocket,
  messagesOf: (chunk: Buffer) => readonly (string | Uint8Array)[],
): ByteSink {
  const isOpen = (): boolean => webSocket.readyState === webSocket.OPEN;
  const write = (chunk: Uint8Array | string): boolean | Promise<boolean> => {
    if (!isOpen()) return false;
    let sent: Promise<boolean> | undefined;
    for (const message of messagesOf(Buffer.from(chunk))) {
      sent = new Promise((resolve) => webSocket.send(message, () => resolve(isOpen())));
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
