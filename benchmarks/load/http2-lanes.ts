// One HTTP/2 connection with many streams.

import { type ClientHttp2Session, connect } from "node:http2";
import type { Client, ClientRequest, ClientResponse } from "./client.ts";
import type { Target } from "./order.ts";

export async function openHttp2Session({ url, ca }: Target): Promise<ClientHttp2Session> {
  const options = {
    ...(ca === undefined ? { rejectUnauthorized: false } : { ca }),
    settings: { initialWindowSize: 1 << 20 },
  };
  const session = connect(url, options);
  await new Promise<void>((resolve, reject) => {
    session.once("remoteSettings", () => resolve()).once("error", reject);
  });
  session.setLocalWindowSize(64 << 20);
  return session;
}

export async function openHttp2Lanes(target: Target, lanes: number): Promise<Client> {
  const session = await openHttp2Session(target);
  const lane = { send: (request: ClientRequest) => sendOn(session, request, target.token) };
  return {
    lanes: Array.from({ length: lanes }, () => lane),
    [Symbol.dispose]: () => session.destroy(),
  };
}

export function sendOn(
  session: ClientHttp2Session,
  { method, path, contentType = "application/json", body }: ClientRequest,
  token: string,
): Promise<ClientResponse> {
  return new Promise((resolve, reject) => {
    const head = { ":method": method, ":path": path, authorization: `Bearer ${token}`, accept: "application/json" };
    const stream = session.request(
      body === undefined ? head : { ...head, "content-type": contentType, "content-length": Buffer.byteLength(body) },
      { endStream: body === undefined },
    );
    let status = 0;
    let bytes = 0;
    stream.on("response", (headers) => {
      status = headers[":status"] ?? 0;
    });
    stream.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
    stream.on("end", () => resolve({ status, bytes }));
    stream.on("error", reject);
    if (body !== undefined) stream.end(body);
  });
}
