// Two servers on one etcd, which are one installation.

import { join } from "node:path";
import { createTeardown } from "@postern/apiserver/runtime/teardown";
import { startEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { shareIdentity, temporaryDirectory } from "./postern-process.ts";

export type TwoOnEtcd<Server> = AsyncDisposable & {
  readonly servers: readonly [Server, Server];
  /** For files of the test; the data of the servers is in folders of it. */
  readonly directory: string;
};

/** `start`: such as `startPostern`. */
export async function startTwoOnEtcd<Server extends AsyncDisposable>(
  start: (dataDir: string, flags: readonly string[]) => Promise<Server>,
  flags: readonly string[],
): Promise<TwoOnEtcd<Server>> {
  const teardown = createTeardown();
  try {
    const { path: directory } = teardown.use(await temporaryDirectory());
    const etcd = teardown.use(await startEtcd());
    const all = ["--store", `etcd://${etcd.endpoints.join(",")}`, ...flags];
    const [one, other] = [join(directory, "one"), join(directory, "other")];
    const first = teardown.use(await start(one, all));
    await shareIdentity(one, other);
    const second = teardown.use(await start(other, all));
    return { servers: [first, second], directory, [Symbol.asyncDispose]: () => teardown.run() };
  } catch (error) {
    await teardown.run();
    throw error;
  }
}
