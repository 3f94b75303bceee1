// Setup for the replayed requests of other programs: a server, their headers, and the objects that they work with on either API surface.

import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { ACCESS_KEY, CONFIG_MAP, type ExampleKind } from "./example-kinds.ts";
import { type Answer, adminKey, type HttpClient, httpClient } from "./http-client.ts";
import { type PosternProcess, startPostern, temporaryDirectory } from "./postern-process.ts";

export const APPLY = "application/apply-patch+yaml";
export const MERGE = "application/merge-patch+json";
export const STRATEGIC = "application/strategic-merge-patch+json";
/** As client-go asks: protobuf first, then JSON. */
export const OPENAPI_V2 =
  "application/com.github.proto-openapi.spec.v2.v1.0+protobuf,application/com.github.proto-openapi.spec.v2@v1.0+protobuf,application/json";
const AGGREGATED =
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

export type Send = (
  method: string,
  path: string,
  options?: { readonly body?: object; readonly type?: string; readonly accept?: string },
) => Promise<Answer>;

/** For the tests of one file: a server of theirs, and how a program of that name sends requests to what is below `base`. */
export function useReplayServer(): { readonly sendTo: (base: string, agent: string) => Send } {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let server: PosternProcess;
  let http: HttpClient;
  let key: string;

  beforeAll(async () => {
    directory = await temporaryDirectory();
    server = await startPostern(join(directory.path, "data"));
    http = await httpClient(server);
    key = await adminKey(server);
  });

  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await directory?.[Symbol.asyncDispose]();
  });

  return {
    sendTo:
      (base, agent) =>
      (method, path, { body, type = "application/json", accept = "application/json, */*" } = {}) =>
        http(`${base}${path}`, {
          method,
          key,
          headers: { accept, "user-agent": agent, ...(body === undefined ? {} : { "content-type": type }) },
          ...(body === undefined ? {} : { body }),
        }),
  };
}

/** The body of an answer that must have this status. */
export async function expectStatus(status: number, answer: Promise<Answer>): Promise<any> {
  const { status: found, text, body } = await answer;
  expect(found, text.slice(0, 500)).toBe(status);
  return body;
}

/** Path, kind and verbs of each resource that can be listed. */
export async function listableResources(
  send: Send,
): Promise<readonly { readonly path: string; readonly kind: string; readonly verbs: readonly string[] }[]> {
  const core = await expectStatus(200, send("GET", "/api", { accept: AGGREGATED }));
  const groups = await expectStatus(200, send("GET", "/apis", { accept: AGGREGATED }));
  return [...core.items, ...groups.items].flatMap(({ metadata, versions }: any) =>
    versions.flatMap(({ version, resources }: any) =>
      resources
        .filter(({ verbs }: any) => verbs.includes("list"))
        .map(({ resource, responseKind, verbs }: any) => ({
          path:
            metadata.name === undefined
              ? `/api/${version}/${resource}`
              : `/apis/${metadata.name}/${version}/${resource}`,
          kind: responseKind.kind,
          verbs,
        })),
    ),
  );
}

export type ReplayTarget = ExampleKind & {
  /** The path of the API surface, and below it that of the collection. */
  readonly base: string;
  readonly collection: string;
  readonly valueAt: (object: any) => unknown;
  /** An object of the kind, as it is sent. */
  readonly object: (name: string, value: string, metadata?: object) => object;
};

const targetOf = (example: ExampleKind, place: Pick<ReplayTarget, "base" | "collection" | "valueAt">): ReplayTarget => {
  const { apiVersion, kind, namespace, content } = example;
  const where = namespace === undefined ? {} : { namespace };
  return {
    ...example,
    ...place,
    object: (name, value, metadata = {}) => ({
      apiVersion,
      kind,
      metadata: { name, ...where, ...metadata },
      ...content(value),
    }),
  };
};

export const REPLAY_TARGETS: readonly ReplayTarget[] = [
  targetOf(ACCESS_KEY, {
    base: "/kubernetes/management",
    collection: "/apis/management.postern/v1/ownedaccesskeys",
    valueAt: ({ spec }) => spec.displayName,
  }),
  targetOf(CONFIG_MAP, {
    base: "/kubernetes/project/default/virtualcluster/demo",
    collection: "/api/v1/namespaces/default/configmaps",
    valueAt: ({ data }) => data.value,
  }),
];
