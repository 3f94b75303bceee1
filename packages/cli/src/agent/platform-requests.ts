// Requests of an agent to the platform: its key, the next key, how many servers there are, and a tunnel.

import { type ClientRequest, type IncomingMessage, request } from "node:http";
import type { Duplex } from "node:stream";
import {
  AGENT_HEADERS,
  type AgentKey,
  JOIN_PATH,
  type JoinRequest,
  SERVER_HEADERS,
  TUNNEL_KEY_PATH,
  TUNNEL_PATH,
  TUNNEL_PROTOCOL,
  TUNNEL_SERVERS_PATH,
} from "@postern/api/cluster-tunnel";
import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { dialPlatform, type PlatformAddress } from "./dial-platform.ts";
import type { OwnIdentity } from "./own-cluster.ts";

/** The agent as it says itself. */
export type AgentIdentity = { readonly id: string; readonly version: string; readonly clusterUid: string };

/** A tunnel before its first byte of HTTP/2. */
export type OpenedTunnel = {
  readonly socket: Duplex;
  readonly serverId: string;
  readonly servers: number;
  readonly serverVersion: string;
};

/** The platform refused a request; `status` is that of HTTP. */
export class PlatformRefusal extends Error {
  override readonly name = "PlatformRefusal";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const ANSWER_TIMEOUT_MS = 30_000;
/** A key, and CA certificates of at most 64 KiB. */
const MAX_ANSWER_BYTES = 128 << 10;

export type PlatformRequests = {
  join(value: string, identity: OwnIdentity | undefined, signal: AbortSignal): Promise<AgentKey>;
  /** Exchanges the token of an agent that has joined. */
  exchange(place: Pick<AgentKey, "cluster" | "namespace">, own: OwnIdentity, signal: AbortSignal): Promise<AgentKey>;
  nextKey(key: string, signal: AbortSignal): Promise<AgentKey>;
  servers(key: string, signal: AbortSignal): Promise<number>;
  openTunnel(key: string, signal: AbortSignal): Promise<OpenedTunnel>;
};

export function createPlatformRequests(address: PlatformAddress, agent: AgentIdentity): PlatformRequests {
  const { host } = new URL(address.server);
  const { clusterUid } = agent;
  const identity = {
    host,
    "user-agent": `postern-agent/${agent.version}`,
    [AGENT_HEADERS.version]: agent.version,
    [AGENT_HEADERS.id]: agent.id,
    [AGENT_HEADERS.clusterUid]: clusterUid,
  };

  /** One connection for each: they are seldom. */
  async function begin(
    method: string,
    path: string,
    headers: { readonly [name: string]: string },
    signal: AbortSignal,
  ): Promise<ClientRequest> {
    const socket = await dialPlatform(address, signal);
    const sent = request({
      ...{ method, path, headers: { ...identity, ...headers }, signal },
      createConnection: () => socket,
      timeout: ANSWER_TIMEOUT_MS,
    });
    sent.once("timeout", () => sent.destroy(new Error("the platform does not answer")));
    return sent;
  }

  async function ask(method: string, path: string, key: string, body: object | undefined, signal: AbortSignal) {
    const text = body === undefined ? "" : JSON.stringify(body);
    const sent = await begin(
      method,
      path,
      {
        ...(key === "" ? {} : { authorization: `Bearer ${key}` }),
        ...(method === "GET"
          ? {}
          : { "content-type": "application/json", "content-length": String(Buffer.byteLength(text)) }),
        connection: "close",
      },
      signal,
    );
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      sent.once("response", resolve);
      sent.on("error", reject);
      sent.end(text);
    });
    // It says that the connection is closed behind it.
    const answer = await readAnswer(response);
    const status = response.statusCode ?? 0;
    if (status >= 300) throw refusalOf(status, answer);
    const parsed: unknown = JSON.parse(answer);
    if (!isJsonObject(parsed)) throw new Error("the answer of the platform is no JSON object");
    return parsed;
  }

  const keyIn = (answer: { readonly [member: string]: unknown }): AgentKey => {
    const { cluster, key, ...more } = answer;
    if (typeof cluster !== "string" || typeof key !== "string")
      throw new Error("the answer of the platform has no key");
    return {
      cluster,
      key,
      ...(more["identity"] === "token" ? { identity: "token" } : {}),
      ...textsIn(more, ["namespace", "expirationTimestamp", "certificateAuthority", "identityFault"]),
    };
  };
  const joinWith = async (body: JoinRequest, signal: AbortSignal): Promise<AgentKey> =>
    keyIn(await ask("POST", JOIN_PATH, "", body, signal));

  return {
    async join(value, { token, jwks } = { token: "", jwks: undefined }, signal) {
      const asked = { value, clusterUid };
      if (jwks === undefined) return await joinWith(asked, signal);
      try {
        return await joinWith({ ...asked, identity: { token, jwks } }, signal);
      } catch (error) {
        // Servers of the release before take less, and have not used the value up.
        if (!(error instanceof PlatformRefusal) || error.status !== 413) throw error;
        return await joinWith(asked, signal);
      }
    },
    exchange({ cluster, namespace }, { token, jwks }, signal) {
      const place = { cluster, ...(namespace === undefined ? {} : { namespace }) };
      return joinWith({ token, ...(jwks === undefined ? {} : { jwks }), ...place, clusterUid }, signal);
    },
    nextKey: async (key, signal) => keyIn(await ask("POST", TUNNEL_KEY_PATH, key, {}, signal)),
    async servers(key, signal) {
      const { count } = await ask("GET", TUNNEL_SERVERS_PATH, key, undefined, signal);
      return typeof count === "number" && count > 0 ? count : 1;
    },
    async openTunnel(key, signal) {
      const sent = await begin(
        "GET",
        TUNNEL_PATH,
        { authorization: `Bearer ${key}`, connection: "Upgrade", upgrade: TUNNEL_PROTOCOL },
        signal,
      );
      // A write that is under way when HTTP/2 takes the socket over ends the process: an assertion in Node fails.
      const written = new Promise<void>((resolve) => sent.once("finish", () => setImmediate(resolve)));
      const opened = await new Promise<OpenedTunnel>((resolve, reject) => {
        sent.on("error", reject);
        sent.once("response", (response) => {
          readAnswer(response).then((text) => {
            response.destroy();
            reject(refusalOf(response.statusCode ?? 0, text));
          }, reject);
        });
        sent.once("upgrade", ({ headers }, socket, head) => {
          socket.setTimeout(0);
          if (head.length > 0) socket.unshift(head);
          if (headers.upgrade?.toLowerCase() !== TUNNEL_PROTOCOL) {
            socket.destroy();
            reject(new Error("the platform went over to another protocol"));
            return;
          }
          const text = (name: string): string => String(headers[name] ?? "");
          resolve({
            socket,
            serverId: text(SERVER_HEADERS.id),
            servers: Math.max(1, Number(text(SERVER_HEADERS.count)) || 1),
            serverVersion: text(SERVER_HEADERS.version),
          });
        });
        sent.end();
      });
      await written;
      return opened;
    },
  };
}

function textsIn<Name extends string>(
  answer: { readonly [member: string]: unknown },
  names: readonly Name[],
): { readonly [name in Name]?: string } {
  const texts: { [name in Name]?: string } = {};
  for (const name of names) {
    const value = answer[name];
    if (typeof value === "string") texts[name] = value;
  }
  return texts;
}

async function readAnswer(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response) {
    // The parts of a response without an encoding are buffers.
    parts.push(part as Buffer);
    size += (part as Buffer).length;
    if (size > MAX_ANSWER_BYTES) throw new Error("the answer of the platform is too long");
  }
  return Buffer.concat(parts).toString("utf8");
}

function refusalOf(status: number, text: string): PlatformRefusal {
  let message = `the platform answers with ${status}`;
  try {
    const answer: unknown = JSON.parse(text);
    if (isJsonObject(answer) && typeof answer["message"] === "string") message = answer["message"];
  } catch {
    // A proxy on the way answers in its own words.
  }
  return new PlatformRefusal(status, message);
}
