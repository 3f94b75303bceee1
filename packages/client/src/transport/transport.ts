// The port for sending requests, implemented with Node's sockets and with the browser's fetch.

export type TransportRequest = {
  readonly method: string;
  /** Below the server's base URL, with its query: `/api/v1/namespaces?limit=1`. */
  readonly path: string;
  readonly headers: { readonly [name: string]: string };
  readonly body?: string;
  readonly signal?: AbortSignal;
};

export type TransportResponse = {
  readonly status: number;
  /** A header by its lower-case name. */
  header(name: string): string | undefined;
  /** The body as it arrives. To stop reading gives the connection up. */
  readonly body: AsyncIterable<Uint8Array>;
};

/** Resolves once the headers of the answer are there. Rejects when the server cannot be reached or the signal aborts. */
export type Transport = AsyncDisposable & { send(request: TransportRequest): Promise<TransportResponse> };
