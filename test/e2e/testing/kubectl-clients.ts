// The kubectls that the tests drive the server with: the one on the path, and Debian's, which is years older.

import { mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tool } from "./postern-process.ts";

export type KubectlClient = {
  readonly program: string;
  /** Such as 32 for v1.32.4. */
  readonly minor: number;
  /** Unique among the clients, fit for names of objects. */
  readonly tag: string;
};

export type MissingClient = { readonly missing: string };

async function describeClient(program: string, tag: string): Promise<KubectlClient | MissingClient> {
  const { stdout, stderr } = await tool(program, ["version", "--client", "-o", "json"]);
  const minor = /"minor": "(\d+)/.exec(stdout)?.[1] ?? /"gitVersion": "v1\.(\d+)/.exec(stdout)?.[1];
  return minor === undefined
    ? { missing: `${program} does not run: ${stderr.trim()}` }
    : { program, minor: Number(minor), tag };
}

async function debianClient(): Promise<KubectlClient | MissingClient> {
  const directory = await mkdtemp(join(tmpdir(), "postern-kubectl-"));
  const download = ["-c", 'cd "$0" && apt-get download -q kubernetes-client', directory];
  const { code, stderr } = await tool("sh", download);
  const archive = (await readdir(directory)).find((name) => name.endsWith(".deb"));
  if (code !== 0 || archive === undefined) return { missing: `apt-get has no kubernetes-client: ${stderr.trim()}` };
  const unpacked = await tool("dpkg", ["-x", join(directory, archive), directory]);
  if (unpacked.code !== 0) return { missing: `dpkg cannot unpack it: ${unpacked.stderr.trim()}` };
  return await describeClient(join(directory, "usr/bin/kubectl"), "debian");
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
