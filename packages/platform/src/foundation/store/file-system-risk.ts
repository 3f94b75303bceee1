// File systems on which a database of this server is not safe.

import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import type { Configuration } from "../config/configuration.ts";

/** By the type of statfs(2), from linux/magic.h. On network file systems SQLite's write-ahead log does not work (sqlite.org/wal.html). */
const FILE_SYSTEMS: ReadonlyMap<number, { readonly name: string; readonly isMemory?: true }> = new Map([
  [0x0102_1994, { name: "tmpfs", isMemory: true }],
  [0x8584_58f6, { name: "ramfs", isMemory: true }],
  [0x6969, { name: "NFS" }],
  [0x517b, { name: "SMB" }],
  [0xff53_4d42, { name: "SMB" }],
  [0xfe53_4d42, { name: "SMB" }],
  [0x0102_1997, { name: "9p" }],
  [0x5346_414f, { name: "AFS" }],
  [0x6b41_4653, { name: "AFS" }],
]);

export type FileSystemRisk = { readonly message: string; readonly remedy: string };

/** `type`: that of the folder's file system, on Linux. Undefined: none is known. */
export function riskOf(type: number, folder: string): FileSystemRisk | undefined {
  // Some Nodes give the 32 bits with a sign.
  const found = FILE_SYSTEMS.get(type >>> 0);
  if (found === undefined) return undefined;
  const { name, isMemory } = found;
  return isMemory
    ? {
        message: `${folder} is in memory (${name}): the store is lost when the machine or the container stops, and takes memory of the same limit as the server`,
        remedy: "use a directory on a disk with --data-dir, or --store etcd://…",
      }
    : {
        message: `${folder} is on a network file system (${name}), where locks and writes of a database are not reliable: the store may be damaged`,
        remedy: "use a disk of this machine or a block volume with --data-dir, or --store etcd://…",
      };
}

/** Undefined: no risk is known, or the store is no file. */
export async function fileSystemRisk(
  { store }: Pick<Configuration, "store">,
  platform: NodeJS.Platform = process.platform,
): Promise<FileSystemRisk | undefined> {
  // Other systems number the types of file systems in their own way.
  if (store.kind !== "sqlite" || platform !== "linux") return undefined;
  const folder = dirname(store.path);
  const found = await statfs(folder).catch(() => undefined);
  return found && riskOf(found.type, folder);
}
