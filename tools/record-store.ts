// Records the stores of this build as test data of test/upgrade, once per release that changes a format:
// npm run build && npx tsx -C @postern/source tools/record-store.ts 0.1.0

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { BACKUP_VERSION } from "@postern/platform/operations/backup/backup-header";
import { startEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { httpClient } from "../test/e2e/testing/http-client.ts";
import { postern, REPOSITORY, startPostern, succeed, temporaryDirectory } from "../test/e2e/testing/postern-process.ts";
import { dumpEtcd, etcdFormat, sqliteFormat } from "../test/upgrade/testing/etcd-dump.ts";
import { expectContent, prepareRecording, writeContent } from "../test/upgrade/testing/recorded-content.ts";

const [release = ""] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+$/.test(release)) throw new Error("usage: tools/record-store.ts <release>, such as 0.1.0");
await using directory = await temporaryDirectory();
const dataDir = join(directory.path, "data");
{
  await using server = await startPostern(dataDir, ["--store", "sqlite", ...(await prepareRecording(dataDir))]);
  const http = await httpClient(server);
  await writeContent(http);
  await expectContent(http);
  await server.stop();
}
const target = join(REPOSITORY, "test/upgrade/testdata", release);
mkdirSync(target, { recursive: true });
const database = readFileSync(join(dataDir, "postern.db"));
writeFileSync(join(target, "postern.db.gz"), gzipSync(database, { level: 9 }));
await succeed(postern("backup", "--data-dir", dataDir, "--out", join(target, "store.backup")));
await using etcd = await startEtcd();
await succeed(
  postern("store", "copy", "--from", "sqlite", "--to", `etcd://${etcd.endpoints.join(",")}`, "--data-dir", dataDir),
);
writeFileSync(join(target, "etcd.json.gz"), await dumpEtcd(etcd.endpoints));
const formats = { sqlite: sqliteFormat(database), etcd: await etcdFormat(etcd.endpoints), backup: BACKUP_VERSION };
writeFileSync(join(target, "recording.json"), `${JSON.stringify({ release, ...formats }, undefined, 2)}\n`);
console.log(`wrote ${target}`);
