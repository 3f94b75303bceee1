// The files of --tls-cert-file, --tls-private-key-file and --tls-ca-file change while the server runs, as cert-manager, certbot and people change them.

import { X509Certificate } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { basename, join } from "node:path";
import { connect } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { type CompanyPki, makeCompanyPki } from "./testing/company-pki.ts";
import { doctor } from "./testing/doctor.ts";
import { adminKey } from "./testing/http-client.ts";
import { type PosternProcess, startPostern, succeed, temporaryDirectory, tool } from "./testing/postern-process.ts";

type Pair = Pick<CompanyPki, "chain" | "key">;

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let acme: CompanyPki;
let other: CompanyPki;
let renewals = 0;
const file = (name: string): string => join(directory.path, name);
const read = (path: string): string => readFileSync(path, "utf8");
const fingerprintIn = (path: string): string => new X509Certificate(read(path)).fingerprint256;
/** A certificate that the same CA has issued, later than all before. */
const renewed = (): Promise<Pair> => acme.renew(`renewed-${++renewals}`);

beforeAll(async () => {
  directory = await temporaryDirectory();
  acme = await makeCompanyPki(directory.path, "acme");
  other = await makeCompanyPki(directory.path, "other");
});
afterAll(() => directory?.[Symbol.asyncDispose]());

/** The fingerprint of the certificate that a new connection sees. */
const shown = ({ url }: Pick<PosternProcess, "url">): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false }, () => {
      resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? "");
      socket.destroy();
    });
    socket.on("error", reject);
  });
const becomes = async (server: PosternProcess, pair: Pick<Pair, "chain">): Promise<void> => {
  await expect.poll(() => shown(server), { timeout: 20_000 }).toBe(fingerprintIn(pair.chain));
};

/** Files that one program writes, and how it replaces them. */
type Place = { readonly flags: readonly string[]; replace(pair: Pair, ca?: string): void };

function plainFiles(name: string, write: (from: string, to: string) => void): Place {
  mkdirSync(file(name));
  const [cert, key, ca] = ["tls.crt", "tls.key", "ca.crt"].map((part) => join(file(name), part)) as [
    string,
    string,
    string,
  ];
  const flags = ["--tls-cert-file", cert, "--tls-private-key-file", key, "--tls-ca-file", ca];
  const replace = (pair: Pair, authority = acme.root): void => {
    write(pair.chain, cert);
    write(pair.key, key);
    write(authority, ca);
  };
  return { flags, replace };
}

const inPlace = (name: string): Place => plainFiles(name, copyFileSync);
const byRenaming = (name: string): Place =>
  plainFiles(name, (from, to) => {
    copyFileSync(from, `${to}.new`);
    renameSync(`${to}.new`, to);
  });
const byDeleting = (name: string): Place =>
  plainFiles(name, (from, to) => {
    rmSync(to, { force: true });
    copyFileSync(from, to);
  });
/** As a kubelet: files are links into `..data`, a link that is replaced by one to the next directory. */
function mountedSecret(name: string): Place {
  const base = file(name);
  mkdirSync(base);
  let version = 0;
  const names = ["tls.crt", "tls.key", "ca.crt"];
  for (const part of names) symlinkSync(join("..data", part), join(base, part));
  const replace = (pair: Pair, authority = acme.root): void => {
    const next = `..${++version}`;
    mkdirSync(join(base, next));
    for (const [at, from] of [pair.chain, pair.key, authority].entries())
      copyFileSync(from, join(base, next, names[at] ?? ""));
    symlinkSync(next, join(base, "..data_tmp"));
    renameSync(join(base, "..data_tmp"), join(base, "..data"));
    if (version > 1) rmSync(join(base, `..${version - 1}`), { recursive: true });
  };
  const [cert, key, ca] = names.map((part) => join(base, part)) as [string, string, string];
  return { flags: ["--tls-cert-file", cert, "--tls-private-key-file", key, "--tls-ca-file", ca], replace };
}
/** As certbot: links, each of which is replaced by one into another directory. */
function links(name: string): Place {
  let version = 0;
  mkdirSync(file(`${name}-archive`));
  return plainFiles(name, (from, to) => {
    const kept = join(file(`${name}-archive`), `${++version}-${basename(to)}`);
    copyFileSync(from, kept);
    rmSync(to, { force: true });
    symlinkSync(kept, to);
  });
}

describe("a renewed certificate", () => {
  it.each([
    ["a Secret that a kubelet mounts", mountedSecret],
    ["links, as certbot makes them", links],
    ["files that are written in place", inPlace],
    ["files that are replaced by renaming", byRenaming],
    ["files that are deleted and created", byDeleting],
  ])("of %s is shown to new connections, and open ones go on", async (what, make) => {
    const place = make(what.replaceAll(/\W/g, "-"));
    const first = await renewed();
    place.replace(first);
    await using server = await startPostern(file(`data-${renewals}`), [...place.flags, "--store", "memory"]);
    expect(await shown(server)).toBe(fingerprintIn(first.chain));
    // A watch over HTTP/2, which lives through all of it.
    const session = connectHttp2(server.url, { ca: read(acme.root) });
    const headers = { authorization: `Bearer ${await adminKey(server)}` };
    const watched = session.request({ ":path": "/apis/management.postern/v1/projects?watch=true", ...headers });
    let events = "";
    watched.setEncoding("utf8").on("data", (text) => (events += text));
    await expect.poll(() => events).toContain("default");
    for (let round = 0; round < 3; round++) {
      const next = await renewed();
      place.replace(next);
      await becomes(server, next);
    }
    const made = session.request({
      ...{ ":method": "POST", ":path": "/apis/management.postern/v1/projects", "content-type": "application/json" },
      ...headers,
    });
    made.resume().end(JSON.stringify({ metadata: { name: "after" }, spec: {} }));
    await expect.poll(() => events).toContain('"after"');
    session.destroy();
    // Only this one replaces all files in one step.
    if (make === mountedSecret) expect(server.output()).not.toContain("cannot be used: connections keep");
    expect(await server.stop()).toBe(0);
  });
});

describe("files that cannot be used", () => {
  let place: Place;
  let server: PosternProcess;
  let now: Pair;
  const path = (at: 0 | 1 | 2): string => place.flags[2 * at + 1] ?? "";
  beforeAll(async () => {
    place = inPlace("broken");
    now = await renewed();
    place.replace(now);
    server = await startPostern(file("data-broken"), place.flags);
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  const refusals = async (): Promise<number> => {
    const metrics = await succeed(
      tool("kubectl", ["--kubeconfig", server.adminKubeconfig, "get", "--raw", "/metrics"]),
    );
    const found = /postern_serving_certificate_reloads_total\{result="refused"\} (\d+)/.exec(metrics);
    return Number(found?.[1] ?? 0);
  };

  it.each<readonly [what: string, spoil: () => void | Promise<void>, message: RegExp]>([
    ["a truncated certificate", () => truncateSync(path(0), 100), /tls\.crt is not a PEM certificate/],
    ["an empty key", () => truncateSync(path(1), 0), /tls\.key is not an unencrypted PEM private key/],
    ["the key of another certificate", () => copyFileSync(other.key, path(1)), /do not match/],
    ["a certificate that is absent", () => unlinkSync(path(0)), /tls\.crt does not exist/],
    [
      "a key that is a directory",
      () => {
        unlinkSync(path(1));
        mkdirSync(path(1));
      },
      /cannot read .*tls\.key/,
    ],
    ["a CA that does not verify the certificate", () => copyFileSync(other.root, path(2)), /ca\.crt does not verify/],
    ["a CA that is text", () => writeFileSync(path(2), "none"), /ca\.crt contains no PEM certificate/],
    [
      "an expired certificate",
      async () => {
        const ended = await acme.renew("ended", 0);
        copyFileSync(ended.chain, path(0));
        copyFileSync(ended.key, path(1));
      },
      /expired/,
    ],
  ])("leave the earlier certificate in use: %s", async (_what, spoil, message) => {
    const before = await refusals();
    await spoil();
    await expect.poll(refusals, { timeout: 20_000 }).toBeGreaterThan(before);
    const line = server
      .output()
      .split("\n")
      .findLast((text) => text.includes("connections keep the earlier"));
    expect(line).toMatch(message);
    expect(await shown(server)).toBe(fingerprintIn(now.chain));
    const { of } = await doctor(file("data-broken"), place.flags);
    const findings = [...of("certificate"), ...of("certificate authority")];
    expect(findings).toContainEqual(expect.objectContaining({ status: "error" }));
    // Whole again, with another certificate.
    rmSync(path(1), { recursive: true, force: true });
    now = await renewed();
    place.replace(now);
    await becomes(server, now);
  });

  it("the end of the certificate in use is a metric", async () => {
    const metrics = await succeed(
      tool("kubectl", ["--kubeconfig", server.adminKubeconfig, "get", "--raw", "/metrics"]),
    );
    const end = Date.parse(new X509Certificate(read(now.chain)).validTo) / 1000;
    expect(metrics).toContain(`postern_serving_certificate_expiration_timestamp_seconds ${end}\n`);
  });
});

it("a changed CA goes into kubeconfigs, and into virtual clusters that run", async () => {
  const place = mountedSecret("changed-ca");
  const first = await renewed();
  place.replace(first);
  await using server = await startPostern(file("data-ca"), place.flags);
  const inside = file("inside.kubeconfig");
  const kubectl = (kubeconfig: string, ...args: readonly string[]): Promise<string> =>
    succeed(tool("kubectl", ["--kubeconfig", kubeconfig, ...args]));
  const request = file("request.json");
  writeFileSync(
    request,
    JSON.stringify({ apiVersion: "management.postern/v1", kind: "VirtualClusterInstanceKubeConfig" }),
  );
  const kubeconfigNow = async (): Promise<string> => {
    const path = "/apis/management.postern/v1/namespaces/p-default/virtualclusterinstances/demo/kubeconfig";
    const answer = JSON.parse(await kubectl(server.adminKubeconfig, "create", "--raw", path, "-f", request));
    return answer.status.kubeConfig;
  };
  const authorityIn = (kubeconfig: string): string =>
    Buffer.from(parse(kubeconfig).clusters[0].cluster["certificate-authority-data"] ?? "", "base64").toString();
  writeFileSync(inside, await kubeconfigNow());
  chmodSync(inside, 0o600);
  const token = {
    ...{ apiVersion: "v1", kind: "Secret", type: "kubernetes.io/service-account-token" },
    metadata: { name: "token", annotations: { "kubernetes.io/service-account.name": "default" } },
  };
  const secret = file("secret.json");
  writeFileSync(secret, JSON.stringify(token));
  await kubectl(inside, "create", "-f", secret);

  place.replace({ chain: other.chain, key: other.key }, other.root);
  await becomes(server, other);
  await expect.poll(() => authorityIn(read(server.adminKubeconfig))).toBe(read(other.root));
  const fresh = await kubeconfigNow();
  expect(authorityIn(fresh)).toBe(read(other.root));
  writeFileSync(inside, fresh);
  const root = async (): Promise<string> =>
    JSON.parse(await kubectl(inside, "get", "configmap", "kube-root-ca.crt", "-o", "json")).data["ca.crt"];
  await expect.poll(root).toBe(read(other.root));
  const inSecret = async (): Promise<string> =>
    Buffer.from(
      JSON.parse(await kubectl(inside, "get", "secret", "token", "-o", "json")).data["ca.crt"] ?? "",
      "base64",
    ).toString();
  await expect.poll(inSecret).toBe(read(other.root));
});
