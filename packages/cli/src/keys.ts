// `postern keys`: the key ring that secrets are encrypted under, and a new key on it.

import { setTimeout as delay } from "node:timers/promises";
import { isJsonArray, isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import type { ApiClient } from "@postern/client/api-client";
import { Command } from "commander";
import type { CommandContext } from "./command-context.ts";
import { type ConnectionFlags, withClient, withConnectionOptions } from "./connection-options.ts";
import { printRows } from "./print-table.ts";

const PATH = "/keyring";
const POLL_MS = 500;
/** A line of progress is not worth reading before so many hundredths more are done. */
const PROGRESS_STEP = 10;

type Ring = {
  readonly keys: readonly RingKey[];
  /** Ids of the server keys that open the ring. */
  readonly serverKeys: readonly string[];
  readonly reencryption: JsonObject;
};

type RingKey = {
  readonly id: string;
  readonly createdAt: string;
  readonly isPrimary: boolean;
  /** How many access keys have their digest under it. */
  readonly accessKeys: number;
  readonly examples: readonly string[];
};

export function createKeysCommand(context: CommandContext): Command {
  const status = withConnectionOptions(
    new Command("status").description("show the keys on the ring, and what is still under each of them"),
  ).action(async (flags: ConnectionFlags) => {
    await withClient(flags, context, async (client) => printRing(await readRing(client), context));
  });
  const rotate = withConnectionOptions(
    new Command("rotate")
      .description("put a new key on the ring, and bring everything under it while the server goes on")
      .option("--no-wait", "do not wait until everything is under the new key"),
  ).action(async (flags: ConnectionFlags & { readonly wait: boolean }) => {
    await withClient(flags, context, async (client) => {
      let ring = toRing(await client.request({ method: "POST", path: PATH, body: { action: "rotate" } }));
      const primary = ring.keys[0]?.id ?? "";
      context.stdout.write(`${primary} is the primary key now\n`);
      if (flags.wait) ring = await waitUntilUnder(primary, client, context);
      printRing(ring, context);
    });
  });
  return new Command("keys")
    .description("the keys that secrets are encrypted under")
    .addCommand(status)
    .addCommand(rotate);
}

/** Tells how far it is, about ten times on the way. */
async function waitUntilUnder(primary: string, client: ApiClient, { stderr }: CommandContext): Promise<Ring> {
  let told = -PROGRESS_STEP;
  for (;;) {
    const ring = await readRing(client);
    const { primary: under, finishedAt, left } = ring.reencryption;
    // Somebody else has rotated meanwhile: what is awaited here has been overtaken.
    if (ring.keys[0]?.id !== primary) return ring;
    if (under === primary) {
      const isFinished = finishedAt !== undefined && left === 0;
      const done = isFinished ? 100 : percentageOf(ring.reencryption);
      if (isFinished || done >= told + PROGRESS_STEP) {
        stderr.write(`${progressOf(ring.reencryption)}\n`);
        told = done;
      }
      if (isFinished) return ring;
    }
    await delay(POLL_MS);
  }
}

const percentageOf = ({ seen, total }: JsonObject): number => (100 * Number(seen)) / Math.max(Number(total), 1);

const progressOf = ({ seen, total, rewritten }: JsonObject): string =>
  `${Number(seen)} of about ${Number(total)} values looked at, ${Number(rewritten)} encrypted anew`;

function printRing({ keys, serverKeys, reencryption }: Ring, { stdout, stderr }: CommandContext): void {
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
        ? `${id} goes once it is certain that nothing is under it\n`
        : `${id} stays until ${waiting(accessKeys)} been used, rotated or deleted: ${named(examples)}${accessKeys > examples.length ? ", …" : ""}\n`,
    );
  }
  stderr.write(`the ring opens with ${openers(serverKeys)}\n`);
  const unreadable = Number(reencryption["unreadable"] ?? 0);
  if (unreadable > 0) stderr.write(`${unreadable} values cannot be opened by any key: see the log of the server\n`);
}

const openers = (serverKeys: readonly string[]): string =>
  serverKeys.length < 2
    ? `server key ${serverKeys.join()} alone`
    : `${serverKeys.length} server keys, ${serverKeys.join(" and ")}: once every server has the present one, \`postern keys rotate\` leaves the others behind`;

const waiting = (values: number): string =>
  values === 1 ? "1 value of an access key has" : `${values} values of access keys have`;

/** A key that was rotated stands there once for each value that still works. */
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
