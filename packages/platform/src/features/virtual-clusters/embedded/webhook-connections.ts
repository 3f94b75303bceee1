// Connections to the webhooks of one embedded cluster. Their addresses come from a tenant: the same address rules apply as for targets that tenants
// register, redirects are not followed, and time, size of responses and number of concurrent calls are limited.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import {
  DEADLINE_EXCEEDED,
  WebhookCallError,
  type WebhookCaller,
  type WebhookEndpoint,
  WebhookStatusError,
} from "@postern/kubernetes/webhooks/webhook-caller";
import type { AddressRules } from "../../../foundation/upstream/address-rules.ts";
import type { ResolveHost } from "../../../foundation/upstream/resolve-host.ts";
import {
  createUpstreamConnections,
  type UpstreamConnections,
} from "../../../foundation/upstream/upstream-connections.ts";
import { faultOf } from "../../../foundation/upstream/upstream-failure.ts";
import type { UpstreamResponse } from "../../../foundation/upstream/upstream-response.ts";
import { CostlyTlsError, checkBundle } from "../../../foundation/upstream/upstream-tls.ts";

export type WebhookConnectionsDeps = {
  readonly scheduler: Scheduler;
  readonly addresses: AddressRules;
  readonly userAgent: string;
  /** Absent: the operating system's resolver. */
  readonly resolve?: ResolveHost | undefined;
};

/** The largest possible object, as a patch in base64. */
const MAX_ANSWER_BYTES = 4 << 20;
/** Concurrent calls of one cluster. */
const MAX_CALLS = 100;
/**
 * A server may have so many times the calls that are free: alone 66, beside one that does not answer 22, and so on. The threshold leaves some for
 * others at any time (Choudhury and Hahne, Dynamic Queue Length Thresholds for Shared-Memory Packet Switches, 1998).
 */
const SHARE_OF_FREE = 2;
/** Calls to servers whose last call expired: so many to each, and together, however many servers they are. */
const MAX_CALLS_TO_ONE_SILENT = 3;
const MAX_CALLS_TO_SILENT = 30;
/** Silent servers that are remembered. */
const MAX_SILENT = 1_000;
/** Number of servers to which connections are kept alive. */
const MAX_TARGETS = 16;
/** In one caBundle. A request may ask a hundred webhooks, and OpenSSL reads their bundles on the event loop. */
const MAX_AUTHORITIES = 32;
const LIMITS = {
  maxConnections: MAX_CALLS,
  maxUpgrades: 0,
  connectTimeoutMs: 10_000,
  // Each call has its own timeout, of at most 30 s.
  responseTimeoutMs: 60_000,
  idleTimeoutMs: 10_000,
};

export function createWebhookConnections(deps: WebhookConnectionsDeps): WebhookCaller & Disposable {
  const { scheduler, addresses, userAgent, resolve } = deps;
  /** The most recently used one is last. */
  const targets = new Map<string, UpstreamConnections>();
  /** Calls in progress, by server; of silent servers also without one. */
  const servers = new Map<string, { calls: number; isSilent: boolean }>();
  let calls = 0;
  /** Resolves in the turn of the event loop in which the next bundle may be read. */
  let reading = Promise.resolve();
  let callsToSilent = 0;

  /** Throws WebhookCallError where the server has its share already. Dispose it after the call. */
  function takeCall(origin: string): Disposable & { expired(): void } {
    const server = servers.get(origin) ?? { calls: 0, isSilent: false };
    const { isSilent } = server;
    if (calls >= MAX_CALLS) throw new WebhookCallError(`more than ${MAX_CALLS} calls to webhooks are in progress`);
    const hasRoom = isSilent
      ? server.calls < MAX_CALLS_TO_ONE_SILENT && callsToSilent < MAX_CALLS_TO_SILENT
      : server.calls < SHARE_OF_FREE * (MAX_CALLS - calls);
    if (!hasRoom)
      throw new WebhookCallError(`${server.calls} calls to the server are in progress, and others need the rest`);
    servers.set(origin, server);
    server.calls++;
    calls++;
    if (isSilent) callsToSilent++;
    let hasExpired = false;
    return {
      expired() {
        hasExpired = true;
      },
      [Symbol.dispose]() {
        server.calls--;
        calls--;
        if (isSilent) callsToSilent--;
        server.isSilent = hasExpired;
        if (server.calls > 0) return;
        servers.delete(origin);
        if (!server.isSilent) return;
        servers.set(origin, server);
        const [oldest] = servers;
        if (servers.size > MAX_SILENT && oldest?.[1].calls === 0) servers.delete(oldest[0]);
      },
    };
  }

  async function connectionsTo(endpoint: WebhookEndpoint): Promise<UpstreamConnections> {
    const { origin, serverName, authorityPem } = endpoint;
    const id = JSON.stringify([origin, serverName, authorityPem]);
    if (authorityPem !== undefined && !targets.has(id)) {
      reading = reading.then(() => new Promise((resolve) => setImmediate(resolve)));
      await reading;
    }
    const connections = targets.get(id) ?? connect(endpoint);
    targets.delete(id);
    targets.set(id, connections);
    for (const [oldest, unused] of targets) {
      if (targets.size <= MAX_TARGETS) break;
      targets.delete(oldest);
      unused.retire();
    }
    return connections;
  }

  /** Throws CostlyTlsError, and OpenSSL's error for invalid certificates. */
  const connect = ({ origin, serverName, authorityPem }: WebhookEndpoint): UpstreamConnections => {
    checkBundle(authorityPem, "its caBundle", MAX_AUTHORITIES);
    return createUpstreamConnections(
      {
        server: origin,
        credential: {},
        ...(authorityPem === undefined ? {} : { certificateAuthorityPem: authorityPem }),
        ...(serverName === undefined ? {} : { tlsServerName: serverName }),
      },
      { scheduler, addresses, limits: LIMITS, ...(resolve === undefined ? {} : { resolve }) },
    );
  };

  async function post(endpoint: WebhookEndpoint, body: string, signal: AbortSignal): Promise<string> {
    const connections = await connectionsTo(endpoint);
    const response = await connections.send({
      method: "POST",
      path: endpoint.path,
      headers: {
        "content-type": "application/json",
        accept: "application/json, */*",
        "user-agent": userAgent,
      },
      signal,
      body,
      // Webhooks have to be idempotent: they are asked again after conflicts as well.
      mayRepeat: true,
    });
    const { statusCode } = response;
    if (statusCode < 200 || statusCode > 299) {
      response.destroy();
      // Upstream follows them.
      if (statusCode >= 300 && statusCode < 400) {
        throw new WebhookCallError(`the server responded with code ${statusCode}, and redirects are not followed`);
      }
      throw new WebhookStatusError(statusCode);
    }
    return await readText(response);
  }

  return {
    async call(endpoint, body, { timeoutMs, signal }) {
      using place = takeCall(endpoint.origin);
      const deadline = new AbortController();
      const expire = (): void => deadline.abort(new WebhookCallError(DEADLINE_EXCEEDED));
      const timer = scheduler.schedule(timeoutMs, () => {
        place.expired();
        expire();
      });
      signal.addEventListener("abort", expire, { once: true });
      if (signal.aborted) expire();
      try {
        return await post(endpoint, body, deadline.signal);
      } catch (error) {
        throw deadline.signal.aborted ? deadline.signal.reason : callErrorOf(error);
      } finally {
        timer[Symbol.dispose]();
        signal.removeEventListener("abort", expire);
      }
    },
    [Symbol.dispose]() {
      for (const connections of targets.values()) connections[Symbol.dispose]();
      targets.clear();
    },
  };
}

/** Error for any other fault of a cluster. */
function callErrorOf(error: unknown): WebhookCallError {
  if (error instanceof WebhookCallError) return error;
  if (error instanceof CostlyTlsError) return new WebhookCallError(error.message, { cause: error });
  const why = isApiError(error) ? faultOf(error).message : "the connection failed";
  return new WebhookCallError(why, { cause: error });
}

async function readText(response: UpstreamResponse): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const bytes of response) {
    size += bytes.length;
    if (size > MAX_ANSWER_BYTES) {
      throw new WebhookCallError(`the response has more than ${MAX_ANSWER_BYTES} bytes`);
    }
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}
