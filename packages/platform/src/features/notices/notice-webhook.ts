// Sends notices to the configured webhook, signed, with a timeout, and only to allowed addresses. Callers retry.

import { readFile } from "node:fs/promises";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { ConfigurationError } from "../../foundation/config/configuration-error.ts";
import { drainAnswer } from "../../foundation/http/drain-answer.ts";
import type { AddressRules } from "../../foundation/upstream/address-rules.ts";
import type { ResolveHost } from "../../foundation/upstream/resolve-host.ts";
import { createUpstreamConnections } from "../../foundation/upstream/upstream-connections.ts";
import type { UpstreamRequest } from "../../foundation/upstream/upstream-exchange.ts";
import { readWebhookSecrets, signatureHeaders } from "./webhook-signature.ts";

export type NoticeWebhook = Disposable & {
  /** Resolves when the receiver has answered with 2xx. Rejects with NotDeliveredError. */
  send(message: { readonly id: string; readonly body: string }, signal: AbortSignal): Promise<void>;
};

export type NoticeWebhookDeps = {
  readonly url: string;
  readonly secretFile: string;
  /** Read again for each message. "": the public roots. */
  readonly caFile: string;
  readonly timeoutMs: number;
  readonly addresses: AddressRules;
  readonly runtime: Pick<Runtime, "clock" | "scheduler">;
  /** Absent: the operating system's. */
  readonly resolve?: ResolveHost;
};

/** Contains no part of the URL, which may be a secret. */
export class NotDeliveredError extends Error {
  override readonly name = "NotDeliveredError";
}

/** The dialler speaks of clusters, which is what it reaches otherwise. */
const notDelivered = (error: unknown): NotDeliveredError =>
  new NotDeliveredError(error instanceof Error ? error.message.replace("the cluster", "the webhook") : "unknown", {
    cause: error,
  });

/** Rejects with ConfigurationError where a file cannot be read, or holds no secret. */
export async function createNoticeWebhook(deps: NoticeWebhookDeps): Promise<NoticeWebhook> {
  const { secretFile, caFile, timeoutMs, addresses, runtime, resolve } = deps;
  const url = new URL(deps.url);
  await readWebhookSecrets(secretFile);
  const connect = (certificateAuthorityPem: string | undefined) => ({
    certificateAuthorityPem,
    connections: createUpstreamConnections(
      {
        server: url.origin,
        credential: {},
        ...(certificateAuthorityPem === undefined ? {} : { certificateAuthorityPem }),
      },
      {
        scheduler: runtime.scheduler,
        addresses,
        limits: { connectTimeoutMs: timeoutMs, responseTimeoutMs: timeoutMs },
        ...(resolve === undefined ? {} : { resolve }),
      },
    ),
  });
  let current = connect(caFile === "" ? undefined : await readAuthorities(caFile));
  /** Messages already under way end on their own connections. */
  const replaceAuthorities = (certificateAuthorityPem: string): void => {
    if (isDisposed || certificateAuthorityPem === current.certificateAuthorityPem) return;
    const { connections: earlier } = current;
    try {
      current = connect(certificateAuthorityPem);
    } catch (cause) {
      throw new ConfigurationError(`--notice-webhook-ca-file ${caFile} cannot be used`, { cause });
    }
    earlier.retire();
  };
  let isDisposed = false;
  return {
    async send({ id, body }, signal) {
      // Both files anew each time: they are replaced while the server runs.
      const secrets = await readWebhookSecrets(secretFile);
      if (caFile !== "") replaceAuthorities(await readAuthorities(caFile));
      const asked: UpstreamRequest = {
        method: "POST",
        path: `${url.pathname}${url.search}`,
        headers: {
          "content-type": "application/json",
          "user-agent": "postern",
          ...signatureHeaders({ id, body, sentAt: runtime.clock.now() }, secrets),
        },
        signal,
        body,
      };
      const response = await current.connections.send(asked).catch((error: unknown) => {
        throw signal.aborted ? error : notDelivered(error);
      });
      const { statusCode } = response;
      await drainAnswer(response);
      // A redirect is not a receipt, and leads to an address that is not configured.
      if (statusCode < 200 || statusCode > 299) {
        throw new NotDeliveredError(`the webhook answered ${statusCode}`);
      }
    },
    [Symbol.dispose]() {
      isDisposed = true;
      current.connections[Symbol.dispose]();
    },
  };
}

async function readAuthorities(caFile: string): Promise<string> {
  const text = await readFile(caFile, "utf8").catch((error: unknown) => {
    throw new ConfigurationError(`cannot read --notice-webhook-ca-file ${caFile}`, { cause: error });
  });
  // An empty text would be trust in the public roots.
  if (!text.includes("-----BEGIN CERTIFICATE-----"))
    throw new ConfigurationError(`--notice-webhook-ca-file ${caFile} contains no certificate`);
  return text;
}
