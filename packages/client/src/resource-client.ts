// The verbs of one resource: get, list, create, replace, patch, apply, delete and watch.

import type { JsonArray, JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { formatApiVersion, type GroupVersionResource } from "@postern/apimachinery/meta/group-version";
import type { KubeObject, ListMeta } from "@postern/apimachinery/meta/object-meta";
import type { ApiClient, ApiRequest, Query } from "./api-client.ts";
import { readWatchEvents, type WatchEvent } from "./watch-events.ts";

export type ResourceAddress = GroupVersionResource & {
  /** Absent for cluster-scoped resources, and for lists and watches of all namespaces. */
  readonly namespace?: string;
};

export type CallOptions = { readonly signal?: AbortSignal };
export type WriteOptions = CallOptions & {
  readonly dryRun?: boolean;
  readonly fieldManager?: string;
  readonly fieldValidation?: "Ignore" | "Warn" | "Strict";
  /** Further parameters of the server. */
  readonly query?: Query;
};
export type ApplyOptions = WriteOptions & { readonly fieldManager: string; readonly force?: boolean };
export type ListOptions = CallOptions & {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: "Exact" | "NotOlderThan";
};
export type WatchOptions = CallOptions & {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion?: string;
  readonly allowWatchBookmarks?: boolean;
  readonly timeoutSeconds?: number;
};
export type DeleteOptions = CallOptions & {
  readonly propagationPolicy?: "Orphan" | "Background" | "Foreground";
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly dryRun?: boolean;
};
export type Patch =
  | { readonly type: "json"; readonly operations: JsonArray }
  | { readonly type: "merge"; readonly patch: JsonObject };

export type ObjectList<T> = { readonly metadata: ListMeta; readonly items: readonly T[] };

export type ResourceClient<T extends KubeObject> = {
  get(name: string, options?: CallOptions): Promise<T>;
  /** One page; with `metadata.continue` there are more. */
  list(options?: ListOptions): Promise<ObjectList<T>>;
  create(object: JsonObject, options?: WriteOptions): Promise<T>;
  /** Replaces the object named in `metadata.name`. Throws Conflict if its resourceVersion is not current. */
  replace(object: T, options?: WriteOptions): Promise<T>;
  patch(name: string, patch: Patch, options?: WriteOptions): Promise<T>;
  /** Server-side apply of a whole or partial object. */
  apply(name: string, configuration: JsonObject, options: ApplyOptions): Promise<T>;
  delete(name: string, options?: DeleteOptions): Promise<void>;
  /** Ends when the server ends it, the signal aborts, or the loop is left. Throws ApiError for an ERROR event. */
  watch(options?: WatchOptions): AsyncIterable<WatchEvent<T>>;
  /**
   * Creates a subresource: `createSubresource("ci", "rotate", { kind: "OwnedAccessKeyRotation", spec })`, by default of the resource's own group
   * and version. The response has a kind of its own.
   */
  createSubresource(name: string, subresource: string, body: JsonObject, options?: WriteOptions): Promise<JsonValue>;
  getSubresource(name: string, subresource: string, options?: CallOptions): Promise<JsonValue>;
};

/** The page size that kubectl uses. */
const PAGE_SIZE = 500;

/** The caller provides the type that the server serves at this address. */
export function createResourceClient<T extends KubeObject = KubeObject>(
  client: ApiClient,
  address: ResourceAddress,
): ResourceClient<T> {
  const collection = collectionPath(address);
  const apiVersion = formatApiVersion(address);
  const pathOf = (name: string, subresource?: string) =>
    `${collection}/${encodeURIComponent(name)}${subresource === undefined ? "" : `/${subresource}`}`;
  /** Every successful response to these requests has a body of the caller's type. */
  const send = async <Answer>(request: ApiRequest): Promise<Answer> => (await client.request(request)) as Answer;

  return {
    get: (name, options) => send({ method: "GET", path: pathOf(name), ...signalOf(options) }),
    async list(options = {}) {
      const { signal, ...query } = options;
      const list = await send<ObjectList<T>>({ method: "GET", path: collection, query, ...signalOf(options) });
      return { metadata: list.metadata, items: list.items ?? [] };
    },
    create: (object, options) =>
      send({ method: "POST", path: collection, body: object, query: writeQuery(options), ...signalOf(options) }),
    replace: (object, options) =>
      send({
        method: "PUT",
        path: pathOf(object.metadata.name ?? ""),
        // An object is JSON; its type describes each member.
        body: object as JsonValue,
        query: writeQuery(options),
        ...signalOf(options),
      }),
    patch: (name, patch, options) =>
      send({
        method: "PATCH",
        path: pathOf(name),
        query: writeQuery(options),
        ...(patch.type === "json"
          ? { body: patch.operations, contentType: "application/json-patch+json" }
          : { body: patch.patch, contentType: "application/merge-patch+json" }),
        ...signalOf(options),
      }),
    apply: (name, configuration, options) =>
      send({
        method: "PATCH",
        path: pathOf(name),
        // JSON is YAML.
        contentType: "application/apply-patch+yaml",
        body: configuration,
        query: { ...writeQuery(options), force: options.force },
        ...signalOf(options),
      }),
    async delete(name, options = {}) {
      const { signal, dryRun, ...body } = options;
      await client.request({
        method: "DELETE",
        path: pathOf(name),
        body: { kind: "DeleteOptions", apiVersion: "v1", ...body, ...(dryRun === true ? { dryRun: ["All"] } : {}) },
        ...signalOf(options),
      });
    },
    async *watch(options = {}) {
      const { signal, ...query } = options;
      const response = await client.stream({
        method: "GET",
        path: collection,
        query: { ...query, watch: true },
        ...signalOf(options),
      });
      yield* readWatchEvents<T>(response.body);
    },
    createSubresource: (name, subresource, body, options) =>
      send({
        method: "POST",
        path: pathOf(name, subresource),
        body: { apiVersion, metadata: {}, ...body },
        query: writeQuery(options),
        ...signalOf(options),
      }),
    getSubresource: (name, subresource, options) =>
      send({ method: "GET", path: pathOf(name, subresource), ...signalOf(options) }),
  };
}

/** The pages of a list, one after the other. All have the resourceVersion of the first page. */
export async function* listPages<T extends KubeObject>(
  resource: ResourceClient<T>,
  options: Omit<ListOptions, "limit" | "continue"> & { readonly pageSize?: number } = {},
): AsyncIterable<ObjectList<T>> {
  const { pageSize = PAGE_SIZE, ...listed } = options;
  // The continue token contains the version; the server refuses a second one.
  const { resourceVersion: _, resourceVersionMatch: __, ...rest } = listed;
  let page = await resource.list({ ...listed, limit: pageSize });
  yield page;
  for (let next = page.metadata.continue; next !== undefined && next !== ""; next = page.metadata.continue) {
    page = await resource.list({ ...rest, limit: pageSize, continue: next });
    yield page;
  }
}

/** All objects of a list. `metadata` is that of the first page. */
export async function listAll<T extends KubeObject>(
  resource: ResourceClient<T>,
  options: Omit<ListOptions, "limit" | "continue"> = {},
): Promise<ObjectList<T>> {
  const items: T[] = [];
  let metadata: ListMeta | undefined;
  for await (const page of listPages(resource, options)) {
    metadata ??= page.metadata;
    items.push(...page.items);
  }
  return { metadata: metadata ?? {}, items };
}

/** `/api/v1/…` for the core group, `/apis/<group>/<version>/…` for the others. */
export function collectionPath({ group, version, resource, namespace }: ResourceAddress): string {
  const root = `/${group === "" ? "api" : "apis"}/${formatApiVersion({ group, version })}`;
  return namespace === undefined
    ? `${root}/${resource}`
    : `${root}/namespaces/${encodeURIComponent(namespace)}/${resource}`;
}

const signalOf = (options: CallOptions | undefined): CallOptions =>
  options?.signal === undefined ? {} : { signal: options.signal };

const writeQuery = ({ dryRun, fieldManager, fieldValidation, query }: WriteOptions = {}): Query => ({
  ...query,
  dryRun: dryRun === true ? "All" : undefined,
  fieldManager,
  fieldValidation,
});
