// A server whose prefix is mistyped finds an etcd without its objects: it says so, and leaves everything as it is.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { expect, it } from "vitest";
import { startPostern, temporaryDirectory } from "../e2e/testing/postern-process.ts";

it.skipIf(whyNoEtcd() !== undefined)(
  "a mistyped prefix makes no second installation, and an installation on purpose needs to be asked for once",
  async () => {
    await using etcd = await startEtcd();
    await using directory = await temporaryDirectory();
    const data = join(directory.path, "data");
    const store = ["--store", `etcd://${etcd.endpoints.join(",")}`];
    const startAndStop = async (...flags: readonly string[]): Promise<string> => {
      const server = await startPostern(data, [...store, ...flags]);
      await server.stop();
      return await readFile(server.adminKubeconfig, "utf8");
    };
    const mine = await startAndStop();
    for (let tried = 0; tried < 2; tried++) {
      await expect(startPostern(data, [...store, "--etcd-prefix", "/posten"])).rejects.toThrow(
        /"\/posten".*"\/postern.*--etcd-prefix.*--etcd-new-installation.*nothing was written/s,
      );
    }
    expect(await readFile(join(data, "admin.kubeconfig"), "utf8")).toBe(mine);
    expect(await startAndStop()).toMatch(/token: /);
    await startAndStop("--etcd-prefix", "/second", "--etcd-new-installation");
    await startAndStop("--etcd-prefix", "/second");
  },
);
