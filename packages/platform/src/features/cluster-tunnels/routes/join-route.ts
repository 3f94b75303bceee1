// GET /join/<value>: the manifests of the agent. POST /join: exchanges the value for the agent's key.

import { AGENT_HEADERS, JOIN_PATH } from "@postern/api/cluster-tunnel";
import type { PlatformNames } from "@postern/api/platform-names";
import { forbiddenPathError, isApiError, methodNotAllowedError } from "@postern/apimachinery/meta/api-error";
import type { Handler, RequestContext } from "@postern/apiserver/context/request-context";
import type { EventRecorder } from "@postern/apiserver/controllers/event-recorder";
import { headerOf } from "@postern/apiserver/transport/api-request";
import { type ApiResponse, jsonResponse, textResponse } from "@postern/apiserver/transport/api-response";
import { stringify } from "yaml";
import { readJsonBody } from "../../../foundation/http/read-json-body.ts";
import { AUDIT_ISSUED_CREDENTIAL } from "../../access-keys/secret-fields.ts";
import { JOIN_REFUSED } from "../agent-keys.ts";
import { type AgentManifestOptions, agentManifests } from "../agent-manifests.ts";
import type { ClusterTunnels } from "../feature.ts";
import { clusterEvent } from "./cluster-events.ts";

const MAX_BODY_BYTES = 4_096;
/** Responses that contain a credential must not be cached. */
const NO_STORE = { "cache-control": "no-store" };

export type JoinRouteDeps = {
  readonly names: PlatformNames;
  readonly tunnels: Pick<ClusterTunnels, "joins" | "keys" | "metrics" | "targets">;
  /** The handle in a key. */
  readonly idOf: (key: string) => string | undefined;
  readonly manifests: () => Omit<AgentManifestOptions, "joinValue">;
  readonly recordEvent: EventRecorder;
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
      return await exchange(context, deps);
    }
    if (method !== "GET" && method !== "HEAD") throw methodNotAllowedError();
    const value = path.slice(JOIN_PATH.length + 1);
    if (tunnels.joins.find(value) === undefined) {
      tunnels.metrics.refused("join");
      throw forbiddenPathError(JOIN_REFUSED);
    }
    const documents = agentManifests({ ...manifests(), joinValue: value }).map((object) => stringify(object));
    return textResponse(200, documents.join("---\n"), { ...NO_STORE, "content-type": "application/yaml" });
  };
}

async function exchange({ request, audit }: RequestContext, deps: JoinRouteDeps): Promise<ApiResponse> {
  const { names, tunnels, idOf, recordEvent, signal } = deps;
  const { value, clusterUid } = readJsonBody(await request.body(MAX_BODY_BYTES));
  const wanted = tunnels.joins.find(String(value ?? ""));
  try {
    // The server's signal: a client that leaves must not stop it between two writes.
    const issued = await tunnels.keys.join(String(value ?? ""), String(clusterUid ?? ""), signal);
    const id = idOf(issued.key);
    if (id !== undefined) audit.annotate(AUDIT_ISSUED_CREDENTIAL, id);
    const { cluster, namespace } = issued;
    audit.annotate(names.key("joined-cluster"), namespace === undefined ? cluster : `${namespace}/${cluster}`);
    tunnels.metrics.joined();
    const target = wanted && tunnels.targets.find(wanted, wanted.clusterUid);
    if (target !== undefined) {
      const version = headerOf(request, AGENT_HEADERS.version);
      recordEvent(
        clusterEvent(names, target, "AgentJoined", `An agent ${version} joined from ${request.remoteAddress}`),
      );
    }
    return jsonResponse(201, JSON.stringify(issued), NO_STORE);
  } catch (error) {
    if (isApiError(error, "Forbidden")) tunnels.metrics.refused("join");
    throw error;
  }
}
