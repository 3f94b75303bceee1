// Checks the directory of --session-recording-dir: whether the server can write to it, who can read it, and its free space.

import { access, constants, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import type { Configuration } from "../../foundation/config/configuration.ts";
import { systemErrorCode } from "../../foundation/pki/private-file.ts";
import { type Finding, fault, ok, skipped, warning } from "./finding.ts";

const CHECK = "recordings";
const OTHERS = 0o077;
const MEBIBYTE = 1 << 20;
const LITTLE_ROOM = 100 * MEBIBYTE;

/** Nothing where none is configured. */
export async function checkRecordings({ sessionRecording }: Configuration): Promise<readonly Finding[]> {
  const { dir, maxTotalMiB } = sessionRecording;
  if (dir === "") return [];
  try {
    const found = await stat(dir);
    if (!found.isDirectory()) return [fault(CHECK, `${dir} is no directory`, "correct --session-recording-dir")];
    const { mode, uid } = found;
    await access(dir, constants.R_OK | constants.W_OK | constants.X_OK);
    const findings: Finding[] = [];
    if ((mode & OTHERS) !== 0) {
      findings.push(warning(CHECK, `others may enter ${dir}, and see who has sessions when`, `chmod 700 ${dir}`));
    }
    if (process.getuid !== undefined && process.getuid() !== 0 && uid !== process.getuid()) {
      findings.push(warning(CHECK, `${dir} belongs to another user`, `chown the directory, or run as its user`));
    }
    findings.push(await checkRoom(dir, maxTotalMiB));
    return findings;
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === undefined) throw error;
    if (code === "ENOENT") return [await checkParent(dir)];
    return [fault(CHECK, `${dir} cannot be written (${code})`, "give it to the user of the server, with mode 700")];
  }
}

/** The server makes the directory when it starts. */
async function checkParent(dir: string): Promise<Finding> {
  const isMade = await access(dirname(dir), constants.W_OK | constants.X_OK).then(
    () => true,
    (error: unknown) => systemErrorCode(error) === "ENOENT",
  );
  return isMade
    ? skipped(CHECK, `${dir} does not exist: the server creates it when it starts`)
    : fault(CHECK, `${dir} does not exist, and cannot be created`, "make it, for the user of the server alone");
}

async function checkRoom(dir: string, maxTotalMiB: number): Promise<Finding> {
  const { bavail, bsize, blocks } = await statfs(dir);
  const free = Math.floor((bavail * bsize) / MEBIBYTE);
  const message = `${free} MiB are free on the disk of ${dir}`;
  if (bavail * bsize < LITTLE_ROOM)
    return fault(CHECK, message, "make room: where recording is required, sessions end");
  if ((blocks * bsize) / MEBIBYTE < maxTotalMiB) {
    const remedy = "make it larger, or lower --session-recording-max-total-mib";
    return warning(CHECK, `the disk of ${dir} is smaller than --session-recording-max-total-mib`, remedy);
  }
  return ok(CHECK, message);
}
