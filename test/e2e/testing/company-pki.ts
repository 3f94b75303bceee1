// A company's PKI by openssl: a root, an intermediate, and a serving certificate for 127.0.0.1 and localhost.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { succeed, tool } from "./postern-process.ts";
import { makeSelfSigned } from "./self-signed.ts";

/** Paths of PEM files. */
export type CompanyPki = {
  readonly root: string;
  readonly intermediate: string;
  readonly leaf: string;
  /** The leaf, followed by the intermediate. */
  readonly chain: string;
  readonly key: string;
  /** Another certificate of the same intermediate, with another key; valid for so many days. */
  renew(as: string, days?: number): Promise<Pick<CompanyPki, "chain" | "key">>;
};

/** `name` begins the names of the files in `directory`. */
export async function makeCompanyPki(directory: string, name: string): Promise<CompanyPki> {
  const file = (rest: string): string => join(directory, `${name}-${rest}`);
  const paths = {
    root: file("root.crt"),
    intermediate: file("intermediate.crt"),
    leaf: file("leaf.crt"),
    chain: file("chain.crt"),
    key: file("leaf.key"),
  };
  await makeSelfSigned({ certificate: paths.root, key: file("root.key"), subject: `/O=${name}/CN=${name} root` });
  const sign = async (
    subject: string,
    extensions: string,
    { certificate, key }: { readonly certificate: string; readonly key: string },
    issuer: { readonly certificate: string; readonly key: string },
    days = 2,
  ): Promise<void> => {
    const request = file("request.csr");
    const extensionFile = file("extensions.cnf");
    writeFileSync(extensionFile, extensions);
    await succeed(
      tool("openssl", [
        ...["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"],
        ...["-subj", subject, "-keyout", key, "-out", request],
      ]),
    );
    await succeed(
      tool("openssl", [
        ...["x509", "-req", "-in", request, "-CA", issuer.certificate, "-CAkey", issuer.key, "-CAcreateserial"],
        ...["-days", String(days), "-extfile", extensionFile, "-out", certificate],
      ]),
    );
  };
  const intermediate = { certificate: paths.intermediate, key: file("intermediate.key") };
  await sign(
    `/O=${name}/CN=${name} intermediate`,
    "basicConstraints=critical,CA:TRUE\nkeyUsage=keyCertSign\n",
    intermediate,
    { certificate: paths.root, key: file("root.key") },
  );
  const issue = async ({ leaf, chain, key }: Pick<CompanyPki, "leaf" | "chain" | "key">, days?: number) => {
    const names = "basicConstraints=CA:FALSE\nsubjectAltName=IP:127.0.0.1,DNS:localhost\n";
    await sign("/CN=platform", names, { certificate: leaf, key }, intermediate, days);
    writeFileSync(chain, readFileSync(leaf, "utf8") + readFileSync(paths.intermediate, "utf8"));
  };
  await issue(paths);
  return {
    ...paths,
    async renew(as, days) {
      const renewed = { leaf: file(`${as}-leaf.crt`), chain: file(`${as}-chain.crt`), key: file(`${as}-leaf.key`) };
      await issue(renewed, days);
      return renewed;
    },
  };
}
