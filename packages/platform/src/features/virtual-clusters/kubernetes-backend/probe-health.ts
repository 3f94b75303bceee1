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
    const version = await asPlatformRequest(
      "read its version",
      client.request({ method: "GET", path: "/version", signal: time.signal }),
    );
    return { ready: true, version: versionOf(version) };
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

function versionOf(answer: unknown): string {
  const version =
    typeof answer === "object" && answer !== null && "gitVersion" in answer ? answer.gitVersion : undefined;
  // It is written into a status that others read.
  return typeof version === "string" && /^v\d[\w.+-]{0,63}$/.test(version) ? version : "unknown";
}

const noAnswer = () => unreachableError({ reason: "ConnectTimeout", message: "it does not answer" });
