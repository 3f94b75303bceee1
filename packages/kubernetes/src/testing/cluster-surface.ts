// The API surface of a cluster with stored workloads in memory, asked as a client asks: what it answers is a status and a body.

import { type ApiError, isApiError } from "@postern/apimachinery/meta/api-error";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { createTestContext } from "@postern/apiserver/testing/test-context";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import { createCompiledDefinitions } from "../custom-resources/compiled-definitions.ts";
import { ISSUER_DISCOVERY_PATHS } from "../service-accounts/issuer-discovery.ts";
import { onlyKey, type ServiceAccountKey } from "../service-accounts/service-account-key.ts";
import { fail, openSuiteSurface } from "./suite-surface.ts";

export type ClusterRequest = {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly json?: unknown;
  /** The body as it is sent, instead of `json`. */
  readonly text?: string;
  readonly contentType?: string;
  readonly accept?: string;
};

export type ClusterAnswer = { readonly status: number; readonly json: any; readonly warnings: readonly string[] };

export type ClusterSurface = AsyncDisposable & {
  /** Of all kinds that are served. */
  readonly definitions: readonly ResourceDefinition[];
  send(request: ClusterRequest): Promise<ClusterAnswer>;
  /** Resolves when no controller has anything left to do. */
  settled(): Promise<void>;
};

export type ClusterSurfaceOptions = { readonly runsWorkloads?: () => boolean };

/** Webhooks are never called. With a key, ServiceAccounts have tokens. */
export async function openClusterSurface(
  serviceAccountKey?: ServiceAccountKey,
  options: ClusterSurfaceOptions = {},
): Promise<ClusterSurface> {
  const cluster = await openSuiteSurface([], {
    ...(serviceAccountKey === undefined
      ? {}
      : { serviceAccountKeys: onlyKey(serviceAccountKey), nonResourcePaths: ISSUER_DISCOVERY_PATHS }),
    customResources: createCompiledDefinitions(),
    cluster: { keepsWorkloads: () => true, completesJobs: () => false, webhooks: { call: fail }, ...options },
  });
  await cluster.settled();
  return {
    async send({ method, path, json, text, contentType = "application/json", accept = "application/json" }) {
      const body = text ?? (json === undefined ? undefined : JSON.stringify(json));
      const context = createTestContext({
        method,
        url: path,
        headers: { accept, ...(body === undefined ? {} : { "content-type": contentType }) },
        ...(body === undefined ? {} : { body }),
      });
      const answer = await answered(async () => await cluster.route(context));
      return { ...answer, warnings: context.warnings.texts };
    },
    definitions: cluster.definitions,
    settled: () => cluster.settled(),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

async function answered(route: () => Promise<ApiResponse>): Promise<Pick<ClusterAnswer, "status" | "json">> {
  try {
    const { status, body } = await route();
    if (body.type !== "bytes") throw new Error("the answer is a stream");
    return { status, json: parsed(Buffer.from(body.bytes).toString()) };
  } catch (error) {
    if (!isApiError(error)) throw error;
    const { code, message, reason, details }: ApiError = error;
    return {
      status: code,
      json: { kind: "Status", message, reason, ...(details === undefined ? {} : { details }), code },
    };
  }
}

/** Unknown paths are answered by a text. */
const parsed = (text: string): unknown => (text.startsWith("{") ? JSON.parse(text) : text);
