// The real server, with a key for each part in an attack: an administrator's, a well-behaved user's, and the attacker's.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { adminKey, type HttpClient, httpClient } from "../../e2e/testing/http-client.ts";
import { type PosternProcess, startPostern, temporaryDirectory } from "../../e2e/testing/postern-process.ts";

export const API = "/apis/management.postern/v1";
export const KEYS = `${API}/ownedaccesskeys`;

export type AttackedServer = AsyncDisposable & {
  readonly url: string;
  readonly port: number;
  readonly ca: Buffer;
  readonly process: PosternProcess;
  /** The administrator's key. */
  readonly admin: string;
  /** A key of a user without any role. */
  readonly good: string;
  readonly send: HttpClient;
  /** The value of a new key. */
  newKey(name: string, spec: object): Promise<string>;
};

export type AttackedServerOptions = {
  /** Where nothing else is said objects are kept in memory, so that no disk of a busy machine shows in the figures. */
  readonly store?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The beginning of its command line. */
  readonly run?: readonly string[] | undefined;
};

export async function startAttackedServer(
  flags: readonly string[] = [],
  { store = ["--store", "memory"], env = {}, run = [] }: AttackedServerOptions = {},
): Promise<AttackedServer> {
  const directory = await temporaryDirectory();
  const server = await startPostern(join(directory.path, "data"), [...store, ...flags], {
    // Each line of the log would be kept by this process, which measures.
    env: { POSTERN_LOG_LEVEL: "error", ...env },
    run,
  });
  const send = await httpClient(server);
  const admin = await adminKey(server);
  const newKey = keyMaker(send, admin);
  for (const name of ["good", "attacker"]) {
    const made = await send(`${API}/users`, { key: admin, body: { metadata: { name }, spec: { username: name } } });
    if (made.status !== 201) throw new Error(`${made.status} ${made.text}`);
  }
  return {
    url: server.url,
    port: Number(new URL(server.url).port),
    ca: await readFile(server.caFile),
    process: server,
    admin,
    good: await newKey("good", { user: "good" }),
    send,
    newKey,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}

/** Creates keys with the key of an administrator. */
export function keyMaker(send: HttpClient, admin: string): AttackedServer["newKey"] {
  return async (name, spec) => {
    const made = await send(KEYS, { key: admin, body: { metadata: { name }, spec: { type: "User", ...spec } } });
    if (made.status !== 201) throw new Error(`${made.status} ${made.text}`);
    return made.body.spec.key;
  };
}

/** Resident memory of the server, in MiB. */
export async function residentMiB({ process }: AttackedServer): Promise<number> {
  const pages = Number((await readFile(`/proc/${process.pid}/statm`, "utf8")).split(" ")[1]);
  return Math.round((pages * 4096) / (1 << 20));
}
