// The time that definitions of the size of well-known projects take in one embedded virtual cluster over HTTPS: install, list, explain, delete.
// Usage: npx tsx --conditions=@postern/source benchmarks/large-definitions.ts [rounds]

import { performance } from "node:perf_hooks";
import { type RunningPlatform, startPlatform } from "../packages/platform/src/testing/running-platform.ts";
import { type Definition, FAMILIES, largeDefinitions } from "./definitions/large-definitions.ts";
import { median } from "./report/median.ts";

const CLUSTER = "/kubernetes/project/default/virtualcluster/demo";
const CRDS = `${CLUSTER}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`;
const rounds = Number(process.argv[2] ?? 3);

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function expectStatus(platform: RunningPlatform, call: Parameters<RunningPlatform["send"]>[0], wanted: number) {
  const answer = await platform.send(call);
  if (answer.status !== wanted) throw new Error(`${call.path}: ${answer.status} ${answer.text.slice(0, 1000)}`);
  return answer;
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(2);
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

const newestVersion = ({ spec }: Definition): string => spec.versions.at(-1)?.name ?? "";
const resourcePath = (definition: Definition, namespace?: string): string => {
  const { group, names, scope } = definition.spec;
  const space = namespace === undefined || scope === "Cluster" ? "" : `/namespaces/${namespace}`;
  return `${CLUSTER}/apis/${group}/${newestVersion(definition)}${space}/${names.plural}`;
};

type Times = { install: number; largest: number; list: number; explain: number; write: number; remove: number };

async function measure(platform: RunningPlatform, definitions: readonly Definition[]): Promise<Times> {
  let largest = 0;
  const install = await timeOf(async () => {
    for (const body of definitions) {
      const one = await timeOf(async () => {
        await expectStatus(platform, { path: CRDS, body }, 201);
        await until(async () => (await platform.send({ path: resourcePath(body) })).status === 200);
      });
      largest = Math.max(largest, one);
    }
  });
  const list = await timeOf(() => expectStatus(platform, { path: CRDS }, 200));
  // The documents that kubectl explain requests, one per version of a group.
  const versions = new Set(definitions.map((each) => `${each.spec.group}/${newestVersion(each)}`));
  const explain = await timeOf(async () => {
    for (const version of versions) {
      await expectStatus(platform, { path: `${CLUSTER}/openapi/v3/apis/${version}` }, 200);
    }
  });
  const write = await timeOf(async () => {
    for (const definition of definitions) {
      const { group, names } = definition.spec;
      const body = {
        apiVersion: `${group}/${newestVersion(definition)}`,
        kind: names.kind,
        metadata: { name: "a" },
        spec: {},
      };
      await expectStatus(platform, { path: resourcePath(definition, "default"), body }, 201);
    }
  });
  const remove = await timeOf(async () => {
    for (const { metadata } of definitions) {
      await expectStatus(platform, { method: "DELETE", path: `${CRDS}/${metadata.name}` }, 200);
    }
    await until(async () => {
      const left = await Promise.all(
        definitions.map(async ({ metadata }) => (await platform.send({ path: `${CRDS}/${metadata.name}` })).status),
      );
      return left.every((status) => status === 404);
    });
  });
  return { install, largest, list, explain, write, remove };
}

const platform = await startPlatform();
await until(async () => (await platform.send({ path: CRDS })).status === 200);
const lines: string[] = [];
for (const [name, family] of Object.entries(FAMILIES)) {
  const all: Times[] = [];
  let bytes = 0;
  for (let round = 0; round < rounds; round++) {
    // A different text each time: equal ones are compiled once.
    const definitions = largeDefinitions(family, round + 1);
    bytes = definitions.reduce((sum, each) => sum + JSON.stringify(each).length, 0);
    all.push(await measure(platform, definitions));
  }
  const of = (step: keyof Times): string => median(all.map((times) => times[step])).toFixed(0);
  const cells = [name, family.definitions.length, (bytes / 1000).toFixed(0), of("install"), of("largest"), of("list")];
  lines.push(`| ${[...cells, of("explain"), of("write"), of("remove")].join(" | ")} |`);
}
await platform[Symbol.asyncDispose]();
process.stdout.write(
  [
    "| shape of | definitions | kB | install all, ms | slowest one | list | explain | create one of each | delete all |",
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ...lines,
    "",
  ].join("\n"),
);
process.exit(0);
