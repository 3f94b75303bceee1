// Starts one etcd for each worker of the tests. They run as long as the tests.

import type { TestProject } from "vitest/node";
// Imports of code that runs before the tests are resolved by Node, which does not find sources by package name.
import { startEtcd, whyNoEtcd } from "../../../packages/stores/src/etcd/testing/start-etcd.ts";
import { keepDirectory } from "../../../tools/secret-scan/keep-files.ts";
import { storeNames } from "./store-names.ts";

export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  project.provide("sharedEtcds", []);
  // The tests have what their project sets, which this process has not; most projects set nothing.
  const env: { readonly STORES?: string } | undefined = project.config.env;
  if (!storeNames(env?.STORES).includes("etcd") || whyNoEtcd() !== undefined) return undefined;
  const workers = project.config.maxWorkers ?? project.vitest.config.maxWorkers ?? 1;
  const clusters = await Promise.all(Array.from({ length: workers }, () => startEtcd()));
  project.provide(
    "sharedEtcds",
    clusters.map(({ endpoints: [endpoint = ""], folder }) => ({ endpoint, folder })),
  );
  return async () => {
    for (const cluster of clusters) {
      for (const member of cluster.members) await member.kill();
      keepDirectory(project.getProvidedContext().runFolder, cluster.folder);
      await cluster[Symbol.asyncDispose]();
    }
  };
}
