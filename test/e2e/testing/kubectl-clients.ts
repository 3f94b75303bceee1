// The kubectls that the tests drive the server with: the one on the path, and Debian's, which is years older.

import { access, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { REPOSITORY, tool } from "./postern-process.ts";

export type KubectlClient = {
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
    await mkdir(directory, { recursive: true });
    const fetched = await tool("sh", ["-c", 'cd "$0" && apt-get download -q kubernetes-client', directory]);
    const archive = (await readdir(directory)).find((name) => name.endsWith(".deb"));
    if (archive === undefined) return { missing: `apt-get has no kubernetes-client: ${fetched.stderr.trim()}` };
    const unpacked = await tool("dpkg", ["-x", join(directory, archive), directory]);
    if (unpacked.code !== 0) return { missing: `dpkg cannot unpack it: ${unpacked.stderr.trim()}` };
  }
  return await describeClient(program, "debian");
}

/** The clients to test with, and why one is missing. */
export async function kubectlClients(): Promise<{
  readonly clients: readonly KubectlClient[];
  readonly missing: readonly string[];
}> {
  const found = await Promise.all([describeClient("kubectl", "path"), debianClient()]);
  const clients = found.filter((client) => "program" in client);
  const missing = found.flatMap((client) => ("missing" in client ? [client.missing] : []));
  const [first, second] = clients;
  return first !== undefined && first.minor === second?.minor
    ? { clients: [first], missing: ["the kubectl on the path is Debian's"] }
    : { clients, missing };
}
