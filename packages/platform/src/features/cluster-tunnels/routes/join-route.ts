// GET /join/<value>: the manifests of the agent. POST /join: exchanges the value, or a token of an agent that has joined, for the agent's key.

import { AGENT_HEADERS, type AgentKey, type AgentProof, JOIN_PATH } from "@postern/api/cluster-tunnel";
import type { PlatformNames } from "@postern/api/platform-names";
import { ISSUED_CREDENTIAL_ANNOTATION } from "@postern/apimachinery/audit/audit-annotations";
import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { textOf } from "@postern/apimachinery/json/lenient-json";
import { forbiddenPathError, isApiError, methodNotAllowedError } from "@postern/apimachinery/meta/api-error";
import type { Handler, RequestContext } from "@postern/apiserver/context/request-context";
import { headerOf } from "@postern/apiserver/transport/api-request";
import { type ApiResponse, jsonResponse, textResponse } from "@postern/apiserver/transport/api-response";
import { stringify } from "yaml";
import { readJsonBody } from "../../../foundation/http/read-json-body.ts";
import { type AgentManifestOptions, agentManifests } from "../agent-manifests.ts";
import type { AgentTarget } from "../agent-targets.ts";
import type { ClusterTunnels } from "../feature.ts";
import { clusterEvent } from "./cluster-events.ts";
import { mustRunInItsCluster, type RefusalDeps, refuseAgent } from "./refuse-agent.ts";

/** A token, and the key set of a cluster. */
const MAX_BODY_BYTES = 48 << 10;
/** Responses that contain a credential must not be cached. */
const NO_STORE = { "cache-control": "no-store" };
const JOIN_AGAIN = "join the cluster again";

export type JoinRouteDeps = RefusalDeps & {
  readonly names: PlatformNames;
  readonly tunnels: Pick<ClusterTunnels, "joins" | "keys" | "metrics" | "registry" | "targets">;
  /** The handle in a key. */
  readonly idOf: (key: string) => string | undefined;
  readonly manifests: () => Omit<AgentManifestOptions, "joinValue">;
  /** Ends with the server. */
  readonly signal: AbortSignal;
};

export function createJoinRoute(deps: JoinRouteDeps): Handler {
  const { tunnels, manifests } = deps;
  return async (context) => {
    const { request } = context;
    const { method, path } = request;
    if (path === JOIN_PATH) {
      if (method !== "POST") throw methodNotAllowedError();
      const body = readJsonBody(await request.body(MAX_BODY_BYTES));
      return await (body["token"] === undefined
        ? exchangeValue(body, context, deps)
        : exchangeToken(body, context, deps));
    }
    if (method !== "GET" && method !== "HEAD") throw methodNotAllowedError();
    const value = path.slice(JOIN_PATH.length + 1);
    if (tunnels.joins.find(value) === undefined) {
      tunnels.metrics.refused("join");
      const how = tunnels.joins.spent(value) === undefined ? "is unknown" : "was used, or has expired";
      throw forbiddenPathError(`the join value ${how}: ${JOIN_AGAIN}`);
    }
    const documents = agentManifests({ ...manifests(), joinValue: value }).map((object) => stringify(object));
    return textResponse(200, documents.join("---\n"), { ...NO_STORE, "content-type": "application/yaml" });
  };
}

async function exchangeValue(body: JsonObject, context: RequestContext, deps: JoinRouteDeps): Promise<ApiResponse> {
  const { names, tunnels, recordEvent, signal } = deps;
  const { request } = context;
  const [value, clusterUid] = [textOf(body["value"]), textOf(body["clusterUid"])];
  const wanted = tunnels.joins.find(value);
  try {
    // The server's signal: a client that leaves must not stop it between two writes.
    const issued = await tunnels.keys.join(value, clusterUid, proofIn(body["identity"]), signal);
    tunnels.metrics.joined();
    const target = wanted && tunnels.targets.find(wanted, wanted.clusterUid);
    if (target !== undefined) {
      const version = headerOf(request, AGENT_HEADERS.version);
      const message = `An agent ${version} joined from ${request.remoteAddress}${identityText(issued)}`;
      recordEvent(clusterEvent(names, target, "AgentJoined", message));
    }
    return answer(issued, context, deps);
  } catch (error) {
    if (!isApiError(error, "Forbidden")) throw error;
    if (!reportSpent(value, clusterUid, context, deps)) tunnels.metrics.refused("join");
    throw error;
  }
}

async function exchangeToken(body: JsonObject, context: RequestContext, deps: JoinRouteDeps): Promise<ApiResponse> {
  const { names, tunnels, recordEvent, signal } = deps;
  const { request } = context;
  const [cluster, namespace] = [textOf(body["cluster"]), textOf(body["namespace"])];
  const place = { cluster, ...(namespace === "" ? {} : { namespace }) };
  const agent = await tunnels.keys.identify(place, textOf(body["token"]));
  if (agent === undefined) {
    // Any client can send it: it is counted and audited, and a Cluster shows nothing of it.
    tunnels.metrics.refused("identity");
    throw forbiddenPathError(`the token is not one of the agent of this cluster: ${JOIN_AGAIN}`);
  }
  const { target, fault } = agent;
  mustRunInItsCluster(request, agent, textOf(body["clusterUid"]), deps);
  if (fault !== undefined) {
    const message = "an agent came with a token that is not accepted";
    throw refuseAgent(request, target, { why: "identity", message, advice: fault }, deps);
  }
  const jwks = body["jwks"] === undefined ? undefined : textOf(body["jwks"]);
  const { issued, hasOtherKeys } = await tunnels.keys.exchange(agent, jwks, signal);
  if (hasOtherKeys) {
    const message = `The keys of the cluster's issuer have changed, as its agent says from ${request.remoteAddress}`;
    recordEvent(clusterEvent(names, target, "AgentKeysChanged", message));
  }
  return answer(issued, context, deps);
}

function answer(issued: AgentKey, { audit }: RequestContext, { names, idOf }: JoinRouteDeps): ApiResponse {
  const id = idOf(issued.key);
  if (id !== undefined) audit.annotate(ISSUED_CREDENTIAL_ANNOTATION, id);
  const { cluster, namespace } = issued;
  audit.annotate(names.key("joined-cluster"), namespace === undefined ? cluster : `${namespace}/${cluster}`);
  return jsonResponse(201, JSON.stringify(issued), NO_STORE);
}

/** Whether it was worth a report: each replica of an agent shows the value, and of the cluster that joined this is no news. */
function reportSpent(value: string, clusterUid: string, { request }: RequestContext, deps: JoinRouteDeps): boolean {
  const { tunnels } = deps;
  const spent = tunnels.joins.spent(value);
  const target: AgentTarget | undefined = spent && tunnels.targets.find(spent, spent.clusterUid);
  if (spent === undefined || target === undefined) return false;
  if (spent.used?.peerUid === clusterUid) return false;
  const message =
    spent.used === undefined
      ? "an agent came with a join value that has expired"
      : "an agent in another cluster came with the join value that was used";
  refuseAgent(request, target, { why: "join", message, advice: JOIN_AGAIN }, deps);
  return true;
}

const identityText = ({ identity, identityFault }: AgentKey): string =>
  identity === "token"
    ? ", and is identified by its ServiceAccount"
    : identityFault === undefined
      ? ""
      : `, and keeps its key: ${identityFault}`;

function proofIn(identity: JsonValue | undefined): AgentProof | undefined {
  return isJsonObject(identity) ? { token: textOf(identity["token"]), jwks: textOf(identity["jwks"]) } : undefined;
}
