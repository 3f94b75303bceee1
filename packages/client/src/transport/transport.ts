// The port for sending requests, implemented with Node's sockets and with the browser's fetch.

export type TransportRequest = {
  readonly method: string;
  /** Below the server's base URL, with the query: `/api/v1/namespaces?limit=1`. */
  readonly path: string;
  readonly headers: { readonly [name: string]: string };
  readonly body?: string;
  readonly signal?: AbortSignal;
};

export type TransportResponse = {
  readonly status: number;
  /** A header by its lower-case name. */
  header(name: string): string | undefined;
  /** The body as it arrives. Ending the iteration closes the connection. */
  readonly body: AsyncIterable<Uint8Array>;
};

/** Resolves once the response headers arrived. Rejects if the server is unreachable or the signal aborts. */
export type Transport = AsyncDisposable & { send(request: TransportRequest): Promise<TransportResponse> };
