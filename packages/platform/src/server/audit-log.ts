// Opens the audit log that the configuration asks for.

import { join } from "node:path";
import type { AuditOptions } from "@postern/apiserver/audit/audit-backend";
import { metadataForAll } from "@postern/apiserver/audit/audit-policy";
import type { AuditSink } from "@postern/apiserver/audit/audit-sink";
import { createFileAuditSink } from "@postern/apiserver/audit/file-audit-sink";
import type { Configuration } from "../config/configuration.ts";
import { ConfigurationError } from "../config/configuration-error.ts";

const AUDIT_FILE = "audit.log";
const MEGABYTE = 1024 * 1024;

export type AuditLog = { readonly options: AuditOptions; readonly sink: AuditSink };

/** Rejects with ConfigurationError where the file cannot be written. */
export async function openAuditLog({ audit, dataDir }: Configuration): Promise<AuditLog> {
  const { logPath, logMaxSize, logMaxBackup, mode } = audit;
  const sink =
    logPath === "-"
      ? standardOutputSink()
      : await openFile(logPath === "" ? join(dataDir, AUDIT_FILE) : logPath, logMaxSize, logMaxBackup);
  // Every request is recorded, key creation and kube configs among them; bodies never are.
  return { sink, options: { policy: metadataForAll, sink, failureMode: mode === "blocking" ? "blocking" : "ignore" } };
}

async function openFile(path: string, maxSize: number, maxBackups: number): Promise<AuditSink> {
  try {
    return await createFileAuditSink({
      path,
      ...(maxSize === 0 ? {} : { maxBytes: maxSize * MEGABYTE }),
      ...(maxBackups === 0 ? { maxBackups: Number.MAX_SAFE_INTEGER } : { maxBackups }),
    });
  } catch (error) {
    throw new ConfigurationError(
      `the audit log ${path} cannot be written: check that its directory exists and may be written by this user, or choose another with --audit-log-path`,
      { cause: error },
    );
  }
}

function standardOutputSink(): AuditSink {
  return {
    write: (event) =>
      new Promise((resolve, reject) => {
        process.stdout.write(`${JSON.stringify(event)}\n`, (error) => (error ? reject(error) : resolve()));
      }),
    [Symbol.asyncDispose]: async () => {},
  };
}
