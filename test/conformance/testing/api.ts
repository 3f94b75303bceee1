// Short ways to say what the cases of the suite do: requests of a user, and the objects they send.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { afterAll, beforeAll } from "vitest";
import type { Answer, OpenAnswer, WireRequest } from "./conformance-client.ts";
import { type RunningServer, startServer } from "./start-server.ts";

export const GROUP = "management.example.com";
export const API = `/apis/${GROUP}/v1`;
export const KEYS = `${API}/ownedaccesskeys`;
export const WIDGETS = `${API}/namespaces/default/widgets`;

export const JSON_PATCH = "application/json-patch+json";
export const MERGE_PATCH = "application/merge-patch+json";
export const APPLY_PATCH = "application/apply-patch+yaml";
export const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

export const key = (name: string, spec: JsonObject = { user: "u1" }, meta: JsonObject = {}): JsonObject => ({
  apiVersion: `${GROUP}/v1`,
  kind: "OwnedAccessKey",
  metadata: { name, ...meta },
  spec,
});

export const widget = (name: string, spec: JsonObject = { size: 1 }, meta: JsonObject = {}): JsonObject => ({
  apiVersion: `${GROUP}/v1`,
  kind: "Widget",
  metadata: { name, ...meta },
  spec,
});

type CallOptions = {
  /** Default: admin; "" for an anonymous request. */
  readonly as?: "admin" | "alice" | "bob" | "";
  readonly contentType?: string;
  readonly headers?: { readonly [name: string]: string };
};

type Body = JsonObject | readonly JsonObject[] | string;

/** An answer whose body the case knows the shape of. */
type Reply = Omit<Answer, "json"> & { readonly json: any };

export type Api = {
  readonly server: RunningServer;
  get(path: string, options?: CallOptions): Promise<Reply>;
  post(path: string, body: Body, options?: CallOptions): Promise<Reply>;
  put(path: string, body: Body, options?: CallOptions): Promise<Reply>;
  /** `type` is the media type of the patch. */
  patch(path: string, type: string, body: Body, options?: CallOptions): Promise<Reply>;
  delete(path: string, body?: Body, options?: CallOptions): Promise<Reply>;
  /** A watch that has begun. */
  watch(path: string, options?: CallOptions): Promise<OpenAnswer>;
};

/** One server for the cases of a file. */
export function useServer(options: Parameters<typeof startServer>[0] = {}): Api {
  let server: RunningServer | undefined;
  beforeAll(async () => {
    server = await startServer(options);
  });
  afterAll(() => server?.[Symbol.asyncDispose]());
  return apiOf(() => {
    if (server === undefined) throw new Error("the server runs during cases only");
    return server;
  });
}

/** Sends to whatever server runs when a request is made. */
export function apiOf(running: () => RunningServer): Api {
  const call = (method: string, path: string, body: Body | undefined, options: CallOptions = {}): Promise<Reply> =>
    running().client.send(wireRequest(method, path, body, options));
  return {
    get server() {
      return running();
    },
    get: (path, options) => call("GET", path, undefined, options),
    post: (path, body, options) => call("POST", path, body, options),
    put: (path, body, options) => call("PUT", path, body, options),
    patch: (path, contentType, body, options) => call("PATCH", path, body, { ...options, contentType }),
    delete: (path, body, options) => call("DELETE", path, body, options),
    watch: (path, options) => running().client.open(wireRequest("GET", path, undefined, options ?? {})),
  };
}

function wireRequest(
  method: string,
  path: string,
  body: Body | undefined,
  { as = "admin", contentType = "application/json", headers = {} }: CallOptions,
): WireRequest {
  return {
    method,
    path,
    headers: {
      Accept: "application/json",
      ...(as === "" ? {} : { Authorization: `Bearer ${as}-token` }),
      ...(body === undefined || contentType === "" ? {} : { "Content-Type": contentType }),
      ...headers,
    },
    body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
  };
}

/** The events of a watch as they have come, one document each. */
export const parseEvents = (lines: readonly string[]) => lines.map((line) => JSON.parse(line));
