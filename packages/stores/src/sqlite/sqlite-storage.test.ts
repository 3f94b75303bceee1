import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeStorage } from "@postern/apiserver/storage/testing/storage-suite";
import { openSqliteStorage } from "./sqlite-storage.ts";

describeStorage("SQLite storage", async () => {
  const folder = await mkdtemp(join(tmpdir(), "postern-sqlite-"));
  const path = join(folder, "store.db");
  return {
    storage: await openSqliteStorage({ path }),
    reopen: () => openSqliteStorage({ path }),
    cleanUp: () => rm(folder, { recursive: true }),
  };
});
