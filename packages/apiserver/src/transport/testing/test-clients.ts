// Small real clients for tests of the transport: HTTP/1.1, HTTP/2, and bare TLS for what no client library would send.

import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2, type OutgoingHttpHeaders } from "node:http2";
import { Agent, request as requestHttp1 } from "node:https";
import { connect as connectTls, type TLSSocket } from "node:tls";

export type TestResponse = {
  readonly status: number;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
  readonly body: string;
};

type TestRequest = {
  readonly port: number;
  readonly method?: string;
  readonly path: string;
  readonly headers?: { readonly [name: string]: string | string[] };
  readonly body?: string | Buffer;
  readonly key?: string;
  readonly cert?: string;
  /** Keeps its connections. Default: each request has one of its own. */
  readonly agent?: Agent;
};

export async function http1({
  port,
  method = "GET",
  path,
  headers = {},
  body,
  key,
  cert,
  agent: given,
}: TestRequest): Promise<TestResponse> {
  const agent = given ?? new Agent({ rejectUnauthorized: false });
  const identity = key === undefined ? {} : { key, cert };
  const request = requestHttp1({ agent, host: "127.0.0.1", port, method, path, headers: { ...headers }, ...identity });
  request.end(body);
  const [response] = await once(request, "response");
  const text = await readAll(response);
  if (given === undefined) agent.destroy();
  return { status: response.statusCode ?? 0, headers: response.headers, body: text };
}

export const openHttp2 = (port: number, identity: { key?: string; cert?: string } = {}): ClientHttp2Session => {
  const session = connectHttp2(`https://127.0.0.1:${port}`, {
    rejectUnauthorized: false,
    maxSendHeaderBlockLength: 1 << 20,
    ...identity,
  });
  session.on("error", () => undefined);
  return session;
};

export async function http2(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body?: string | Buffer,
): Promise<TestResponse> {
  const stream = session.request(headers, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  const [received] = await once(stream, "response");
  const text = await readAll(stream);
  return { status: Number(received[":status"]), headers: received, body: text };
}

/** A TLS connection for HTTP/1.1, to write anything on. */
export const openTls = (port: number, from?: string): Promise<TLSSocket> => openTlsFor("http/1.1", port, from);

/** The same for one protocol of ALPN. `from`: an address of this machine. */
export async function openTlsFor(protocol: string, port: number, from?: string): Promise<TLSSocket> {
  const source = from === undefined ? {} : { localAddress: from };
  const place = { host: "127.0.0.1", port, ...source };
  const socket = connectTls({ ...place, rejectUnauthorized: false, ALPNProtocols: [protocol] });
  await once(socket, "secureConnect");
  return socket;
}

/** Everything until the other side ends or resets. */
export async function readAll(stream: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  } catch {
    // A reset: what has come so far is what was asked for.
  }
  return Buffer.concat(chunks).toString();
}
