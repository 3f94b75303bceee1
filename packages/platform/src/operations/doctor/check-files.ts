// Checks the data directory: owner, permissions, free space and file system.

import type { Stats } from "node:fs";
import { readdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { KEY_FILES } from "../../bootstrap/key-files.ts";
import type { Configuration } from "../../foundation/config/configuration.ts";
import { ConfigurationError } from "../../foundation/config/configuration-error.ts";
import { systemErrorCode } from "../../foundation/pki/private-file.ts";
import { fileSystemRisk } from "../../foundation/store/file-system-risk.ts";
import { readServerSecret, serverKeyPath } from "../../foundation/store/server-keys.ts";
import { AS_SERVER_USER, type Finding, fault, ok, remedyOf, skipped, warning } from "./finding.ts";

const SECRETS = /^(?:.*\.key|.*\.kubeconfig(?:\.\d+)?|postern\.db(?:-wal|-shm)?|audit\.log.*)$/;
/** Group and others who may read or write it. */
const OTHERS = 0o077;
const MEBIBYTE = 1 << 20;
/** With less, the next write of a busy server may fail. */
const LITTLE_ROOM = 100 * MEBIBYTE;
/** A backup, a compaction and the audit log need some. */
const ENOUGH_ROOM = 1024 * MEBIBYTE;

export async function checkFiles(configuration: Configuration): Promise<readonly Finding[]> {
  const { dataDir } = configuration;
  const found = await stat(dataDir).catch((error: unknown) => systemErrorCode(error) ?? "unknown error");
  if (found === "ENOENT" || found === "ENOTDIR") {
    return [
      fault(
        "files",
        `${dataDir} does not exist: no server has started with it`,
        "check --data-dir, or start the server",
      ),
    ];
  }
  if (typeof found === "string") {
    return [fault("files", `${dataDir} cannot be read (${found})`, AS_SERVER_USER)];
  }
  if (!found.isDirectory()) return [fault("files", `${dataDir} is no directory`, "correct --data-dir")];
  const risk = await fileSystemRisk(configuration);
  return [
    ...(await checkAccess(configuration, found)),
    await checkServerKey(configuration),
    await checkRoom(dataDir),
    ...(risk === undefined ? [] : [warning("file system", risk.message, risk.remedy)]),
  ];
}

export const isDirectory = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );

async function checkAccess(configuration: Configuration, directory: Stats): Promise<readonly Finding[]> {
  const { dataDir } = configuration;
  const named = async (folder: string): Promise<readonly string[]> =>
    (await readdir(folder).catch(() => [])).filter((name) => SECRETS.test(name)).map((name) => join(folder, name));
  const bootstrap = join(dataDir, KEY_FILES);
  const files = new Set([
    ...(await named(dataDir)),
    ...(await readdir(bootstrap).catch(() => [])).map((name) => join(bootstrap, name)),
    ...[serverKeyPath(configuration), configuration.tlsPrivateKeyFile, configuration.etcd.keyFile].filter(Boolean),
  ]);
  const findings: Finding[] = [];
  if ((directory.mode & 0o022) !== 0 && !isHandedOver(directory)) {
    findings.push(fault("files", `others may write to ${dataDir}`, `chmod 700 ${dataDir}`));
  }
  let count = 0;
  for (const path of files) {
    const file = await stat(path).catch(() => undefined);
    if (file === undefined) continue;
    count++;
    // A group may read what a mounted Secret or a credential of systemd holds: that is how they are handed over.
    const isMounted = !path.startsWith(dataDir) && (file.mode & 0o037) === 0;
    if ((file.mode & OTHERS) !== 0 && !isMounted) {
      findings.push(fault("files", `${path} contains secrets, and others may read or write it`, `chmod 600 ${path}`));
    }
    if (process.getuid !== undefined && process.getuid() !== 0 && file.uid !== process.getuid()) {
      const remedy = `run the doctor as the user that runs the server, or chown ${path}`;
      findings.push(warning("files", `${path} belongs to another user`, remedy));
    }
  }
  return findings.length > 0
    ? findings
    : [ok("files", `${count} files with secrets in ${dataDir} are accessible only by their owner`)];
}

/** Kubernetes gives a volume to the group of the pod (`fsGroup`): it belongs to root, and that group alone may write to it. */
function isHandedOver({ mode, uid, gid }: Stats): boolean {
  const groups = [process.getgid?.(), ...(process.getgroups?.() ?? [])];
  return uid === 0 && (mode & 0o2002) === 0o2000 && groups.includes(gid);
}

async function checkServerKey(configuration: Configuration): Promise<Finding> {
  const path = serverKeyPath(configuration);
  try {
    if ((await readServerSecret(configuration)) === undefined) {
      return skipped("server key", `${path} does not exist: the first start creates it`);
    }
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return fault("server key", error.message, remedyOf(systemErrorCode(error.cause), "restore your separate copy"));
  }
  if (configuration.serverKeyCommand === "" && path === join(configuration.dataDir, "server.key")) {
    return warning(
      "server key",
      `${path} is beside the store: a copy of the directory contains everything needed to decrypt it`,
      "keep it elsewhere in production, with --server-key-file or --server-key-command, and a copy in a safe place",
    );
  }
  return ok("server key", "the server key can be read, and is not beside the store");
}

async function checkRoom(dataDir: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(dataDir);
  const free = bavail * bsize;
  const message = `${Math.floor(free / MEBIBYTE)} MiB are free on the disk of ${dataDir}`;
  if (free < LITTLE_ROOM) return fault("disk", message, "make room: writes fail when it is full");
  return free < ENOUGH_ROOM
    ? warning("disk", message, "make room: backups and the audit log need some")
    : ok("disk", message);
}
