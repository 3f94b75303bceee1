// An etcd that others use as well: a server whose prefix is mistyped says so and leaves everything as it is, and no server forgets the history of others.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { expect, it } from "vitest";
import { adminKey, httpClient } from "../e2e/testing/http-client.ts";
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

/** More than there are steps in which a server comes to forget what it has seen. */
const COMPACTIONS = 15;

it.skipIf(whyNoEtcd() !== undefined)(
  "history is kept while others have keys, whatever a server compacts, and dropped when they have left",
  async () => {
    await using etcd = await startEtcd();
    await using directory = await temporaryDirectory();
    const [endpoint = ""] = etcd.endpoints;
    const base64 = (text: string): string => Buffer.from(text).toString("base64");
    /** As programs ask that know nothing of Postern. Source: https://etcd.io/docs/v3.4/dev-guide/api_grpc_gateway */
    const ask = async (what: string, body: object): Promise<any> =>
      (await fetch(`http://${endpoint}/v3/kv/${what}`, { method: "POST", body: JSON.stringify(body) })).json();
    const put = async (key: string): Promise<number> =>
      Number((await ask("put", { key: base64(key), value: base64("1") })).header.revision);
    const readAt = async (key: string, revision: number): Promise<string> =>
      (await ask("range", { key: base64(key), revision })).error ?? "read";

    const other = "/registry/secrets/of-others";
    const old = await put(other);
    await put(other);
    await using server = await startPostern(join(directory.path, "data"), [
      ...["--store", `etcd://${endpoint}`, "--etcd-new-installation", "--history-max-age-seconds", "1"],
    ]);
    const send = await httpClient(server);
    const key = await adminKey(server);
    const compactions = async (): Promise<number> => {
      const { text } = await send("/metrics", { key });
      // None before the first one.
      return Number(
        /^postern_store_operation_duration_seconds_count\{.*operation="compact"\} (\d+)$/m.exec(text)?.[1] ?? 0,
      );
    };
    let made = 0;
    /** There is something to forget at each step: the server is written to. */
    const forgetOften = async (): Promise<void> => {
      const before = await compactions();
      await expect
        .poll(async () => {
          await send("/apis/management.postern/v1/teams", { key, body: { metadata: { name: `t${++made}` } } });
          return (await compactions()) - before;
        })
        .toBeGreaterThan(COMPACTIONS);
    };
    await forgetOften();
    expect(await readAt(other, old)).toBe("read");
    await ask("deleterange", { key: base64(other) });
    await forgetOften();
    expect(await readAt(other, old)).toMatch(/has been compacted/);
  },
);
