// Applies every manifest in examples/ and in YAML blocks of the README and the docs to the built server: strictly, and without a
// warning. Run: npx tsx -C @postern/source tools/check-examples.ts

import { readFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import { setup as buildWhereStale } from "../test/e2e/testing/fresh-build.ts";
import { type PosternProcess, startPostern, temporaryDirectory } from "../test/e2e/testing/postern-process.ts";
import { readSource, reportGate, repositoryFiles } from "./source-files.ts";

type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata?: { readonly name?: string; readonly namespace?: string };
};
type Found = { readonly where: string; readonly manifest: Manifest };
type Resource = { readonly path: string; readonly namespaced: boolean };
type Call = { readonly method: string; readonly path: string; readonly type?: string; readonly body?: unknown };
type Answer = { readonly status: number; readonly text: string; readonly warnings: readonly string[] };
type Send = (call: Call) => Promise<Answer>;

/** Bodies of requests for a subresource, by kind. */
const SUBRESOURCES: Readonly<Record<string, string>> = {
  VirtualClusterInstanceKubeConfig: "namespaces/p-default/virtualclusterinstances/demo/kubeconfig",
  OwnedAccessKeyRotation: "ownedaccesskeys/ci/rotate",
  OwnedAccessKeyExplanation: "ownedaccesskeys/ci/explain",
  CredentialLedger: "ownedaccesskeys/ci/credentials",
};

/** Referenced kinds come first. Of the rest, objects in a namespace that does not exist yet are retried. */
const ORDER = ["ClusterRole", "User", "Team", "Cluster", "Project", "VirtualClusterInstance", "SpaceInstance"];
const LAST = ["OwnedAccessKey", ...Object.keys(SUBRESOURCES)];

/** The files in examples/ci are for other systems. */
const EXAMPLES = /^examples\/(?!ci\/).*\.ya?ml$/;
const PAGES = /^(README\.md|(docs|examples|deploy)\/.*\.md|packages\/[^/]+\/README\.md)$/;
/** In YAML blocks, and in shell blocks that pipe manifests into kubectl. */
const BLOCKS = /^([ \t]*)```ya?ml\n(.*?)^[ \t]*```$|<<\s*'?(\w+)'?\n(.*?)^[ \t]*\3$/gms;

const files = repositoryFiles().filter((path) => EXAMPLES.test(path) || PAGES.test(path));
const faults: string[] = [];
const found = files.flatMap((path) => {
  const text = readSource(path);
  if (EXAMPLES.test(path)) return manifestsIn(text, path, true);
  return [...text.matchAll(BLOCKS)].flatMap(({ index, 1: indent = "", 2: yaml, 4: piped }) => {
    // The shell expands variables first.
    if (piped?.includes("$") === true) return [];
    const line = text.slice(0, index).split("\n").length;
    const block = (yaml ?? piped ?? "").replaceAll(new RegExp(`^${indent}`, "gm"), "");
    return manifestsIn(block, `${path}:${line}`, false);
  });
});

function manifestsIn(text: string, where: string, isExample: boolean): readonly Found[] {
  return parseAllDocuments(text).flatMap((document): readonly Found[] => {
    for (const error of document.errors) faults.push(`${where}: ${error.message}`);
    const manifest: unknown = document.toJS();
    if (isManifest(manifest)) return [{ where, manifest }];
    if (isExample && manifest !== null) faults.push(`${where}: has a document without apiVersion and kind`);
    return [];
  });
}

function isManifest(value: unknown): value is Manifest {
  return typeof value === "object" && value !== null && "apiVersion" in value && "kind" in value;
}

async function connect({ url, adminKubeconfig, caFile }: PosternProcess): Promise<Send & Disposable> {
  const ca = await readFile(caFile);
  const token: string = parse(await readFile(adminKubeconfig, "utf8")).users[0].user.token;
  const agent = new Agent({ ca, keepAlive: true, maxSockets: 4 });
  const send: Send = ({ method, path, type = "application/json", body }) =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, accept: ACCEPT, "content-type": type };
      request(new URL(path, url), { method, agent, headers }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk) => (text += chunk));
        response.on("error", reject);
        // Node joins several: 299 - "one", 299 - "two".
        const warnings = [...(response.headers["warning"] ?? "").matchAll(/299 \S+ ("(?:[^"\\]|\\.)*")/g)];
        response.on("end", () =>
          resolve({
            status: response.statusCode ?? 0,
            text,
            warnings: warnings.map(([, quoted = '""']) => JSON.parse(quoted)),
          }),
        );
      })
        .on("error", reject)
        .end(body === undefined ? undefined : JSON.stringify(body));
    });
  return Object.assign(send, { [Symbol.dispose]: () => agent.destroy() });
}

const ACCEPT = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

async function servedKinds(send: Send): Promise<ReadonlyMap<string, Resource>> {
  const kinds = new Map<string, Resource>();
  for (const root of ["/api", "/apis"]) {
    const { text } = await send({ method: "GET", path: root });
    for (const { metadata = {}, versions } of JSON.parse(text).items) {
      for (const { version, resources = [] } of versions) {
        const apiVersion = metadata.name === undefined ? version : `${metadata.name}/${version}`;
        for (const { resource, responseKind, scope, verbs } of resources) {
          // Others are only read here, such as the Services of clusters.
          if (!verbs.includes("create")) continue;
          const path = `${root}/${apiVersion}/${resource}`;
          kinds.set(`${apiVersion} ${responseKind.kind}`, { path, namespaced: scope === "Namespaced" });
        }
      }
    }
  }
  return kinds;
}

const MANAGEMENT = "/apis/management.postern/v1";
const QUERY = "fieldValidation=Strict&fieldManager=examples";

function callFor({ manifest }: Found, resource: Resource | undefined): Call {
  const { apiVersion, kind, metadata: { name = "", namespace = "default" } = {} } = manifest;
  const create = { method: "POST", body: manifest };
  const subresource = SUBRESOURCES[kind];
  if (subresource !== undefined) return { ...create, path: `${MANAGEMENT}/${subresource}?fieldValidation=Strict` };
  // A response for an unknown kind.
  if (resource === undefined) return { ...create, path: `/apis/${apiVersion}/${kind}` };
  const path = resource.namespaced ? resource.path.replace(/\/(?=[^/]*$)/, `/namespaces/${namespace}/`) : resource.path;
  // Only a create returns the value of a key, not an apply.
  if (kind === "OwnedAccessKey") return { ...create, path: `${path}?${QUERY}` };
  return { method: "PATCH", path: `${path}/${name}?${QUERY}`, type: "application/apply-patch+yaml", body: manifest };
}

const kindRankOf = ({ manifest: { kind } }: Found): number =>
  LAST.includes(kind)
    ? ORDER.length + 1 + LAST.indexOf(kind)
    : (ORDER.indexOf(kind) + ORDER.length + 1) % (ORDER.length + 1);

/** Pages come before the files: a page may have an object of the same name with less in it, and other files need theirs. */
const rankOf = (each: Found): number => kindRankOf(each) + (EXAMPLES.test(each.where) ? 0.5 : 0);

/** Manifests of one rank are sent concurrently; resolves with their number. */
async function applyAll(send: Send): Promise<number> {
  const kinds = await servedKinds(send);
  // Pages have manifests for clusters, too. A misspelt group must not count as one of those.
  const isOurs = ({ where, manifest: { apiVersion, kind } }: Found): boolean =>
    EXAMPLES.test(where) || apiVersion.includes("postern") || kinds.has(`${apiVersion} ${kind}`);
  const wanted = found.filter(isOurs);
  let left: readonly Found[] = wanted;
  for (;;) {
    const refused: (Found & { readonly fault: string })[] = [];
    const apply = async (each: Found): Promise<void> => {
      const { apiVersion, kind, metadata } = each.manifest;
      const what = `${each.where}: ${kind} ${metadata?.name ?? ""}`;
      const { status, text, warnings } = await send(callFor(each, kinds.get(`${apiVersion} ${kind}`)));
      if (status >= 300) refused.push({ ...each, fault: `${what}: ${status} ${messageIn(text)}` });
      else faults.push(...warnings.map((warning) => `${what}: warns: ${warning}`));
    };
    for (const rank of [...new Set(left.map(rankOf))].toSorted((one, other) => one - other)) {
      await Promise.all(left.filter((each) => rankOf(each) === rank).map(apply));
    }
    if (refused.length === 0 || refused.length === left.length) {
      faults.push(...refused.map(({ fault }) => fault));
      return wanted.length;
    }
    left = refused;
  }
}

const messageIn = (text: string): string => (text.startsWith("{") ? (JSON.parse(text).message ?? text) : text);

buildWhereStale();
const directory = await temporaryDirectory();
try {
  await using server = await startPostern(join(directory.path, "data"), ["--store", "memory"]);
  using send = await connect(server);
  reportGate("examples", await applyAll(send), faults);
} finally {
  await directory[Symbol.asyncDispose]();
}
