// `postern key compromised`: rotates a leaked access key, and revokes what was created with it.

import { randomUUID } from "node:crypto";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { type AuditQuery, searchAuditLog, summarize } from "@postern/platform/features/audit/search-audit-log";
import { Command } from "commander";
import { allFiles, parseTime, printSummary } from "../audit/audit-search.ts";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, withClient } from "../connection-options.ts";
import { accessKeyAt, objectAt } from "../output/json-members.ts";
import { type OutputFlags, withOutputOption, writeAs } from "../output/output-option.ts";
import { cellText } from "../output/print-table.ts";
import { shellQuote } from "../output/shell-quote.ts";
import { accessKeysOf } from "./access-keys.ts";

type CompromisedFlags = ConnectionFlags &
  OutputFlags &
  Pick<AuditQuery, "since"> & { readonly auditLog?: readonly string[]; readonly keepDisabled?: boolean };

const LEAK_REPORTED_AT = /\/leak-reported-at$/;

export const createKeyCompromisedCommand = (context: CommandContext): Command =>
  withOutputOption(new Command("compromised"))
    .description(
      "rotate a compromised access key: print a new value, revoke all credentials created with the old one, and show what it was used for",
    )
    .argument("<name>", "name of the key")
    .option("--audit-log <file...>", "audit log of the server, to show what the key was used for")
    .option(
      "--since <time>",
      "show requests since then: a duration such as 24h, or a time such as 2026-01-31T08:00:00Z (default: the whole log)",
      parseTime,
    )
    .option("--keep-disabled", "keep a key disabled that was reported as leaked")
    .action((name: string, { auditLog, since, keepDisabled, output, ...flags }: CompromisedFlags) =>
      withClient(flags, context, async (client, group) => {
        const { stdout, stderr } = context;
        const keys = accessKeysOf(client, group);
        const answer = await keys.createSubresource(name, "rotate", {
          kind: "OwnedAccessKeyRotation",
          spec: { nonce: randomUUID(), compromised: true },
        });
        const status = objectAt(answer, "status");
        if (!writeAs({ output }, status, context)) stdout.write(`${accessKeyAt(status, "key")}\n`);
        stderr.write(
          `access key ${name} has a new value; keep it now, it is not shown again; access keys and certificates created with the old value and revoked: ${cellText(status["revokedCredentials"] ?? 0)}\n`,
        );
        // The old value of the key no longer authenticates.
        const key = await keys.get(name).catch(unlessRefused);
        if (key?.spec?.disabled === true) {
          const report = Object.keys(key.metadata.annotations ?? {}).find((key) => LEAK_REPORTED_AT.test(key));
          if (report === undefined || keepDisabled === true) {
            stderr.write(`access key ${name} is disabled: postern key enable ${shellQuote(name)}\n`);
          } else {
            const patch = { metadata: { annotations: { [report]: null } }, spec: { disabled: false } };
            await keys.patch(name, { type: "merge", patch });
            stderr.write(`access key ${name} is enabled again\n`);
          }
        }
        if (auditLog === undefined) {
          stderr.write(
            `to see what it was used for, as an administrator: postern audit search --key ${shellQuote(name)}\n`,
          );
          return;
        }
        const rows = await summarize(searchAuditLog(await allFiles(auditLog), { key: name, since }));
        stderr.write(rows.length === 0 ? "the audit log has no requests with it\n" : `\n${printSummary(rows)}`);
      }),
    );

function unlessRefused(error: unknown): undefined {
  if (!isApiError(error, "Unauthorized")) throw error;
}
