// Opens everything that lasts, each the way clients do, and tells when it ended.

import { readFile } from "node:fs/promises";
import { connect as connectHttp2 } from "node:http2";
import { request } from "node:https";
import { openHttp2WebSocket } from "@postern/apiserver/transport/testing/http2-web-socket";
import { WebSocket } from "ws";
import type { PosternProcess } from "../../e2e/testing/postern-process.ts";

export type OpenStream = {
  readonly status: number;
  /** Text received so far. */
  text(): string;
  /** When it was over, by `performance.now()`. */
  readonly ended: Promise<number>;
  close(): void;
};

type StreamRequest = {
  readonly path: string;
  readonly key: string;
  readonly headers?: { readonly [name: string]: string };
};

export type StreamOpener = (server: PosternProcess, asked: StreamRequest) => Promise<OpenStream>;

const now = (): number => performance.now();

export const openHttp1: StreamOpener = async (server, { path, key, headers }) => {
  const ca = await readFile(server.caFile);
  return await new Promise((resolve, reject) => {
    const sent = request(
      `${server.url}${path}`,
      { ca, agent: false, headers: { ...headers, authorization: `Bearer ${key}` } },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk) => (text += chunk));
        response.on("error", () => undefined);
        const ended = new Promise<number>((end) => response.once("close", () => end(now())));
        resolve({ status: response.statusCode ?? 0, text: () => text, ended, close: () => sent.destroy() });
      },
    );
    sent.on("error", reject);
    sent.end();
  });
};

export const openHttp2: StreamOpener = async (server, { path, key, headers }) => {
  const session = connectHttp2(server.url, { ca: await readFile(server.caFile) });
  session.on("error", () => undefined);
  const stream = session.request({ ...headers, ":path": path, authorization: `Bearer ${key}` });
  let text = "";
  stream.setEncoding("utf8").on("data", (chunk) => (text += chunk));
  const ended = new Promise<number>((end) => stream.once("close", () => end(now())));
  void ended.then(() => session.destroy());
  const status = await new Promise<number>((resolve, reject) => {
    stream.once("response", (head) => resolve(Number(head[":status"])));
    stream.once("error", reject);
  });
  return { status, text: () => text, ended, close: () => session.destroy() };
};

const EXEC_PROTOCOL = "v5.channel.k8s.io";
const isExec = (path: string): boolean => path.includes("/exec");

/** `exec` as kubectl opens it, and watches as browsers do. */
export const openWebSocket: StreamOpener = async (server, { path, key, headers }) => {
  const socket = new WebSocket(`${server.url.replace("https", "wss")}${path}`, isExec(path) ? [EXEC_PROTOCOL] : [], {
    ca: await readFile(server.caFile),
    headers: { ...headers, authorization: `Bearer ${key}` },
  });
  let text = "";
  socket.on("message", (data) => (text += String(data)));
  const ended = new Promise<number>((end) => socket.once("close", () => end(now())));
  const status = await new Promise<number>((resolve, reject) => {
    socket.once("open", () => resolve(101));
    socket.once("unexpected-response", (_, { statusCode = 0 }) => resolve(statusCode));
    socket.once("error", reject);
  });
  socket.on("error", () => undefined);
  return { status, text: () => text, ended, close: () => socket.terminate() };
};

const CLOSE_FRAME = 0x88;

/** RFC 8441: a WebSocket inside an HTTP/2 connection. */
export const openHttp2Socket: StreamOpener = async (server, { path, key, headers }) => {
  const session = connectHttp2(server.url, { ca: await readFile(server.caFile) });
  session.on("error", () => undefined);
  const { stream, headers: head } = await openHttp2WebSocket(session, path, {
    ...headers,
    authorization: `Bearer ${key}`,
    ...(isExec(path) ? { "sec-websocket-protocol": EXEC_PROTOCOL } : {}),
  });
  let text = "";
  const ended = new Promise<number>((end) => {
    stream.once("close", () => end(now()));
    stream.on("data", (chunk: Buffer) => {
      text += chunk;
      // The server closes: clients answer that, and are through.
      if (chunk[0] === CLOSE_FRAME) end(now());
    });
  });
  void ended.then(() => session.destroy());
  const status = Number(head[":status"]);
  return { status: status === 200 ? 101 : status, text: () => text, ended, close: () => session.destroy() };
};

/** The connection that older kubectls open for exec, attach and port-forward. */
export const openSpdy: StreamOpener = async (server, { path, key, headers }) => {
  const ca = await readFile(server.caFile);
  return await new Promise((resolve, reject) => {
    const sent = request(`${server.url}${path}`, {
      ca,
      agent: false,
      method: "POST",
      headers: {
        ...headers,
        authorization: `Bearer ${key}`,
        connection: "Upgrade",
        upgrade: "SPDY/3.1",
        "x-stream-protocol-version": path.includes("portforward") ? "portforward.k8s.io" : "v4.channel.k8s.io",
      },
    });
    sent.once("upgrade", (_, socket) => {
      const ended = new Promise<number>((end) => socket.once("close", () => end(now())));
      socket.on("error", () => undefined).resume();
      resolve({ status: 101, text: () => "", ended, close: () => socket.destroy() });
    });
    sent.once("response", (response) => {
      response.resume();
      resolve({ status: response.statusCode ?? 0, text: () => "", ended: Promise.resolve(now()), close: () => {} });
    });
    sent.once("error", reject);
    sent.end();
  });
};
