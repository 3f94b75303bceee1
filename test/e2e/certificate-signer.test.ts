// Kubeconfigs with client certificates from a cluster that others run, whose signer encodes names as Go does; and what is said where the
// platform does not connect to such a cluster.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { kubectlWith, succeed, temporaryDirectory, tool } from "./testing/postern-process.ts";
import { type SigningCluster, serveSigningCluster } from "./testing/signing-cluster.ts";
import { INSTANCES, KEYS, keepKubeconfig, MANAGEMENT, type Server, startServer } from "./testing/two-posterns.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: Server;
let tenant: SigningCluster;

beforeAll(async () => {
  directory = await temporaryDirectory();
  tenant = await serveSigningCluster(directory.path);
  const flags = ["--proxy-allowed-addresses", "127.0.0.1", "--proxy-health-check-interval-seconds", "1"];
  server = await startServer(join(directory.path, "data"), flags);
  await keepKubeconfig(server, "vc-outer", tenant.kubeConfig);
  await createExternal("outer");
  await vi.waitFor(async () => expect(await statusOf("outer")).toMatchObject({ phase: "Ready" }), 100_000);
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await tenant?.[Symbol.asyncDispose]();
  await directory?.[Symbol.asyncDispose]();
});

const createExternal = (name: string): Promise<any> =>
  server.http(INSTANCES, {
    key: server.key,
    body: {
      apiVersion: "management.postern/v1",
      kind: "VirtualClusterInstance",
      metadata: { name },
      spec: { external: true, template: { accessPoint: { ingress: { enabled: true } } } },
    },
  });
const statusOf = async (name: string): Promise<any> => (await server.send(`${INSTANCES}/${name}`)).status;
const ask = (key: string) =>
  server.http(`${INSTANCES}/outer/kubeconfig`, { key, body: { spec: { clientCert: true, certificateTTL: 3600 } } });

/** The key of a user who owns nothing, and uses the project. */
async function keyOfMember(name: string): Promise<string> {
  await server.create(`${MANAGEMENT}/users`, { kind: "User", metadata: { name }, spec: { displayName: name } });
  await server.create(`${MANAGEMENT}/teams`, {
    kind: "Team",
    metadata: { name: `team-of-${name}` },
    spec: { users: [name] },
  });
  const members = [{ kind: "User", name, clusterRole: "postern:project-user" }];
  await server.send(`${MANAGEMENT}/projects/default`, { spec: { members } }, "PATCH");
  const key = { kind: "OwnedAccessKey", metadata: { generateName: "of-" }, spec: { user: name } };
  return (await server.create(KEYS, key)).spec.key;
}

describe("a client certificate from a cluster that others run", () => {
  it("is encoded as Go encodes it, and works at the cluster's own endpoint with kubectl", async () => {
    const answer = await ask(await keyOfMember("alice"));
    expect(answer.status, answer.text).toBe(201);
    const certificate = join(directory.path, "issued.pem");
    await writeFile(certificate, tenant.lastCertificate());
    const nameopt = ["-noout", "-subject", "-nameopt", "RFC2253,show_type"];
    const subject = await succeed(tool("openssl", ["x509", "-in", certificate, ...nameopt]));
    // One relative name with several organizations, and PrintableStrings: not what was asked for, byte for byte.
    expect(subject).toMatch(/CN=PRINTABLESTRING:alice,O=PRINTABLESTRING:[^,]+\+O=PRINTABLESTRING:/);
    await succeed(tool("openssl", ["verify", "-CAfile", join(directory.path, "ca.pem"), certificate]));

    const file = join(directory.path, "alice.kubeconfig");
    await writeFile(file, answer.body.status.kubeConfig, { mode: 0o600 });
    const kubectl = kubectlWith(file, join(directory.path, "cache"));
    const seen = JSON.parse(await succeed(kubectl(["get", "--raw", "/whoami"])));
    expect(seen.username).toBe("alice");
    expect(seen.groups).toEqual(
      expect.arrayContaining(["postern:user:alice", "postern:team:team-of-alice", "postern:role:edit"]),
    );
    expect(seen.groups.join()).not.toContain("system:");
    expect([...tenant.pending.keys()]).toEqual([]);
  });

  it("is signed for a key that the client keeps, if its request names the caller as the cluster will", async () => {
    const key = await keyOfMember("carol");
    const path = `${INSTANCES}/outer/kubeconfig`;
    const dry = await server.http(`${path}?dryRun=All`, { key, body: { spec: { clientCert: true } } });
    const { commonName, organizations } = dry.body.status.certificateSubject;
    expect(commonName).toBe("carol");
    const file = (name: string) => join(directory.path, `carol-${name}`);
    const request = async (subject: string): Promise<any> => {
      const made = ["req", "-new", "-nodes", "-newkey", "ed25519", "-keyout", file("own.key"), "-out", file("csr.pem")];
      await succeed(tool("openssl", [...made, "-subj", subject]));
      const certificateSigningRequest = await readFile(file("csr.pem"), "utf8");
      return await server.http(path, { key, body: { spec: { certificateSigningRequest } } });
    };
    const refused = await request("/CN=root");
    expect([refused.status, refused.body.message]).toEqual([400, expect.stringContaining("CN=carol and nothing else")]);
    const answer = await request(`/${[...organizations.map((o: string) => `O=${o}`), `CN=${commonName}`].join("/")}`);
    expect(answer.status, answer.text).toBe(201);
    const { kubeConfig } = answer.body.status;
    expect(kubeConfig).not.toContain("client-key-data");
    await writeFile(file("kubeconfig"), kubeConfig, { mode: 0o600 });
    const user = ["config", "set-credentials", "default-outer", `--client-key=${file("own.key")}`];
    const kubectl = kubectlWith(file("kubeconfig"), join(directory.path, "cache"));
    await succeed(kubectl([...user, "--embed-certs"]));
    expect(JSON.parse(await succeed(kubectl(["get", "--raw", "/whoami"]))).username).toBe("carol");
    expect([...tenant.pending.keys()]).toEqual([]);
  });

  it("carries names beyond ASCII", async () => {
    const spec = { subject: "zoë", displayName: "Zoë" };
    await server.create(`${MANAGEMENT}/users`, { kind: "User", metadata: { name: "zoe" }, spec });
    await server.send(
      `${INSTANCES}/outer`,
      { spec: { extraAccessRules: [{ users: ["zoe"], clusterRole: "view" }] } },
      "PATCH",
    );
    await server.send(
      `${MANAGEMENT}/projects/default`,
      { spec: { members: [{ kind: "User", name: "zoe", clusterRole: "postern:project-user" }] } },
      "PATCH",
    );
    const { key } = (
      await server.create(KEYS, { kind: "OwnedAccessKey", metadata: { name: "zoes" }, spec: { user: "zoe" } })
    ).spec;
    expect((await ask(key)).status).toBe(201);
  });

  it.each([
    [{ subject: "/O=postern:user:admin/CN=root" }, "another common name"],
    [{ subject: "/O=system:masters/CN=admin" }, "other organizations"],
    [{ extensions: "server" as const }, "not for client authentication"],
  ])("is refused where the signer makes another: %j", async (change, fault) => {
    Object.assign(tenant.signAs, change);
    onTestFinished(() => {
      for (const name of Object.keys(change)) delete tenant.signAs[name as keyof SigningCluster["signAs"]];
    });
    const answer = await ask(server.key);
    expect([answer.status, answer.body.message]).toEqual([502, expect.stringContaining(fault)]);
    expect([...tenant.pending.keys()]).toEqual([]);
  });
});

describe("an external cluster at an address that the platform does not connect to", () => {
  const elsewhere = (host: string): string => tenant.kubeConfig.replace("127.0.0.1", host);

  it.each([
    ["private", "10.255.255.1"],
    ["loopback", "127.0.0.2"],
    ["localhost-by-number", "[::1]"],
  ])("says in a warning and in its condition which option allows it: %s", async (name, host) => {
    await keepKubeconfig(server, `vc-${name}`, elsewhere(host));
    const created = await createExternal(name);
    expect([created.status, created.headers["warning"]]).toEqual([
      201,
      expect.stringContaining("--proxy-allowed-addresses"),
    ]);
    await expect
      .poll(() => statusOf(name))
      .toMatchObject({
        phase: "Pending",
        reason: "AddressRefused",
        message: expect.stringContaining("--proxy-allowed-addresses"),
        conditions: [{ type: "Ready", status: "False", message: expect.stringContaining("--proxy-allowed-addresses") }],
      });
  });

  it("does not suggest allowing the metadata service of a cloud (security book 31)", async () => {
    await keepKubeconfig(server, "vc-metadata", elsewhere("169.254.169.254"));
    const created = await createExternal("metadata");
    expect([created.status, created.headers["warning"]]).toEqual([201, expect.stringContaining("is not allowed")]);
    await expect.poll(() => statusOf("metadata")).toMatchObject({ reason: "AddressRefused" });
    const { message } = await statusOf("metadata");
    expect(`${message}${created.headers["warning"]}`).not.toContain("--proxy-allowed-addresses");
  });
});
