// `postern audit search`: who used which access key on which cluster.

import { EventEmitter, once } from "node:events";
import { Readable } from "node:stream";
import { type AuditRecord, actorOf, keyOf } from "@postern/apimachinery/audit/audit-record";
import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { withRotated } from "@postern/platform/features/audit/log-files";
import {
  type AuditQuery,
  type AuditSummary,
  searchAuditLog,
  summarize,
} from "@postern/platform/features/audit/search-audit-log";
import { Command, InvalidArgumentError, Option } from "commander";
import type { CommandContext, Output } from "../command-context.ts";
import { type ConnectionFlags, withClient, withConnectionOptions } from "../connection-options.ts";
import { parseDurationSeconds } from "../duration-seconds.ts";
import { listAt } from "../output/json-members.ts";
import { type OutputFlags, withOutputOption } from "../output/output-option.ts";
import { plainJson, plainYaml } from "../output/plain-output.ts";
import { cellText, printRows } from "../output/print-table.ts";
import { withNamespacePrefixOption } from "../serve/namespace-prefix-option.ts";

type SearchFlags = ConnectionFlags &
  OutputFlags &
  Omit<AuditQuery, "refused"> & { readonly refused?: boolean; readonly requests?: boolean; readonly limit: number };

/** As the server limits it. */
const MAX_RECORDS = 5_000;

export const createAuditSearchCommand = (context: CommandContext): Command =>
  withConnectionOptions(
    withOutputOption(
      withNamespacePrefixOption(
        new Command("search")
          .description("show who used which access key on which cluster: from the server, or from files of its log")
          .argument(
            "[file...]",
            "the log; rotated logs (audit.log.1 and so on) are read as well (default: ask the server)",
          )
          .option(
            "--key <name>",
            "requests with this access key, by name or ID, or with credentials created with it, also after they were deleted",
          )
          .addOption(
            new Option(
              "--trust-rule <name>",
              "exchanges by this trust rule, such as deploy or, of a project, shop/deploy, and requests with the keys that it issued",
            ).conflicts("key"),
          )
          .option("--user <name>", "requests of this user, or as this user")
          .option("--request <name>", "requests with the access that this access request gave")
          .option("--cluster <project/name>", "requests through the proxy to this virtual cluster, space or cluster")
          .option("--object <name>", "requests for this object, such as ci or ownedaccesskeys/ci")
          .option("--verb <verb>", "requests with this verb of the API, such as list")
          .option(
            "--since <time>",
            "since then: a duration such as 24h, or a time such as 2026-01-31T08:00:00Z",
            parseTime,
          )
          .option("--until <time>", "before then", parseTime)
          .option("--refused", "only requests that were refused: 401, 403 and 429")
          .option("--requests", "print each request, instead of counts")
          .option(
            "--limit <number>",
            `the newest so many requests, of those of a server (at most ${MAX_RECORDS})`,
            parseLimit,
            MAX_RECORDS,
          ),
      ),
      ["text", "json", "yaml"],
    ),
  ).action(async (files: readonly string[], flags: SearchFlags) => {
    const { output, requests, limit, kubeconfig, context: contextName, server, namespacePrefix, ...query } = flags;
    const records =
      files.length > 0
        ? searchAuditLog(await allFiles(files), { ...query, namespacePrefix })
        : await askServer(flags, query, context);
    const { stdout, stderr } = context;
    if (requests === true) {
      if (output !== "text") await writeList(records, output, stdout);
      else if (!(await writeRequests(records, stdout))) stderr.write(noneFound(query));
      return;
    }
    const rows = await summarize(records);
    if (output !== "text") await writeList(rows.map(plain), output, stdout);
    else if (rows.length === 0) stderr.write(noneFound(query));
    else stdout.write(printSummary(rows));
  });

/** The oldest first, as in files. */
async function askServer(
  flags: ConnectionFlags & { readonly limit: number },
  { since, until, refused, ...texts }: AuditQuery,
  context: CommandContext,
): Promise<AsyncIterable<AuditRecord>> {
  const time = (value: number | undefined): string | undefined =>
    value === undefined ? undefined : new Date(value).toISOString();
  const query = {
    ...texts,
    since: time(since),
    until: time(until),
    refused: refused === true ? "true" : undefined,
    limit: String(flags.limit),
  };
  const found = await withClient(flags, context, (client) =>
    client.request({ method: "GET", path: "/audit/events", query }),
  );
  if (isJsonObject(found) && found["isTruncated"] === true)
    context.stderr.write(
      `only the newest ${flags.limit} requests; --until shows older ones, and files of the log show all\n`,
    );
  // The server writes its own type.
  const items = listAt(found, "items").toReversed() as unknown as readonly AuditRecord[];
  return Readable.from(items);
}

function parseLimit(text: string): number {
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_RECORDS) throw new InvalidArgumentError(`Write a number from 1 to ${MAX_RECORDS}.`);
  return limit;
}

/** Each file once, including those that it was renamed to. */
export async function allFiles(files: readonly string[]): Promise<readonly string[]> {
  const groups = await Promise.all(files.map(withRotated));
  return [...new Set(groups.flat())];
}

/** Names what was asked for: a name with a typing error is found nowhere, too. */
function noneFound(query: AuditQuery): string {
  const asked = Object.entries(query).map(([name, value]) => {
    if (value === true) return `--${name}`;
    const flag = name === "trustRule" ? "trust-rule" : name;
    return `--${flag} ${typeof value === "number" ? new Date(value).toISOString() : value}`;
  });
  if (asked.length === 0) return "the log has no requests\n";
  const { key } = query;
  const hint =
    key === undefined
      ? ""
      : `; those that created, rotated or deleted a key of this name: --object ownedaccesskeys/${key}`;
  return `no requests with ${asked.join(" ")}${hint}\n`;
}

export const printSummary = (rows: readonly AuditSummary[]): string =>
  printRows(
    ["Key", "User", "Cluster", "Requests", "Refused", "Verbs", "From", "First", "Last"],
    rows.map(({ key, user, cluster, requests, refused, verbs, sourceIPs, first, last }) =>
      [
        key === "" ? "<none>" : key,
        user === "" ? "<none>" : user,
        cluster === "" ? "<platform>" : cluster,
        String(requests),
        String(refused),
        [...verbs].sort().join(","),
        someOf(sourceIPs),
        first,
        last,
      ].map(cellText),
    ),
  );

const MAX_ADDRESSES = 3;

function someOf(addresses: ReadonlySet<string>): string {
  const some = [...addresses].slice(0, MAX_ADDRESSES).join(",");
  return addresses.size > MAX_ADDRESSES ? `${some} and ${addresses.size - MAX_ADDRESSES} more` : some;
}

const plain = (row: AuditSummary) => ({ ...row, verbs: [...row.verbs].sort(), sourceIPs: [...row.sourceIPs] });

/** The rows that are printed with common column widths, because all of them may not fit into memory. */
const PAGE = 1_000;

/** Whether there were any. */
async function writeRequests(records: AsyncIterable<AuditRecord>, stdout: Output): Promise<boolean> {
  let page: (readonly string[])[] = [];
  let isFirst = true;
  const flush = async (): Promise<void> => {
    const text = printRows(["Time", "Key", "User", "Cluster", "Verb", "Object", "Code", "From"], page);
    if (text === "") return;
    await written(stdout, isFirst ? text : text.slice(text.indexOf("\n") + 1));
    isFirst = false;
    page = [];
  };
  for await (const record of records) {
    const { time, cluster, verb, object, code, sourceIP } = record;
    page.push(
      [time, keyOf(record), actorOf(record), cluster || "<platform>", verb, object, String(code), sourceIP].map(
        cellText,
      ),
    );
    if (page.length === PAGE) await flush();
  }
  await flush();
  return !isFirst;
}

async function writeList(
  items: Iterable<object> | AsyncIterable<object>,
  output: OutputFlags["output"],
  stdout: Output,
): Promise<void> {
  if (output === "yaml") {
    let isEmpty = true;
    for await (const item of items) {
      isEmpty = false;
      await written(stdout, plainYaml([item]));
    }
    if (isEmpty) stdout.write("[]\n");
    return;
  }
  let before = "[";
  for await (const item of items) {
    await written(stdout, `${before}\n  ${plainJson(item)}`);
    before = ",";
  }
  stdout.write(before === "[" ? "[]\n" : "\n]\n");
}

/** Resolves when more may be written: the reader of a pipe may be slower than the search. */
async function written(stdout: Output, text: string): Promise<void> {
  const isFull = stdout.write(text) === false;
  if (isFull && stdout instanceof EventEmitter) await once(stdout, "drain");
}

/** Milliseconds since the epoch. */
export function parseTime(text: string): number {
  if (/^\d{4}-\d\d-\d\d/.test(text)) {
    const time = Date.parse(text);
    if (!Number.isNaN(time)) return time;
  } else if (/^\d/.test(text)) return Date.now() - parseDurationSeconds(text) * 1000;
  throw new InvalidArgumentError("Write a time such as 2026-01-31T08:00:00Z, or a duration such as 24h.");
}
