// The files of another cluster's front proxy: its CA, and the certificates that it signs. openssl makes them.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { succeed, tool } from "../../e2e/testing/postern-process.ts";

export type FrontProxyFiles = {
  readonly path: (name: string) => string;
  /** `<name>.pem` and `<name>.key`, below the directory. */
  readonly makeAuthority: (name: string) => Promise<void>;
  /** The same for a client certificate, by an authority of that name. */
  readonly makeCertificate: (name: string, commonName: string, authority: string) => Promise<void>;
};

export async function createFrontProxyFiles(directory: string): Promise<FrontProxyFiles> {
  const path = (name: string): string => join(directory, name);
  const openssl = (...args: readonly string[]): Promise<string> => succeed(tool("openssl", args));
  const KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  await writeFile(path("usage"), "extendedKeyUsage=clientAuth\n");
  return {
    path,
    async makeAuthority(name) {
      await openssl(
        ...["req", "-x509", ...KEY, "-subj", "/CN=front-proxy-ca"],
        ...["-keyout", path(`${name}.key`), "-out", path(`${name}.pem`)],
      );
    },
    async makeCertificate(name, commonName, authority) {
      const request = path(`${name}.csr`);
      await openssl("req", ...KEY, "-subj", `/CN=${commonName}`, "-keyout", path(`${name}.key`), "-out", request);
      await openssl(
        ...["x509", "-req", "-in", request, "-CA", path(`${authority}.pem`), "-CAkey", path(`${authority}.key`)],
        ...["-CAcreateserial", "-extfile", path("usage"), "-out", path(`${name}.pem`)],
      );
    },
  };
}
