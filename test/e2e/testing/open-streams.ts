// Requests through a server that go on: a watch, and one over a WebSocket. What has come so far is text.

import { readFile } from "node:fs/promises";
import { request } from "node:https";
import type { Server } from "./two-posterns.ts";

export type OpenStream = AsyncDisposable & { text(): string; close(): void; readonly ended: Promise<void> };

/** The administrator's. Resolves with the head of the response, whatever its status is. */
export async function openStream(server: Server, path: string): Promise<OpenStream> {
  const ca = await readFile(server.process.caFile);
  return await new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${server.key}` };
    const sent = request(`${server.process.url}${path}`, { ca, agent: false, headers });
    sent.on("error", reject);
    sent.once("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => (text += chunk));
      const ended = new Promise<void>((end) => response.once("close", end));
      response.on("error", () => undefined);
      const close = (): void => void sent.destroy();
      resolve({ text: () => text, close, ended, [Symbol.asyncDispose]: async () => close() });
    });
    sent.end();
  });
}

/** The administrator's. Rejects where the answer is no upgrade. */
export async function openWebSocket(server: Server, path: string): Promise<Pick<OpenStream, "text" | "close">> {
  const ca = await readFile(server.process.caFile);
  return await new Promise((resolve, reject) => {
    const sent = request(`${server.process.url}${path}`, {
      ...{ ca, agent: false },
      headers: {
        authorization: `Bearer ${server.key}`,
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      },
    });
    sent.on("error", reject);
    sent.once("response", ({ statusCode }) => reject(new Error(`no upgrade: ${statusCode}`)));
    sent.once("upgrade", (_response, socket, head) => {
      let text = head.toString("latin1");
      socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
      socket.on("error", () => undefined);
      resolve({ text: () => text, close: () => void socket.destroy() });
    });
    sent.end();
  });
}
