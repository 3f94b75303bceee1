// Opens the audit log as configured.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createPlatformNames } from "@postern/api/platform-names";
import type { AuditOptions } from "@postern/apiserver/audit/audit-backend";
import { createAuditChain, lineOf } from "@postern/apiserver/audit/audit-chain";
import { type AuditRules, METADATA, METADATA_OF_ALL_STAGES } from "@postern/apiserver/audit/audit-policy";
import type { AuditSink } from "@postern/apiserver/audit/audit-sink";
import { createFileAuditSink } from "@postern/apiserver/audit/file-audit-sink";
import type { Logger } from "@postern/apiserver/logging/logger";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { Teardown } from "@postern/apiserver/runtime/teardown";
import type { Configuration } from "../../foundation/config/configuration.ts";
import { ConfigurationError } from "../../foundation/config/configuration-error.ts";
import { isAboutSpace, remedyForWrite, systemErrorCode } from "../../foundation/pki/private-file.ts";
import { parseSecret } from "../../foundation/pki/secret-file.ts";
import { createAccessKeyFormat } from "../access-keys/secrets/access-key-format.ts";
import { gaugeNewestRecord } from "./audit-metrics.ts";
import { parseAuditPolicy } from "./audit-policy-file.ts";
import { alwaysRecordingCredentials, bodyRedaction } from "./credential-requests.ts";
import type { AuditWebhook } from "./webhook/audit-webhook.ts";
import { openAuditWebhook } from "./webhook/open-audit-webhook.ts";

const AUDIT_FILE = "audit.log";
const MEGABYTE = 1024 * 1024;

export type AuditLog = {
  readonly options: AuditOptions;
  readonly sink: AuditSink;
  /** The newest file. Undefined if the log goes to standard output. */
  readonly path: string | undefined;
};

/**
 * `writer`: another server of this process writes the log. Rejects with ConfigurationError where the file cannot be written, or the file of the
 * webhook cannot be used.
 */
export async function openAuditLog(
  configuration: Configuration,
  deps: AuditLogDeps,
  writer?: AuditSink | undefined,
): Promise<AuditLog> {
  const { audit, dataDir, platform } = configuration;
  const names = createPlatformNames(platform);
  // Requests must be recorded before they are processed, if nothing may go unrecorded.
  const withoutFile = audit.mode === "blocking-strict" ? METADATA_OF_ALL_STAGES : METADATA;
  const rules = await readPolicy(audit.policyFile);
  const policy = rules === undefined ? withoutFile : alwaysRecordingCredentials(rules, names);
  const path = audit.logPath === "-" ? undefined : audit.logPath || join(dataDir, AUDIT_FILE);
  const redaction = bodyRedaction(names, createAccessKeyFormat(names.name));
  const noteNewest = gaugeNewestRecord(deps.metrics, deps.runtime.clock);
  let webhook: AuditWebhook | undefined;
  const sink =
    writer ??
    (await openSink(audit, path, () => {
      noteNewest();
      webhook?.onWritten();
    }));
  // Ends after the log has written its last lines.
  deps.teardown.defer(async () => await webhook?.[Symbol.asyncDispose]());
  deps.teardown.use(sink);
  if (writer === undefined && path !== undefined) webhook = await openAuditWebhook(configuration, path, deps);
  return { sink, path, options: { policy, sink, mode: audit.mode, redaction } };
}

type AuditLogDeps = {
  readonly metrics: Pick<ServerMetrics, "registry">;
  readonly runtime: Pick<Runtime, "clock" | "scheduler">;
  readonly logger: Pick<Logger, "info" | "warn" | "error">;
  /** Is given the log: its last events are written, and delivered to the webhook. */
  readonly teardown: Teardown;
};

async function openSink(
  audit: Configuration["audit"],
  path: string | undefined,
  onWritten: () => void,
): Promise<AuditSink> {
  const key = await readKey(audit.keyFile);
  return path === undefined ? standardOutputSink(key, onWritten) : await openFile(audit, path, key, onWritten);
}

async function readPolicy(path: string): Promise<AuditRules | undefined> {
  if (path === "") return undefined;
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    throw new ConfigurationError(
      `the audit policy ${path} cannot be read: name a readable file in --audit-policy-file, or none`,
      { cause: error },
    );
  }
  return parseAuditPolicy(path, text);
}

async function readKey(path: string): Promise<Uint8Array | undefined> {
  if (path === "") return undefined;
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    throw new ConfigurationError(`the key of the audit log ${path} cannot be read: ${KEY_REMEDY}`, { cause: error });
  });
  const key = parseSecret(text);
  if (key === undefined) throw new ConfigurationError(`${path} does not contain 64 hexadecimal digits: ${KEY_REMEDY}`);
  return key;
}

const KEY_REMEDY = "create it with `openssl rand -hex 32`, and name it in --audit-log-key-file";

async function openFile(
  { logMaxSize: maxSize, logMaxBackup: maxBackups }: Configuration["audit"],
  path: string,
  key: Uint8Array | undefined,
  onWritten: () => void,
): Promise<AuditSink> {
  try {
    return await createFileAuditSink({
      path,
      onWritten,
      ...(key === undefined ? {} : { key }),
      ...(maxSize === 0 ? {} : { maxBytes: maxSize * MEGABYTE }),
      ...(maxBackups === 0 ? { maxBackups: Number.MAX_SAFE_INTEGER } : { maxBackups }),
    });
  } catch (error) {
    const code = systemErrorCode(error) ?? "unknown error";
    const remedy = isAboutSpace(code)
      ? remedyForWrite(code)
      : "check that its directory exists and may be written by this user";
    throw new ConfigurationError(
      `the audit log ${path} cannot be written (${code}): ${remedy}, or choose another with --audit-log-path`,
      { cause: error },
    );
  }
}

function standardOutputSink(key: Uint8Array | undefined, onWritten: () => void): AuditSink {
  const chain = createAuditChain(undefined, key);
  return {
    write: (event) =>
      new Promise((resolve, reject) => {
        const { text, head } = chain.linesOf([lineOf(event)]);
        chain.written(head);
        process.stdout.write(text, (error) => {
          if (error) return reject(error);
          onWritten();
          resolve();
        });
      }),
    [Symbol.asyncDispose]: async () => {},
  };
}
