// The kubectls that the tests drive the server with: the one on the path, the newest at hand, and Debian's, which is years older.

import { access, mkdir, mkdtemp, readdir, realpath, rename, rm } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { KUBERNETES_RELEASES, kubernetesTools } from "./kubernetes-tools.ts";
import { kubectlWith, type Outcome, REPOSITORY, succeed, tool } from "./postern-process.ts";
import { areStoresChosen } from "./store-names.ts";
import { type StoreUnderTest, storesUnderTest } from "./stores.ts";

type KubectlClient = {
  readonly program: string;
  /** Such as 32 for v1.32.4. */
  readonly minor: number;
  /** Unique among the clients, fit for names of objects. */
  readonly tag: string;
};

type MissingClient = { readonly missing: string };

async function describeClient(program: string, tag: string): Promise<KubectlClient | MissingClient> {
  const { stdout, stderr } = await tool(program, ["version", "--client", "-o", "json"]);
  const minor = /"minor": "(\d+)/.exec(stdout)?.[1] ?? /"gitVersion": "v1\.(\d+)/.exec(stdout)?.[1];
  return minor === undefined
    ? { missing: `${program} does not run: ${stderr.trim()}` }
    : { program, minor: Number(minor), tag };
}

/** The one on the path; where several versions are installed side by side as kubectl.1.33, the newest of them. */
async function newestClient(): Promise<KubectlClient | MissingClient> {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  for (const folder of folders) {
    const found = await realpath(join(folder, "kubectl")).catch(() => undefined);
    if (found === undefined) continue;
    const minors = (await readdir(dirname(found))).flatMap((name) => /^kubectl\.1\.(\d+)$/.exec(name)?.[1] ?? []);
    const newest = Math.max(...minors.map(Number));
    return await describeClient(
      minors.length === 0 ? "kubectl" : join(dirname(found), `kubectl.1.${newest}`),
      "newest",
    );
  }
  return { missing: "there is no kubectl on the path" };
}

/** Fetched once: a second run finds it again. */
async function debianClient(): Promise<KubectlClient | MissingClient> {
  const directory = join(REPOSITORY, "node_modules/.cache/kubectl-debian");
  const program = join(directory, "usr/bin/kubectl");
  const isThere = await access(program).then(
    () => true,
    () => false,
  );
  if (!isThere) {
    await mkdir(dirname(directory), { recursive: true });
    const own = await mkdtemp(`${directory}-`);
    const missing = await fetchDebianClient(own);
    // Others look for it at the same time: it appears as a whole, and of two the first one stays.
    if (missing === undefined) await rename(own, directory).catch(() => {});
    await rm(own, { recursive: true, force: true });
    if (missing !== undefined) return { missing };
  }
  return await describeClient(program, "debian");
}

/** Why it cannot be had; undefined when it lies in the directory. */
async function fetchDebianClient(directory: string): Promise<string | undefined> {
  const fetched = await tool("sh", ["-c", 'cd "$0" && apt-get download -q kubernetes-client', directory]);
  const archive = (await readdir(directory)).find((name) => name.endsWith(".deb"));
  if (archive === undefined) return `apt-get has no kubernetes-client: ${fetched.stderr.trim()}`;
  const unpacked = await tool("dpkg", ["-x", join(directory, archive), directory]);
  return unpacked.code === 0 ? undefined : `dpkg cannot unpack it: ${unpacked.stderr.trim()}`;
}

/** The one on the path and Debian's, and why one is missing. */
export const kubectlClients = (): Promise<KubectlClients> => besidesDebian(describeClient("kubectl", "path"));

type KubectlClients = { readonly clients: readonly KubectlClient[]; readonly missing: readonly string[] };

async function besidesDebian(other: Promise<KubectlClient | MissingClient>): Promise<KubectlClients> {
  const found = await Promise.all([other, debianClient()]);
  const clients = found.filter((client) => "program" in client);
  const missing = found.flatMap((client) => ("missing" in client ? [client.missing] : []));
  const [first, second] = clients;
  return first !== undefined && first.minor === second?.minor
    ? { clients: [first], missing: ["no kubectl is newer than Debian's"] }
    : { clients, missing };
}

const isEveryRelease = process.env["KUBECTL_RELEASES"] === "all";

/** Those that npm brings, and Debian's. */
export async function everyRelease(): Promise<KubectlClients> {
  const described = await Promise.all([
    ...KUBERNETES_RELEASES.map(async (release) =>
      describeClient((await kubernetesTools(release)).kubectl, `npm-${release.replace(".", "-")}`),
    ),
    debianClient(),
  ]);
  return {
    clients: described.filter((client) => "program" in client),
    missing: described.flatMap((client) => ("missing" in client ? [client.missing] : [])),
  };
}

export type KubectlOnStore = KubectlClient & StoreUnderTest;

/**
 * Clients and the stores that their servers are to run on, and why some are missing. Every client is among them and every store; each client
 * on each store only where STORES says which: what a client sends does not depend on where the server keeps it.
 */
export async function kubectlsOnStores(): Promise<{
  readonly pairs: readonly KubectlOnStore[];
  readonly missing: readonly string[];
}> {
  const { clients, missing } = await (isEveryRelease ? everyRelease() : besidesDebian(newestClient()));
  const { stores, missing: missingStores } = storesUnderTest();
  const count = Math.max(clients.length, stores.length);
  const pairs = areStoresChosen()
    ? clients.flatMap((client) => stores.map((store) => ({ ...client, ...store })))
    : Array.from({ length: clients.length === 0 ? 0 : count }).flatMap((_, index) => {
        const client = clients[index % clients.length];
        const store = stores[index % stores.length];
        return client === undefined || store === undefined ? [] : [{ ...client, ...store }];
      });
  return { pairs, missing: [...missing, ...missingStores] };
}

/** What tests say to one kubectl with one kubeconfig. */
export type KubectlSession = {
  (args: readonly string[], input?: string): Promise<Outcome>;
  /** What it prints for a line of words; throws where it fails. */
  run(line: string, input?: string): Promise<string>;
  /** What it complains of; throws where it does not fail. */
  fails(line: string, input?: string): Promise<string>;
  /** The object that a line with `-o json` prints. */
  json(line: string): Promise<any>;
};

export function kubectlSession(config: () => string, cacheDir: () => string, program: string): KubectlSession {
  const kubectl = (args: readonly string[], input?: string): Promise<Outcome> =>
    kubectlWith(config(), cacheDir(), program)(args, input);
  const run = (line: string, input?: string): Promise<string> => succeed(kubectl(line.split(" "), input));
  return Object.assign(kubectl, {
    run,
    async fails(line: string, input?: string) {
      const { code, stderr, stdout } = await kubectl(line.split(" "), input);
      if (code === 0) throw new Error(`did not fail: ${stdout}`);
      return stderr;
    },
    json: async (line: string) => JSON.parse(await run(`${line} -o json`)),
  });
}
