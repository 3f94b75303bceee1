// Applies every manifest in examples/ and in the YAML blocks of the README and the docs to a real server in this process: strictly, and without
// a warning. Run: npx tsx -C @postern/source tools/check-examples.ts

import { parseAllDocuments } from "yaml";
import {
  type PlatformAnswer,
  type RunningPlatform,
  startPlatform,
} from "../packages/platform/src/testing/running-platform.ts";
import { readSource, reportGate, repositoryFiles } from "./source-files.ts";

type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata?: { readonly name?: string; readonly namespace?: string };
};
type Found = { readonly where: string; readonly manifest: Manifest };
type Resource = { readonly path: string; readonly namespaced: boolean };

/** Bodies of requests for a subresource, by their kind. */
const SUBRESOURCES: Readonly<Record<string, string>> = {
  VirtualClusterInstanceKubeConfig: "namespaces/p-default/virtualclusterinstances/demo/kubeconfig",
  OwnedAccessKeyRotation: "ownedaccesskeys/ci/rotate",
  OwnedAccessKeyExplanation: "ownedaccesskeys/ci/explain",
  CredentialLedger: "ownedaccesskeys/ci/credentials",
};

/** What others name comes first. Of the rest, what lies in a namespace that is not there yet is tried again. */
const ORDER = ["ClusterRole", "User", "Team", "Cluster", "Project", "VirtualClusterInstance", "SpaceInstance"];
const LAST = ["OwnedAccessKey", ...Object.keys(SUBRESOURCES)];

const EXAMPLES = /^examples\/.*\.ya?ml$/;
const PAGES = /^(README\.md|(docs|examples|deploy)\/.*\.md|packages\/[^/]+\/README\.md)$/;
/** In YAML blocks, and in what shell blocks pipe into kubectl. */
const BLOCKS = /^([ \t]*)```ya?ml\n(.*?)^[ \t]*```$|<<\s*'?(\w+)'?\n(.*?)^[ \t]*\3$/gms;

const files = repositoryFiles().filter((path) => EXAMPLES.test(path) || PAGES.test(path));
const faults: string[] = [];
const found = files.flatMap((path) => {
  const text = readSource(path);
  if (EXAMPLES.test(path)) return manifestsIn(text, path, true);
  return [...text.matchAll(BLOCKS)].flatMap(({ index, 1: indent = "", 2: yaml, 4: piped }) => {
    // The shell fills something in first.
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

async function servedKinds(platform: RunningPlatform): Promise<ReadonlyMap<string, Resource>> {
  const { body: groups } = await platform.send({ path: "/apis" });
  const versions: readonly string[] = groups.groups.flatMap(
    (group: { versions: readonly { groupVersion: string }[] }) =>
      group.versions.map(({ groupVersion }) => groupVersion),
  );
  const kinds = new Map<string, Resource>();
  for (const version of ["v1", ...versions]) {
    const base = version === "v1" ? "/api/v1" : `/apis/${version}`;
    const { body } = await platform.send({ path: base });
    for (const { kind, name, namespaced } of body.resources) {
      if (!name.includes("/")) kinds.set(`${version} ${kind}`, { path: `${base}/${name}`, namespaced });
    }
  }
  return kinds;
}

const QUERY = "fieldValidation=Strict&fieldManager=examples";

function send(platform: RunningPlatform, { manifest }: Found, resource: Resource | undefined): Promise<PlatformAnswer> {
  const { apiVersion, kind, metadata: { name = "", namespace = "default" } = {} } = manifest;
  const subresource = SUBRESOURCES[kind];
  if (subresource !== undefined)
    return platform.send({ path: `${subresource}?fieldValidation=Strict`, body: manifest });
  // An answer for what is not served says so.
  if (resource === undefined) return platform.send({ path: `/apis/${apiVersion}/${kind}`, body: manifest });
  const path = resource.namespaced ? resource.path.replace(/\/(?=[^/]*$)/, `/namespaces/${namespace}/`) : resource.path;
  // The value of a key is shown to who creates it, not to who applies it.
  if (kind === "OwnedAccessKey") return platform.send({ path: `${path}?${QUERY}`, body: manifest });
  const headers = { "content-type": "application/apply-patch+yaml" };
  return platform.send({ method: "PATCH", path: `${path}/${name}?${QUERY}`, headers, body: manifest });
}

const rankOf = ({ manifest: { kind } }: Found): number =>
  LAST.includes(kind)
    ? ORDER.length + 1 + LAST.indexOf(kind)
    : (ORDER.indexOf(kind) + ORDER.length + 1) % (ORDER.length + 1);

async function applyAll(platform: RunningPlatform): Promise<number> {
  const kinds = await servedKinds(platform);
  const isServed = ({ manifest: { apiVersion, kind } }: Found): boolean =>
    kinds.has(`${apiVersion} ${kind}`) || apiVersion.startsWith("management.postern/");
  const wanted = found.filter(isServed).toSorted((one, other) => rankOf(one) - rankOf(other));
  let left: readonly Found[] = wanted;
  for (;;) {
    const refused: (Found & { readonly fault: string })[] = [];
    for (const each of left) {
      const { apiVersion, kind, metadata } = each.manifest;
      const what = `${each.where}: ${kind} ${metadata?.name ?? ""}`;
      const { status, body, text, warnings } = await send(platform, each, kinds.get(`${apiVersion} ${kind}`));
      if (status >= 300) refused.push({ ...each, fault: `${what}: ${status} ${body?.message ?? text}` });
      else faults.push(...warnings.map((warning) => `${what}: warns: ${warning}`));
    }
    if (refused.length === 0 || refused.length === left.length) {
      faults.push(...refused.map(({ fault }) => fault));
      return wanted.length;
    }
    left = refused;
  }
}

const platform = await startPlatform();
try {
  reportGate("examples", await applyAll(platform), faults);
} finally {
  await platform[Symbol.asyncDispose]();
}
