// The interface of both protocols for the load generator: one request at a time on each lane.

import { openHttp1Lane } from "./http1-lane.ts";
import { openHttp2Lanes } from "./http2-lanes.ts";
import type { Protocol, Target } from "./order.ts";

export type ClientRequest = {
  readonly method: string;
  readonly path: string;
  readonly contentType?: string | undefined;
  readonly body?: string | undefined;
};

export type ClientResponse = { readonly status: number; readonly bytes: number };

/** A connection (h1) or a place for one stream (h2): the next request waits for the response to the one before. */
export type Lane = { send(request: ClientRequest): Promise<ClientResponse> };

export type Client = Disposable & { readonly lanes: readonly Lane[] };

export async function openClient(target: Target, protocol: Protocol, lanes: number): Promise<Client> {
  if (protocol === "h2") return await openHttp2Lanes(target, lanes);
  const opened = await Promise.all(Array.from({ length: lanes }, () => openHttp1Lane(target)));
  return {
    lanes: opened,
    [Symbol.dispose]: () => {
      for (const lane of opened) lane[Symbol.dispose]();
    },
  };
}
