// Checks whether a cluster is ready, and reads its version.

import { ApiError, isApiError } from "@postern/apimachinery/meta/api-error";
import type { Awaitable } from "@postern/apiserver/runtime/awaitable";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import type { ApiClient } from "@postern/client/api-client";
import { faultOf, unreachableError } from "../../../foundation/upstream/upstream-failure.ts";
import type { VirtualClusterHealth } from "../virtual-cluster-backend.ts";
import { asPlatformRequest } from "./cluster-refusal.ts";
import { deadline } from "./pause.ts";

const PROBE_TIMEOUT_MS = 10_000;
/** Clusters older than Kubernetes 1.16 have no /readyz. */
const ENDPOINTS = ["/readyz", "/healthz"] as const;

/** Rejects only if the signal is aborted. */
export async function probeHealth(
  connect: (signal: AbortSignal) => Awaitable<{ readonly client: ApiClient }>,
  { scheduler, timeoutMs = PROBE_TIMEOUT_MS }: { readonly scheduler: Scheduler; readonly timeoutMs?: number },
  signal: AbortSignal,
): Promise<VirtualClusterHealth> {
  using time = deadline(scheduler, timeoutMs, noAnswer, signal);
  try {
    const { client } = await connect(time.signal);
    await checkReady(client, time.signal);
    return { ready: true, version: await asPlatformRequest("read its version", readVersion(client, time.signal)) };
  } catch (error) {
    if (signal.aborted || !(error instanceof ApiError)) throw error;
    return { ready: false, ...faultOf(error) };
  }
}

async function checkReady(client: ApiClient, signal: AbortSignal): Promise<void> {
  for (const path of ENDPOINTS) {
    try {
      const { body } = await client.stream({ method: "GET", path, accept: "*/*", signal });
      // Read completely, so that the connection can be reused.
      for await (const _ of body);
      return;
    } catch (error) {
      // The cluster may refuse the request; its response shows that it runs.
      if (isApiError(error, "Forbidden")) return;
      if (!isApiError(error, "NotFound")) throw notReady(error);
    }
  }
}

/** A 500 of the cluster means that it is not ready; connection errors already have a message. */
function notReady(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.details?.causes !== undefined || error.code === 504) return error;
  return unreachableError({
    reason: "NotReady",
    message: `it answers its readiness check with code ${error.code}`,
  });
}

/** A hundred times as long as any. Each check parses it, and a tenant may run what is checked. */
const MAX_VERSION_BYTES = 16 << 10;

async function readVersion(client: ApiClient, signal: AbortSignal): Promise<string> {
  const { body } = await client.stream({ method: "GET", path: "/version", signal });
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size <= MAX_VERSION_BYTES) chunks.push(chunk);
  }
  return size > MAX_VERSION_BYTES ? UNKNOWN : versionIn(Buffer.concat(chunks).toString());
}

const UNKNOWN = "unknown";

/** It is written into a status that others read. */
function versionIn(text: string): string {
  try {
    const { gitVersion } = JSON.parse(text) as { readonly gitVersion?: unknown };
    return typeof gitVersion === "string" && /^v\d[\w.+-]{0,63}$/.test(gitVersion) ? gitVersion : UNKNOWN;
  } catch {
    return UNKNOWN;
  }
}

const noAnswer = () => unreachableError({ reason: "ConnectTimeout", message: "it does not answer" });
