// The port to webhooks. Tenants choose their addresses; the implementation decides which addresses are allowed.

export type WebhookEndpoint = {
  /** `https://host:port`; the host may be an address. */
  readonly origin: string;
  /** Begins with a slash. */
  readonly path: string;
  /** The name in its certificate, where that is not the host. */
  readonly serverName?: string | undefined;
  /** PEM; absent: the public roots. */
  readonly authorityPem?: string | undefined;
};

export type WebhookCaller = {
  /**
   * POSTs JSON, and resolves with the text of the answer. Rejects with WebhookCallError; after `timeoutMs`, and when the signal is aborted, with
   * `context deadline exceeded`.
   */
  call(
    endpoint: WebhookEndpoint,
    body: string,
    options: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<string>;
};

/** Why there is no answer, in words that name no address. */
export class WebhookCallError extends Error {
  override readonly name = "WebhookCallError";
}

export const DEADLINE_EXCEEDED = "context deadline exceeded";
