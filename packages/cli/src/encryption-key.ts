// `postern encryption-key`: lists and rotates the keys that secrets in the store are encrypted with.

import { setTimeout as delay } from "node:timers/promises";
import { isJsonArray, isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import type { ApiClient } from "@postern/client/api-client";
import { Command } from "commander";
import type { CommandContext } from "./command-context.ts";
import { type ConnectionFlags, withClient, withConnectionOptions } from "./connection-options.ts";
import { type OutputFlags, withOutputOption, writeAs } from "./output/output-option.ts";
import { printRows } from "./output/print-table.ts";
import { createProgress, type Progress } from "./output/progress.ts";

const PATH = "/keyring";
const POLL_MS = 500;
const FORMATS = ["text", "json", "yaml"] as const;

type Ring = {
  readonly keys: readonly RingKey[];
  /** IDs of the server keys that decrypt the ring. */
  readonly serverKeys: readonly string[];
  readonly reencryption: JsonObject;
};

type RingKey = {
  readonly id: string;
  readonly createdAt: string;
  readonly isPrimary: boolean;
  /** The number of access keys with a digest under it. */
  readonly accessKeys: number;
  readonly examples: readonly string[];
};

export function createEncryptionKeyCommand(context: CommandContext): Command {
  const status = withConnectionOptions(
    withOutputOption(
      new Command("status").description("show the encryption keys, and what is still encrypted with each of them"),
      FORMATS,
    ),
  ).action(async (flags: ConnectionFlags & OutputFlags) => {
    await withClient(flags, context, async (client) => printRing(await readRing(client), flags, context));
  });
  const rotate = withConnectionOptions(
    withOutputOption(
      new Command("rotate")
        .description("create a new encryption key, and re-encrypt everything with it while the server runs")
        .option("--no-wait", "do not wait until everything is re-encrypted"),
      FORMATS,
    ),
  ).action(async (flags: ConnectionFlags & OutputFlags & { readonly wait: boolean }) => {
    await withClient(flags, context, async (client) => {
      let ring = toRing(await client.request({ method: "POST", path: PATH, body: { action: "rotate" } }));
      const primary = ring.keys[0]?.id ?? "";
      const isForPrograms = flags.output !== "text";
      if (!isForPrograms) context.stdout.write(`${primary} is now the primary key\n`);
      if (flags.wait) {
        using progress = createProgress({ ...context, isForPrograms });
        ring = await waitUntilUnder(primary, client, progress);
      }
      printRing(ring, flags, context);
    });
  });
  return new Command("encryption-key")
    .description("manage the keys that data is encrypted with")
    .addCommand(status)
    .addCommand(rotate);
}

async function waitUntilUnder(primary: string, client: ApiClient, progress: Progress): Promise<Ring> {
  for (;;) {
    const ring = await readRing(client);
    const { primary: under, finishedAt, left, seen, total } = ring.reencryption;
    // Another rotation started meanwhile, and replaces this one.
    if (ring.keys[0]?.id !== primary) return ring;
    if (under === primary) {
      const isFinished = finishedAt !== undefined && left === 0;
      progress.report({ phase: "re-encrypting", unit: "values", done: Number(seen), total: Number(total) });
      if (isFinished) return ring;
    }
    await delay(POLL_MS);
  }
}

function printRing(ring: Ring, flags: OutputFlags, context: CommandContext): void {
  const { keys, serverKeys, reencryption } = ring;
  if (writeAs(flags, { keys: keys.map((key) => ({ ...key })), serverKeys, reencryption }, context)) return;
  const { stdout, stderr } = context;
  const rows = keys.map(({ id, createdAt, isPrimary, accessKeys }) => [
    id,
    createdAt,
    isPrimary ? "primary" : "reading",
    String(accessKeys),
  ]);
  stdout.write(printRows(["Key", "Created", "Use", "Access keys"], rows));
  for (const { id, accessKeys, examples } of keys.filter(({ isPrimary }) => !isPrimary)) {
    stderr.write(
      accessKeys === 0
        ? `${id} will be deleted once nothing is encrypted with it\n`
        : `${id} stays until ${waiting(accessKeys)} been used, rotated or deleted: ${named(examples)}${accessKeys > examples.length ? ", …" : ""}\n`,
    );
  }
  stderr.write(`the ring is encrypted with ${openers(serverKeys)}\n`);
  const unreadable = Number(reencryption["unreadable"] ?? 0);
  if (unreadable > 0)
    stderr.write(`${unreadable} values cannot be decrypted with any key: see the log of the server\n`);
}

const openers = (serverKeys: readonly string[]): string =>
  serverKeys.length < 2
    ? `server key ${serverKeys.join()} only`
    : `${serverKeys.length} server keys, ${serverKeys.join(" and ")}: once all servers use the current one, \`postern encryption-key rotate\` removes the others`;

const waiting = (values: number): string =>
  values === 1 ? "1 value of an access key has" : `${values} values of access keys have`;

/** A rotated key is listed once for each valid value. */
const named = (names: readonly string[]): string => [...new Set(names)].join(", ");

const readRing = async (client: ApiClient): Promise<Ring> =>
  toRing(await client.request({ method: "GET", path: PATH }));

function toRing(answer: unknown): Ring {
  const { keys, serverKeys, reencryption }: JsonObject = isJsonObject(answer) ? answer : {};
  return {
    serverKeys: (isJsonArray(serverKeys) ? serverKeys : []).map(String),
    keys: (isJsonArray(keys) ? keys : []).filter(isJsonObject).map((key) => ({
      id: String(key["id"]),
      createdAt: String(key["createdAt"]),
      isPrimary: key["isPrimary"] === true,
      accessKeys: Number(key["accessKeys"]),
      examples: isJsonArray(key["examples"]) ? key["examples"].map(String) : [],
    })),
    reencryption: isJsonObject(reencryption) ? reencryption : {},
  };
}
