// Adds or removes entries of kubeconfig files. Everything else stays unchanged, including comments.
// Source: k8s.io/client-go/tools/clientcmd (config.go ModifyConfig, loader.go lockFile)

import type { Stats } from "node:fs";
import { chown, open, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { Document, isMap, isSeq, parseDocument, YAMLSeq } from "yaml";
import { KubeconfigError } from "./kubeconfig.ts";
import { makeDirectory } from "./make-directory.ts";

/** A cluster, a user and a context with one name, as in the file. */
export type KubeconfigEntry = {
  readonly name: string;
  readonly cluster: JsonObject;
  readonly user: JsonObject;
  /** Without the names of cluster and user. */
  readonly context?: JsonObject;
};

const LISTS = ["clusters", "users", "contexts"] as const;
const OWNER_ONLY = 0o600;
const LOCK_ATTEMPTS = 50;
const LOCK_PAUSE_MS = 100;

/** The text with the entries; entries with the same names are replaced. `current` becomes the current context. */
export function putKubeconfigEntries(
  text: string,
  origin: string,
  entries: readonly KubeconfigEntry[],
  current?: string,
): string {
  const document = readDocument(text, origin);
  for (const { name, cluster, user, context } of entries) {
    putEntry(document, "clusters", name, { name, cluster }, origin);
    putEntry(document, "users", name, { name, user }, origin);
    putEntry(document, "contexts", name, { name, context: { cluster: name, user: name, ...context } }, origin);
  }
  if (current !== undefined) document.set("current-context", current);
  return document.toString({ lineWidth: 0 });
}

/** The text without the cluster, user and context of that name, and without current context if it was that one. */
export function removeKubeconfigEntry(text: string, origin: string, name: string): string {
  const document = readDocument(text, origin);
  for (const list of LISTS) {
    const items = listIn(document, list, origin);
    items.items = items.items.filter((item) => nameOf(item) !== name);
  }
  if (document.get("current-context") === name) document.set("current-context", "");
  return document.toString({ lineWidth: 0 });
}

/**
 * Replaces the whole content of a file with what `change` returns. `change` gets "" if the file does not exist; the new file is readable
 * by its owner only. Holds kubectl's lock beside the file. Throws KubeconfigError.
 */
export async function changeKubeconfigFile(path: string, change: (text: string) => string): Promise<void> {
  await makeDirectory(dirname(path), 0o700).catch((cause: NodeJS.ErrnoException) => {
    throw new KubeconfigError(`cannot write ${path} (${cause.code})`, { cause });
  });
  const target = await realpath(path).catch(() => path);
  const lock = `${target}.lock`;
  await takeLock(lock);
  try {
    const found = await stat(target).catch(() => undefined);
    const owner = ownerToKeep(found, path);
    const mode = found === undefined ? OWNER_ONLY : found.mode & 0o777;
    const text = await readFile(target, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "";
      throw new KubeconfigError(`cannot read ${path} (${error.code})`, { cause: error });
    });
    await replaceFile(target, change(text), mode, owner);
  } finally {
    await rm(lock, { force: true });
  }
}

type Owner = Pick<Stats, "uid" | "gid">;

/**
 * Another user could read the credential in its file, and would lose the file. Root writes files of others for them, as with sudo. Throws
 * KubeconfigError.
 */
function ownerToKeep(found: Owner | undefined, path: string): Owner | undefined {
  const own = process.getuid?.();
  if (found === undefined || own === undefined || found.uid === own) return undefined;
  if (own !== 0) throw new KubeconfigError(`${path} belongs to another user: name another file`);
  return found;
}

/** Replaces the whole content of a file. Readable by its owner only, unless `mode` says otherwise. `owner`: absent for this user. */
export async function replaceFile(path: string, text: string, mode = OWNER_ONLY, owner?: Owner): Promise<void> {
  const fresh = `${path}.${process.pid}.new`;
  try {
    await writeFile(fresh, text, { mode, flag: "wx" });
    if (owner !== undefined) await chown(fresh, owner.uid, owner.gid);
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}

async function takeLock(lock: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await (await open(lock, "wx", OWNER_ONLY)).close();
      return;
    } catch (error) {
      const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
      if (code !== "EEXIST") throw new KubeconfigError(`cannot write beside ${lock} (${code})`, { cause: error });
      if (attempt === LOCK_ATTEMPTS) {
        throw new KubeconfigError(
          `${lock} exists: another program is changing the file, or crashed while it did; in that case, remove it`,
        );
      }
      await setTimeout(LOCK_PAUSE_MS);
    }
  }
}

function readDocument(text: string, origin: string): Document {
  if (text.trim() === "") {
    const empty = { apiVersion: "v1", kind: "Config", clusters: [], users: [], contexts: [], "current-context": "" };
    return new Document(empty);
  }
  const document = parseDocument(text, { prettyErrors: false, schema: "core" });
  if (document.errors.length > 0) throw new KubeconfigError(`${origin} is not valid YAML`);
  if (!isMap(document.contents)) throw new KubeconfigError(`${origin} is not a kubeconfig: a mapping is expected`);
  return document;
}

/** The list, created if the file has none or null. */
function listIn(document: Document, list: (typeof LISTS)[number], origin: string): YAMLSeq {
  const found = document.get(list);
  if (isSeq(found)) return found;
  if (found !== undefined && found !== null) throw new KubeconfigError(`${origin}: ${list} must be a list`);
  const made = new YAMLSeq();
  document.set(list, made);
  return made;
}

function putEntry(
  document: Document,
  list: (typeof LISTS)[number],
  name: string,
  entry: JsonObject,
  origin: string,
): void {
  const items = listIn(document, list, origin);
  // An empty list in flow style would take its first item on the same line.
  if (items.items.length === 0) items.flow = false;
  const node = document.createNode(entry);
  const index = items.items.findIndex((item) => nameOf(item) === name);
  if (index === -1) items.add(node);
  else items.set(index, node);
}

const nameOf = (item: unknown): unknown => (isMap(item) ? item.get("name") : undefined);
