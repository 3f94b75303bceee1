// An agent of a test: joins as a real one does, and then does as the test says.

import { readFile } from "node:fs/promises";
import { performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { request } from "node:https";
import type { Duplex } from "node:stream";
import { AGENT_HEADERS, TUNNEL_PATH, TUNNEL_PROTOCOL } from "@postern/api/cluster-tunnel";
import type { PlatformAnswer, RunningPlatform } from "../../../testing/running-platform.ts";

export const PEER_UID = "0b0e5c7e-0000-4000-8000-00000000000a";

/** Makes the Cluster, and resolves with a join value for it. */
export async function joinValueFor(platform: RunningPlatform, name: string): Promise<string> {
  await platform.create("clusters", { metadata: { name }, spec: { networkPeer: true } });
  return await nextJoinValue(platform, name);
}

export async function nextJoinValue(platform: RunningPlatform, name: string): Promise<string> {
  const { status } = await platform.create(`clusters/${name}/join`, {});
  return status.url.slice(status.url.lastIndexOf("/") + 1);
}

export const exchange = (platform: RunningPlatform, value: string, clusterUid = PEER_UID): Promise<PlatformAnswer> =>
  platform.send({ path: "/join", key: "", body: { value, clusterUid } });

/** Resolves with the key of a Cluster's agent. */
export async function joinedKey(platform: RunningPlatform, name: string, clusterUid = PEER_UID): Promise<string> {
  const { status, text, body } = await exchange(platform, await joinValueFor(platform, name), clusterUid);
  if (status !== 201) throw new Error(text);
  return body.key;
}

export type TunnelAnswer = {
  readonly status: number;
  readonly text: string;
  /** Behind a 101. */
  readonly socket: Duplex | undefined;
};

export type TunnelCall = {
  readonly key?: string;
  readonly clusterUid?: string;
  readonly headers?: { readonly [name: string]: string };
};

/** The part that an agent knows. */
type TunnelPlatform = { readonly server: { readonly caPath: string; readonly url: string } };

export async function askForTunnel(
  { server }: TunnelPlatform,
  { key = "", clusterUid = PEER_UID, headers = {} }: TunnelCall,
): Promise<TunnelAnswer> {
  const ca = await readFile(server.caPath);
  return await new Promise((resolve, reject) => {
    const sent = request(new URL(TUNNEL_PATH, server.url), {
      ...{ ca, agent: false },
      headers: {
        connection: "Upgrade",
        upgrade: TUNNEL_PROTOCOL,
        [AGENT_HEADERS.clusterUid]: clusterUid,
        [AGENT_HEADERS.version]: "0.1.0",
        ...(key === "" ? {} : { authorization: `Bearer ${key}` }),
        ...headers,
      },
    });
    sent.on("error", reject);
    sent.once("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => (text += chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text, socket: undefined }));
    });
    sent.once("upgrade", (_response, socket, head) => {
      if (head.length > 0) socket.unshift(head);
      socket.on("error", () => undefined);
      setImmediate(() => resolve({ status: 101, text: "", socket }));
    });
    sent.end();
  });
}

export type FakeAgent = AsyncDisposable & {
  readonly session: ServerHttp2Session;
  /** Settles when the server closes the tunnel, or it breaks. */
  readonly closed: Promise<void>;
};

/** Opens a tunnel, and answers its streams as `onStream` does. */
export async function openFakeTunnel(
  platform: TunnelPlatform,
  call: TunnelCall,
  onStream: (stream: ServerHttp2Stream, headers: { readonly [name: string]: unknown }) => void,
): Promise<FakeAgent> {
  const { socket, status, text } = await askForTunnel(platform, call);
  if (socket === undefined) throw new Error(`${status} ${text}`);
  const session = performServerHandshake(socket);
  session.on("error", () => undefined);
  session.on("stream", (stream, headers) => {
    stream.on("error", () => undefined);
    onStream(stream, headers);
  });
  const closed = new Promise<void>((resolve) => {
    session.once("close", resolve);
    socket.once("close", () => {
      session.destroy();
      resolve();
    });
  });
  return {
    session,
    closed,
    async [Symbol.asyncDispose]() {
      session.destroy();
      socket.destroy();
      await closed;
    },
  };
}

/** An API server on a stream of a tunnel: each request gets the bytes, as they are. `onHead` is called with what came before. */
export const answerWith =
  (bytes: string, onHead: (head: string) => void = () => undefined) =>
  (stream: ServerHttp2Stream): void => {
    stream.respond({ ":status": 200 });
    let head = "";
    stream.on("data", (chunk: Buffer) => {
      head += chunk.toString("latin1");
      if (!head.includes("\r\n\r\n")) return;
      onHead(head);
      head = "";
      stream.write(Buffer.from(bytes, "latin1"));
    });
  };

const OK = JSON.stringify({ kind: "APIVersions", versions: ["v1"] });
export const GOOD_ANSWER = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${OK.length}\r\n\r\n${OK}`;
