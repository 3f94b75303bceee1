// The data directories with access keys for the measurements: created once, and kept while they are needed.

import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { COLLECTION } from "../servers/access-key-object.ts";
import { askText } from "../servers/ask-text.ts";
import { type LoadOptions, loadAccessKeys } from "../servers/load-access-keys.ts";
import { MAIN, type Postern, startPostern } from "../servers/start-postern.ts";

export type KeyFolder = {
  readonly keys: number;
  readonly dataDir: string;
  /** Values of keys that were created with requests, for use in measurements. */
  readonly tokens: readonly string[];
};

/** The space that a million keys need at most. */
const HEAP = ["--max-old-space-size=12288"];
const USED = 16;
const TEMPLATE = "used-0";

/** A first start, some keys created with requests, and copies of one of those for the rest. Reuses what exists. */
export async function prepareFolder(folder: string, keys: number, note: (text: string) => void): Promise<KeyFolder> {
  const dataDir = join(folder, String(keys));
  const tokensFile = join(folder, `${keys}.json`);
  if (existsSync(tokensFile)) return { keys, dataDir, tokens: JSON.parse(readFileSync(tokensFile, "utf8")) };
  const tokens: string[] = [];
  const server = await startPostern(dataDir, MAIN);
  for (let number = 0; number < USED; number++) {
    const body = JSON.stringify({ metadata: { name: `used-${number}` }, spec: { description: "x".repeat(200) } });
    const answer = await askText(server.target, "POST", COLLECTION, body);
    tokens.push(JSON.parse(answer).spec.key);
  }
  await server[Symbol.asyncDispose]();
  const started = performance.now();
  await addKeys({ dataDir }, { count: keys - USED });
  const seconds = (performance.now() - started) / 1000;
  const megabytes = statSync(databaseOf(dataDir)).size / 1e6;
  note(`${keys} keys: written in ${seconds.toFixed(0)} s, database of ${megabytes.toFixed(0)} MB`);
  writeFileSync(tokensFile, JSON.stringify(tokens), { mode: 0o600 });
  return { keys, dataDir, tokens };
}

/** Directly into the database of a stopped server. */
export const addKeys = (
  { dataDir }: Pick<KeyFolder, "dataDir">,
  options: Omit<LoadOptions, "template">,
): Promise<void> => loadAccessKeys(databaseOf(dataDir), { ...options, template: TEMPLATE });

export const startOn = ({ dataDir }: KeyFolder): Promise<Postern> => startPostern(dataDir, MAIN, HEAP);

export const databaseOf = (dataDir: string): string => join(dataDir, "postern.db");
