// The routes of a running platform, read from its own discovery, so that a new one is there by itself.

import type { PlatformCall, RunningPlatform } from "../../testing/running-platform.ts";

const AGGREGATED = { accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" };

export type ServedRoute = {
  /** Such as `create virtualclusterinstances/kubeconfig`. */
  readonly id: string;
  /** `resource` with its subresource. */
  readonly what: string;
  readonly verb: string;
  /** "" for a verb that is not known here. */
  readonly method: string;
  /** The path and query for a namespace, which a cluster-scoped resource ignores, and the name of an object. */
  readonly path: (place: { readonly namespace: string; readonly name: string }) => string;
};

const METHODS: { readonly [verb: string]: readonly [method: string, below: "collection" | "object", query: string] } = {
  get: ["GET", "object", ""],
  list: ["GET", "collection", ""],
  watch: ["GET", "collection", "?watch=1&timeoutSeconds=1"],
  create: ["POST", "collection", ""],
  update: ["PUT", "object", ""],
  patch: ["PATCH", "object", ""],
  delete: ["DELETE", "object", ""],
  deletecollection: ["DELETE", "collection", ""],
};

export async function servedRoutes(platform: Pick<RunningPlatform, "send">): Promise<readonly ServedRoute[]> {
  const roots = await Promise.all(["/api", "/apis"].map((path) => platform.send({ path, headers: AGGREGATED })));
  return roots.flatMap(({ body }) =>
    body.items.flatMap(({ metadata, versions }: any) =>
      versions.flatMap(({ version, resources }: any) => {
        const base = metadata.name ? `/apis/${metadata.name}/${version}` : `/api/${version}`;
        return resources.flatMap((resource: any) => resourceRoutes(base, resource));
      }),
    ),
  );
}

function resourceRoutes(base: string, { resource, scope, verbs, subresources = [] }: any): readonly ServedRoute[] {
  const collection = (namespace: string): string =>
    `${base}${scope === "Namespaced" ? `/namespaces/${namespace}` : ""}/${resource}`;
  const main = verbs.map((verb: string) => {
    const [method, below, query] = METHODS[verb] ?? ["", "object", ""];
    const path: ServedRoute["path"] = ({ namespace, name }) =>
      `${collection(namespace)}${below === "object" ? `/${name}` : ""}${query}`;
    return { id: `${verb} ${resource}`, what: resource, verb, method, path };
  });
  const below = subresources.flatMap(({ subresource, verbs: own }: any) =>
    own.map((verb: string) => {
      const [method, , query] = METHODS[verb] ?? ["", "object", ""];
      const path: ServedRoute["path"] = ({ namespace, name }) =>
        `${collection(namespace)}/${name}/${subresource}${query}`;
      return { id: `${verb} ${resource}/${subresource}`, what: `${resource}/${subresource}`, verb, method, path };
    }),
  );
  return [...main, ...below];
}

/** Request for a route; verbs that write come with an empty object. */
export const callOf = (
  route: ServedRoute,
  place: { readonly namespace: string; readonly name: string },
): PlatformCall => ({
  method: route.method,
  path: route.path(place),
  body: route.method === "GET" || route.method === "DELETE" ? undefined : {},
});
