import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createCertificateAuthority } from "./certificate-authority.ts";
import { readServingAuthority } from "./serving-authority.ts";
import { signServingCertificate } from "./serving-certificate.ts";
import { createWorkspace, openssl, type Workspace } from "./testing/openssl.ts";

const YEAR_MS = 365 * 86_400_000;
const { clock, random } = systemRuntime;
let workspace: Workspace;
beforeEach(() => {
  workspace = createWorkspace();
});
afterEach(() => workspace[Symbol.dispose]());

const authorityOf = (commonName: string) => createCertificateAuthority({ commonName, clock, random });
const ours = authorityOf("ours");
const others = authorityOf("others");
const { publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
const leafOf = (authority: typeof ours, key: KeyObject = publicKey) =>
  signServingCertificate({ authority, names: ["localhost"], clock, random, publicKey: key });
const leaf = leafOf(ours);

const readCa = (text: string, certificatePem: string = leaf, now: number = clock.now()) => {
  const path = workspace.write("ca.crt", text);
  return readServingAuthority({ path, certificatePath: "tls.crt", certificatePem }, { now: () => now });
};

it("gives the certificates of the file alone, and never a key", async () => {
  const path = workspace.path("combined.key");
  const text = `subject=ours\n${ours.privateKeyPem}\n${ours.certificatePem}# the next\r\n${others.certificatePem}`;
  workspace.write("combined.key", text);
  const file = { path, certificatePath: "tls.crt", certificatePem: leaf };
  expect(await readServingAuthority(file, clock)).toBe(
    `${ours.certificatePem.trim()}\n${others.certificatePem.trim()}\n`,
  );
});

it.each(["", "\n \n"])("takes a file with %j for none", async (text) => {
  expect(await readCa(text)).toBeUndefined();
});

it("takes a missing file for none", async () => {
  const file = { path: workspace.path("none"), certificatePath: "tls.crt", certificatePem: leaf };
  expect(await readServingAuthority(file, clock)).toBeUndefined();
});

it("takes the certificate itself as its authority", async () => {
  expect(await readCa(leaf)).toBe(leaf);
});

it("follows intermediates in both files, in any order, and takes one of them as the authority", async () => {
  const file = (name: string) => workspace.path(name);
  const ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  workspace.write("ca.cnf", "basicConstraints=critical,CA:TRUE\n");
  openssl("req", "-x509", ...ec, "-subj", "/CN=root", "-keyout", file("0.key"), "-out", file("0.crt"));
  const certificates = [openssl("x509", "-in", file("0.crt"))];
  for (const number of [1, 2, 3]) {
    openssl("req", ...ec, "-subj", `/CN=${number}`, "-keyout", file(`${number}.key`), "-out", file("csr"));
    const issuer = ["-CA", file(`${number - 1}.crt`), "-CAkey", file(`${number - 1}.key`), "-CAcreateserial"];
    const extensions = number === 3 ? [] : ["-extfile", file("ca.cnf")];
    openssl("x509", "-req", "-in", file("csr"), ...issuer, ...extensions, "-out", file(`${number}.crt`));
    certificates.push(openssl("x509", "-in", file(`${number}.crt`)));
  }
  const [root = "", first = "", second = "", end = ""] = certificates;
  expect(await readCa(root, end + second + first)).toBe(root);
  expect(await readCa(root, end + first + second)).toBe(root);
  expect(await readCa(second + root + first, end)).toContain(root.trim());
  expect(await readCa(first, end + second)).toBe(first);
  await expect(readCa(root, end + second)).rejects.toThrow(/does not verify tls\.crt, issued by CN=2: put/);
  await expect(readCa(root, end)).rejects.toThrow(/does not verify/);
});

it.each([
  ["another authority", others.certificatePem],
  ["another authority of the same name", authorityOf("ours").certificatePem],
  ["another certificate of the same authority", leafOf(ours)],
])("refuses %s", async (_, text) => {
  await expect(readCa(text)).rejects.toThrow(/ca\.crt does not verify tls\.crt, issued by CN=ours/);
});

it("refuses an authority that has expired", async () => {
  await expect(readCa(ours.certificatePem, leaf, clock.now() + 40 * YEAR_MS)).rejects.toThrow(/unexpired root/);
});

it("refuses a file without certificates, with a damaged one, and with more than kubeconfigs carry", async () => {
  await expect(readCa(ours.privateKeyPem)).rejects.toThrow(/ca\.crt contains no PEM certificate/);
  const damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  await expect(readCa(ours.certificatePem + damaged)).rejects.toThrow(/contains a damaged certificate/);
  await expect(readCa(ours.certificatePem.repeat(200))).rejects.toThrow(/kubeconfigs carry at most 65536/);
});
