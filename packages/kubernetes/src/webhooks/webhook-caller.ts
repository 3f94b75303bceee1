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
  override readonly name: string = "WebhookCallError";
}

/**
 * The webhook answered with another status than 2xx. Its body is left out: it may come from a server that was never meant as a webhook.
 * Source: k8s.io/apimachinery/pkg/api/errors/errors.go (NewGenericServerResponse), which says `unknown` for a body that is no text
 */
export class WebhookStatusError extends WebhookCallError {
  override readonly name = "WebhookStatusError";

  constructor(status: number) {
    super(
      STATUS_TEXTS[status] ??
        (status >= 500
          ? 'an error on the server ("unknown") has prevented the request from succeeding'
          : `the server responded with the status code ${status} but did not return more information`),
    );
  }
}

const STATUS_TEXTS: { readonly [status: number]: string } = {
  400: "the server rejected our request for an unknown reason",
  401: "the server has asked for the client to provide credentials",
  403: "unknown",
  404: "the server could not find the requested resource",
  405: "the server does not allow this method on the requested resource",
  406: "the server was unable to respond with a content type that the client supports",
  409: "the server reported a conflict",
  415: "unknown",
  422: "the server rejected our request due to an error in our request",
  429: "the server has received too many requests and has asked us to try again later",
  503: "the server is currently unable to handle the request",
  504: "the server was unable to return a response in the time allotted, but may still be processing the request",
};

export const DEADLINE_EXCEEDED = "context deadline exceeded";
