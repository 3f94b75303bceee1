// Runs all checks of the doctor, read-only: options, files, certificates, store, content and server.

import type { Configuration } from "../../foundation/config/configuration.ts";
import { ownMachine } from "../../fronts/front-count.ts";
import { checkAuditWebhook } from "./check-audit-webhook.ts";
import { checkCertificates } from "./check-certificates.ts";
import { checkContent } from "./check-content.ts";
import { checkFiles, isDirectory } from "./check-files.ts";
import { checkOptions } from "./check-options.ts";
import { checkRecordings } from "./check-recordings.ts";
import { checkServer, isServerRunning } from "./check-server.ts";
import { checkStore } from "./check-store.ts";
import { checkThreads } from "./check-threads.ts";
import type { Finding } from "./finding.ts";

export type { Finding } from "./finding.ts";

/** The checks of a server that runs: what it has open itself, it has checked. `now` in milliseconds since the epoch, `threads` as of `checkThreads`. */
export async function examineRunning(
  configuration: Configuration,
  now: number,
  threads: number | undefined,
): Promise<readonly Finding[]> {
  return [checkThreads(configuration, ownMachine(), threads), ...(await examineOutside(configuration, now))];
}

async function examineOutside(configuration: Configuration, now: number): Promise<readonly Finding[]> {
  const options = [
    ...checkOptions(configuration, ownMachine()),
    ...(await checkAuditWebhook(configuration)),
    ...(await checkRecordings(configuration)),
  ];
  const first = [...options, ...(await checkFiles(configuration))];
  // Everything else would only follow from that.
  if (!(await isDirectory(configuration.dataDir))) return first;
  return [...first, ...(await checkCertificates(configuration, now))];
}

/** `now` in milliseconds since the epoch. */
export async function examine(configuration: Configuration, now: number): Promise<readonly Finding[]> {
  const outside = await examineOutside(configuration, now);
  if (!(await isDirectory(configuration.dataDir))) {
    // An etcd is there before the first start of a server, too.
    const isApart = configuration.store.kind === "etcd";
    return isApart ? [...outside, ...(await checkStore(configuration)).findings] : outside;
  }
  const isRunning = await isServerRunning(configuration);
  const store = await checkStore(configuration);
  const inside = isRunning ? await checkServer(configuration) : [];
  // A running server of this directory has checked it already.
  const content = store.isReadable && !isRunning ? await checkContent(configuration) : [];
  const known = new Set(inside.map(({ check }) => check));
  return [...outside.filter(({ check }) => !known.has(check)), ...store.findings, ...inside, ...content];
}
