// One etcd for all end-to-end tests: each server has a prefix of its own in it. It runs as long as the tests.

import type { TestProject } from "vitest/node";
// What runs before the tests is resolved as by Node, which finds no sources by the names of packages.
import { startEtcd, whyNoEtcd } from "../../../packages/stores/src/etcd/testing/start-etcd.ts";
import { keepDirectory } from "../../../tools/secret-scan/keep-files.ts";
import { storeNames } from "./store-names.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Host and port; absent where no test runs on etcd, or it is not installed. */
    etcdEndpoint: string | undefined;
    /** Where it keeps what the servers give it. */
    etcdFolder: string | undefined;
  }
}

export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  // The tests have what their project sets, which this process has not; most projects set nothing.
  const env: { readonly STORES?: string } | undefined = project.config.env;
  if (!storeNames(env?.STORES).includes("etcd") || whyNoEtcd() !== undefined) return undefined;
  const cluster = await startEtcd();
  project.provide("etcdEndpoint", cluster.endpoints[0]);
  project.provide("etcdFolder", cluster.folder);
  return async () => {
    for (const member of cluster.members) await member.kill();
    keepDirectory(project.getProvidedContext().runFolder, cluster.folder);
    await cluster[Symbol.asyncDispose]();
  };
}
