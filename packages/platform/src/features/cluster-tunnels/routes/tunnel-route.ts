// GET /tunnel with an upgrade: the tunnel of an agent. POST /tunnel/key: the next key of the agent.

import type { Duplex } from "node:stream";
import {
  AGENT_HEADERS,
  SERVER_HEADERS,
  TUNNEL_KEY_PATH,
  TUNNEL_PATH,
  TUNNEL_PROTOCOL,
  TUNNEL_SERVERS_PATH,
} from "@postern/api/cluster-tunnel";
import type { PlatformNames } from "@postern/api/platform-names";
import { ISSUED_CREDENTIAL_ANNOTATION } from "@postern/apimachinery/audit/audit-annotations";
import { BUILD_INFO } from "@postern/apimachinery/build-info";
import {
  ApiError,
  badRequestError,
  methodNotAllowedError,
  resourceNotFoundError,
  unauthorizedError,
} from "@postern/apimachinery/meta/api-error";
import { type Authorizer, isImpersonationVerb } from "@postern/apiserver/authorization/authorizer";
import type { PolicyVersion } from "@postern/apiserver/authorization/policy-version";
import type { Handler, RequestContext } from "@postern/apiserver/context/request-context";
import type { EventRecorder } from "@postern/apiserver/controllers/event-recorder";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { headerOf, type UpgradeRequest } from "@postern/apiserver/transport/api-request";
import { type ApiResponse, jsonResponse } from "@postern/apiserver/transport/api-response";
import type { AccessKeyIndex } from "../../access-keys/index/access-key-index.ts";
import type { KnownAgent } from "../agent-keys.ts";
import type { ClusterTunnels } from "../feature.ts";
import { openTunnel } from "../tunnel.ts";
import { clusterEvent } from "./cluster-events.ts";
import { mustRunInItsCluster } from "./refuse-agent.ts";

export type TunnelRouteDeps = {
  readonly names: PlatformNames;
  readonly tunnels: ClusterTunnels;
  readonly keys: Pick<AccessKeyIndex, "byId">;
  /** How many servers there are. */
  readonly servers: () => Promise<number>;
  readonly runtime: Pick<Runtime, "clock" | "scheduler">;
  readonly idOf: (key: string) => string | undefined;
  readonly recordEvent: EventRecorder;
  /** CA certificates in PEM that agents trust; they take them with each key, so that they know of a rotation. Undefined: public CAs. */
  readonly certificateAuthority: () => string | undefined;
  /** Ends with the server. */
  readonly signal: AbortSignal;
};

/** Nothing but the key of the agent, for as long as it belongs to the Cluster: decided again when Clusters change. */
export const createTunnelAuthorizer = (
  { tunnels, keys }: Pick<TunnelRouteDeps, "tunnels" | "keys">,
  policyVersion: PolicyVersion,
): Authorizer => ({
  policyVersion,
  authorize({ credential, verb }) {
    if (isImpersonationVerb(verb)) return { verdict: "deny", reason: "agents act for no user" };
    try {
      tunnels.keys.agentOf(credential && keys.byId(credential.id));
      return { verdict: "allow", reason: "the key of the cluster's agent" };
    } catch {
      return { verdict: "deny", reason: "not the key of a cluster's agent" };
    }
  },
});

export function createTunnelRoute(deps: TunnelRouteDeps): Handler {
  const { tunnels, keys } = deps;
  return async (context) => {
    const { path, method } = context.request;
    const { credential } = context;
    if (credential === undefined) throw unauthorizedError();
    const agent = tunnels.keys.agentOf(keys.byId(credential.id));
    if (path === TUNNEL_KEY_PATH) {
      if (method !== "POST") throw methodNotAllowedError();
      mustRunInItsCluster(context.request, agent, headerOf(context.request, AGENT_HEADERS.clusterUid), deps);
      return await rotate(context, agent, deps);
    }
    if (path === TUNNEL_SERVERS_PATH) {
      if (method !== "GET") throw methodNotAllowedError();
      return jsonResponse(200, JSON.stringify({ count: await deps.servers() }), { "cache-control": "no-store" });
    }
    if (path !== TUNNEL_PATH) throw resourceNotFoundError();
    if (method !== "GET") throw methodNotAllowedError();
    return await open(context, agent, deps);
  };
}

async function rotate(
  { audit }: RequestContext,
  agent: KnownAgent,
  { tunnels, idOf, certificateAuthority, signal }: TunnelRouteDeps,
): Promise<ApiResponse> {
  // The server's signal: a client that leaves must not stop it between two writes.
  const issued = await tunnels.keys.rotate(agent, signal);
  const id = idOf(issued.key);
  if (id !== undefined) audit.annotate(ISSUED_CREDENTIAL_ANNOTATION, id);
  const answer = { ...issued, certificateAuthority: certificateAuthority() };
  return jsonResponse(201, JSON.stringify(answer), { "cache-control": "no-store" });
}

async function open(context: RequestContext, agent: KnownAgent, deps: TunnelRouteDeps): Promise<ApiResponse> {
  const { registry, metrics } = deps.tunnels;
  const { upgrade } = context.request;
  if (upgrade?.protocol.toLowerCase() !== TUNNEL_PROTOCOL) {
    metrics.refused("protocol");
    throw upgradeRequired();
  }
  mustRunInItsCluster(context.request, agent, headerOf(context.request, AGENT_HEADERS.clusterUid), deps);
  const { target } = agent;
  const { uid, namespace } = target;
  const place = registry.claim(uid, namespace);
  if (typeof place === "string") {
    metrics.refused("limit");
    throw new ApiError({ code: 429, reason: "TooManyRequests", message: place });
  }
  const leave = (): void => place[Symbol.dispose]();
  try {
    const { done } = await openAt(context, agent, upgrade, deps);
    return { status: 101, headers: {}, body: { type: "upgraded", done: done.finally(leave) } };
  } catch (error) {
    leave();
    throw error;
  }
}

/** `done`: the tunnel is closed. */
async function openAt(
  context: RequestContext,
  agent: KnownAgent,
  upgrade: UpgradeRequest,
  { names, tunnels, servers, runtime, recordEvent }: TunnelRouteDeps,
): Promise<{ readonly done: Promise<void> }> {
  const { request, signal } = context;
  const { registry, metrics } = tunnels;
  const { target } = agent;
  const { uid } = target;
  await tunnels.keys.used(agent);
  const count = await servers();
  signal.throwIfAborted();
  const { socket, head } = upgrade.accept();
  const headers = {
    connection: "Upgrade",
    upgrade: TUNNEL_PROTOCOL,
    [SERVER_HEADERS.id]: tunnels.serverId,
    [SERVER_HEADERS.count]: String(count),
    [SERVER_HEADERS.version]: BUILD_INFO.version,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  await written(socket, `HTTP/1.1 101 Switching Protocols\r\n${lines.join("")}\r\n`);
  if (socket.destroyed) return { done: Promise.resolve() };
  const described = {
    id: printable(headerOf(request, AGENT_HEADERS.id)),
    version: printable(headerOf(request, AGENT_HEADERS.version)),
  };
  const tunnel = openTunnel(socket, head, {
    ...runtime,
    agent: described,
    onChange: () => registry.changed(uid),
  });
  const isFirst = registry.of(uid).length === 0;
  registry.add(uid, tunnel);
  metrics.opened();
  if (isFirst) {
    registry.refuse(uid, undefined);
    recordEvent(clusterEvent(names, target, "AgentConnected", `Agent ${described.version} connected`));
  }
  const close = (): void => tunnel[Symbol.dispose]();
  signal.addEventListener("abort", close, { once: true });
  if (signal.aborted) close();
  const done = tunnel.closed.then(() => {
    signal.removeEventListener("abort", close);
    if (registry.of(uid).length > 0) return;
    recordEvent(clusterEvent(names, target, "AgentLost", "The last tunnel of the agent to a server was closed"));
  });
  return { done };
}

/** A write that is under way when HTTP/2 takes the socket over ends the process: an assertion in Node fails. */
const written = (socket: Duplex, text: string): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => void setImmediate(resolve);
    socket.once("close", done);
    socket.write(Buffer.from(text, "latin1"), done);
  });

const upgradeRequired = () => badRequestError(`this endpoint takes an upgrade to ${TUNNEL_PROTOCOL}`);

const MAX_TEXT = 100;
/** It is shown in a status. */
const printable = (text: string): string => text.replaceAll(/[^\w.+-]/g, "").slice(0, MAX_TEXT);
